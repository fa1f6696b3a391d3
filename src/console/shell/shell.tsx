import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { NotLoaded } from '../parts/notices.tsx';
import { Name } from '../parts/text.tsx';
import { Toasts } from '../parts/toasts.tsx';
import { confirmation } from '../requests.ts';
import { BASE, isReturning, leftAt, parts, SERVICE } from '../router.ts';
import { isExpired, isExpiring, readSession, secondsLeft, session, signOut } from '../session.ts';
import { SignInForm } from '../sign-in/sign-in.tsx';
import { BottomBar, Navigation, shownScreens } from './navigation.tsx';
import { Palette } from './palette.tsx';
import { nextTheme, theme } from './preferences.ts';
import type { ScreenProps } from './screen-props.ts';
import type { Screen } from './screens.ts';
import { isPaletteOpen, isSheetOpen, ShortcutSheet, useShortcuts } from './shortcuts.tsx';

/** Everything around the screens. */
export function Shell() {
  useShortcuts();
  const [isMoreOpen, setMoreOpen] = useState(false);
  const path = parts.value;
  const screen = shownScreens().find((each) => each.path === (path[0] ?? ''));
  const [Loaded, isFailed] = useScreen(screen);
  const main = useRef<HTMLElement>(null);
  useFocus(main, path.join('/'), Loaded !== undefined);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => skip(event, main.current)}>
        Skip to the content
      </a>
      <div class="shell">
        <aside class="side" aria-label="Console">
          <a class="brand" href={BASE}>
            <Mark />
            Tsigil
          </a>
          <Navigation />
          <div class="side-foot">
            <a href={`${SERVICE}docs`}>API reference</a>
            <span>Version {session.value?.version}</span>
          </div>
        </aside>
        <div>
          <Header />
          <main id="main" class="main" ref={main} tabIndex={-1}>
            {screen === undefined ? (
              <NoScreen />
            ) : isFailed ? (
              <Outdated />
            ) : Loaded === undefined ? null : (
              <Loaded path={path.slice(1)} />
            )}
          </main>
        </div>
        <BottomBar onMore={() => setMoreOpen(true)} />
      </div>
      <Toasts />
      {isPaletteOpen.value ? <Palette /> : null}
      {isSheetOpen.value ? <ShortcutSheet /> : null}
      {isMoreOpen ? <More onClose={() => setMoreOpen(false)} /> : null}
      {isExpired.value ? (
        <SignInAgain />
      ) : isExpiring.value ? (
        <Expiring />
      ) : confirmation.value === undefined ? null : (
        <Confirmation />
      )}
    </>
  );
}

function useScreen(screen: Screen | undefined): [ComponentType<ScreenProps> | undefined, boolean] {
  const [loaded, setLoaded] = useState<{
    screen?: Screen;
    content?: ComponentType<ScreenProps>;
    isFailed?: boolean;
  }>({});
  useEffect(() => {
    let isWanted = true;
    screen?.load().then(
      (content) => isWanted && setLoaded({ screen, content }),
      () => isWanted && setLoaded({ screen, isFailed: true }),
    );
    return () => {
      isWanted = false;
    };
  }, [screen]);
  return loaded.screen === screen ? [loaded.content, loaded.isFailed === true] : [undefined, false];
}

/** Moves the focus to the heading of a page that the person opened. */
function useFocus(main: { current: HTMLElement | null }, path: string, isLoaded: boolean): void {
  const before = useRef(path);
  useEffect(() => {
    if (!isLoaded || before.current === path) return;
    before.current = path;
    scrollTo(0, isReturning.value ? leftAt() : 0);
    const heading = main.current?.querySelector<HTMLElement>('h1');
    (heading ?? main.current)?.focus({ preventScroll: true });
  }, [path, isLoaded]);
}

function skip(event: Event, main: HTMLElement | null): void {
  event.preventDefault();
  main?.focus();
}

function Header() {
  const { caller } = session.value ?? {};
  return (
    <header class="top">
      <button type="button" class="button search" onClick={() => (isPaletteOpen.value = true)}>
        <Icon name="search" />
        <span>Search and commands</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <div class="caller">
        <span class="who" title={caller?.name}>
          <Name text={caller?.name ?? ''} />
        </span>
        <span class="pill off">{caller?.roles.join(', ')}</span>
      </div>
      <span class="row wide-only">
        <ThemeButton />
        <button type="button" class="button quiet" onClick={() => void signOut()}>
          Sign out
        </button>
      </span>
    </header>
  );
}

function ThemeButton() {
  return (
    <button type="button" class="button quiet" onClick={() => (theme.value = nextTheme())}>
      <Icon name="sun" />
      <span class="hidden">Theme: </span>
      {theme.value.charAt(0).toUpperCase() + theme.value.slice(1)}
    </button>
  );
}

function More({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="More" onClose={onClose}>
      <div class="dialog-body" onClick={(event) => isLink(event) && onClose()}>
        <Navigation />
        <div class="row">
          <ThemeButton />
          <button type="button" class="button" onClick={() => void signOut()}>
            Sign out
          </button>
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function isLink({ target }: Event): boolean {
  return target instanceof Element && target.closest('a') !== null;
}

function NoScreen() {
  return (
    <div class="stack">
      <h1 tabIndex={-1}>There is no such page</h1>
      <p>
        The link is wrong, or your roles do not show this page. <a href={BASE}>Open the overview</a>
      </p>
    </div>
  );
}

function Outdated() {
  return (
    <div class="stack">
      <h1 tabIndex={-1}>This page could not be loaded</h1>
      <NotLoaded />
    </div>
  );
}

function Expiring() {
  return (
    <Dialog title="Still there?" size="small-dialog" onClose={() => void readSession()}>
      <div class="dialog-body">
        <p>Your session ends in {secondsLeft.value} s, because nothing was done for a while.</p>
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => void signOut()}>
            Sign out
          </button>
          <button
            type="button"
            class="button primary"
            data-first=""
            onClick={() => void readSession()}
          >
            Stay signed in
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** Asks for a sign-in before a secret is shown. */
function Confirmation() {
  const cancel = () => confirmation.value?.(false);
  return (
    <Dialog title="Sign in again" size="small-dialog" onClose={cancel}>
      <div class="dialog-body">
        <p>You signed in more than 15 minutes ago. Sign in again to continue.</p>
        <SignInForm />
        <div class="dialog-actions">
          <button type="button" class="button" onClick={cancel}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function SignInAgain() {
  return (
    <Dialog title="Sign in again" size="small-dialog" onClose={() => undefined}>
      <div class="dialog-body">
        <p>Your session has ended. Nothing on the page is lost.</p>
        <SignInForm />
      </div>
    </Dialog>
  );
}
