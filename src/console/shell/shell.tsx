import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Mark } from '../parts/mark.tsx';
import { Denied } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import { Name } from '../parts/text.tsx';
import { Toasts } from '../parts/toasts.tsx';
import { confirmation } from '../requests.ts';
import { BASE, isReturning, leftAt, pageOf, parts, SERVICE } from '../router.ts';
import {
  isExpired,
  isExpiring,
  may,
  readSession,
  secondsLeft,
  session,
  signOut,
} from '../session.ts';
import { SignInForm } from '../sign-in/sign-in.tsx';
import { nextTheme, theme } from './preferences.ts';
import { SCREENS, type Screen } from './screens.ts';
import { Shortcuts } from './shortcuts.tsx';

/** Everything around the screens. */
export function Shell() {
  const path = parts.value;
  const screens = SCREENS.filter(([, , right]) => right === undefined || may(right));
  const askedIn = (some: readonly Screen[]) =>
    path[0] === undefined ? some[0] : some.find(([page]) => page === path[0]);
  const screen = askedIn(screens);
  const Content = screen?.[3];
  const main = useRef<HTMLElement>(null);
  useFocus(main, path.join('/'));
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <div class="shell">
        <aside class="side" aria-label="Console">
          <a class="brand" href={BASE}>
            <Mark />
            Tsigil
          </a>
          <nav class="nav" aria-label="Screens">
            {screens.map(([page, title]) => (
              <a
                key={page}
                href={pageOf(page)}
                aria-current={page === screen?.[0] ? 'page' : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
          <div class="side-foot">
            <a href={`${SERVICE}docs`}>API</a>
            <span>Version {session.value?.version}</span>
          </div>
        </aside>
        <div>
          <Header />
          <main id="main" class="main" ref={main} tabIndex={-1}>
            {Content === undefined ? (
              <NotShown screen={askedIn(SCREENS)} first={screens[0]} />
            ) : (
              <Content path={path.slice(1)} />
            )}
          </main>
        </div>
      </div>
      <Toasts />
      <Shortcuts />
      <SessionLayer />
    </>
  );
}

/** Moves the focus to the heading of a page that the person opened. */
function useFocus(main: { current: HTMLElement | null }, path: string): void {
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    scrollTo(0, isReturning.value ? leftAt() : 0);
    const heading = main.current?.querySelector<HTMLElement>('h1');
    (heading ?? main.current)?.focus({ preventScroll: true });
  }, [path]);
}

function Header() {
  const { caller } = session.value ?? {};
  return (
    <header class="top">
      <div class="caller">
        <span class="who" title={caller?.name}>
          <Name text={caller?.name ?? ''} />
        </span>
        <span class="muted small">{caller?.roles.join(', ')}</span>
      </div>
      <Button look="quiet" onClick={nextTheme}>
        Theme: {theme.value}
      </Button>
      <Button look="quiet" onClick={() => void signOut()}>
        Sign out
      </Button>
    </header>
  );
}

/** Stands in the place of a screen that the caller may not see, or that does not exist. */
function NotShown({ screen, first }: Readonly<Record<'screen' | 'first', Screen | undefined>>) {
  const [, title = 'There is no such page', right] = screen ?? [];
  return (
    <>
      <PageHead title={title} />
      {right === undefined ? (
        <p>The link is wrong.</p>
      ) : (
        <Denied right={right} what="Seeing this page" />
      )}
      {first === undefined ? null : (
        <p>
          <a href={BASE}>Open the {first[1].toLowerCase()}</a>
        </p>
      )}
    </>
  );
}

/** What lies over the page when the session ends, is about to, or is too old for a secret. */
function SessionLayer() {
  if (isExpiring.value && !isExpired.value) {
    const stay = () => void readSession();
    return (
      <Dialog title="Still there?" onClose={stay}>
        <p>Your session ends in {secondsLeft.value} s, because nothing was done for a while.</p>
        <div class="dialog-actions">
          <Button onClick={() => void signOut()}>Sign out</Button>
          <Button look="primary" data-first="" onClick={stay}>
            Stay signed in
          </Button>
        </div>
      </Dialog>
    );
  }
  if (!isExpired.value && confirmation.value === undefined) return null;
  const cancel = () => confirmation.value?.(false);
  const cover = isExpired.value ? ({ size: 'cover' } as const) : {};
  return (
    <Dialog title="Sign in again" {...cover} onClose={cancel}>
      <p>
        {isExpired.value
          ? 'Your session has ended. Nothing on the page is lost.'
          : 'You signed in more than 15 minutes ago. Sign in again to continue.'}
      </p>
      <SignInForm />
      {isExpired.value ? null : (
        <div class="dialog-actions">
          <Button onClick={cancel}>Cancel</Button>
        </div>
      )}
    </Dialog>
  );
}
