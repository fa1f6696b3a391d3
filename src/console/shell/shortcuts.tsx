import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { open, pageOf } from '../router.ts';
import { hasShortcuts } from './preferences.ts';
import { shownScreens } from './navigation.tsx';

export const isPaletteOpen = signal(false);
export const isSheetOpen = signal(false);

const SEQUENCE_MS = 1500;

/** Listens to the keys of the console. Single keys do nothing in fields and dialogs. */
export function useShortcuts(): void {
  useEffect(() => {
    let goesUntil = 0;
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        if (document.querySelector('dialog[open]') === null) isPaletteOpen.value = true;
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || !hasShortcuts.value) return;
      if (document.querySelector('dialog[open]') !== null || isField(event.target)) return;
      const goes = Date.now() < goesUntil;
      goesUntil = 0;
      if (goes) {
        const screen = shownScreens().find(({ key }) => key === event.key);
        if (screen === undefined) return;
        event.preventDefault();
        open(pageOf(screen.path));
      } else if (event.key === 'g') goesUntil = Date.now() + SEQUENCE_MS;
      else if (act(event.key)) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function isField(target: EventTarget | null): boolean {
  const fields = 'input:not([type="checkbox"]), textarea, select';
  return target instanceof Element && target.closest(fields) !== null;
}

function act(key: string): boolean {
  if (key === '?') isSheetOpen.value = true;
  else if (key === '/') return focus('[data-filter]');
  else if (key === 'c') return press('[data-shortcut="c"]');
  else if (key === 'e') return press('[data-shortcut="e"]');
  else if (key === 'x') return press('tr:focus-within .tick input');
  else if (key === 'j' || key === 'k')
    dispatchEvent(new CustomEvent('console:row', { detail: key === 'j' ? 1 : -1 }));
  else return false;
  return true;
}

function focus(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  element?.focus();
  return element !== null;
}

function press(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  element?.click();
  return element !== null;
}

const KEYS = [
  ['Ctrl K', 'Search and commands'],
  ['/', 'Filter the list'],
  ['j  k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['c', 'Create'],
  ['e', 'Edit'],
  ['?', 'This list'],
  ['Esc', 'Close the top layer'],
] as const;

export function ShortcutSheet() {
  return (
    <Dialog title="Keyboard" size="small-dialog" onClose={() => (isSheetOpen.value = false)}>
      <div class="dialog-body">
        <dl class="keys-sheet">
          {KEYS.map(([keys, what]) => (
            <Line key={keys} keys={keys} what={what} />
          ))}
          {shownScreens().map(({ key, title }) => (
            <Line key={key} keys={`g  ${key}`} what={`Go to ${title}`} />
          ))}
        </dl>
        <label class="option">
          <input
            type="checkbox"
            checked={hasShortcuts.value}
            onChange={(event) => (hasShortcuts.value = event.currentTarget.checked)}
          />
          Single keys are on
        </label>
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => (isSheetOpen.value = false)}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Line({ keys, what }: { keys: string; what: string }) {
  return (
    <>
      <dt>{what}</dt>
      <dd class="row">
        {keys.split('  ').map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dd>
    </>
  );
}
