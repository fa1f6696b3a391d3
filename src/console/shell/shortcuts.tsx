import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { CloseAction, Dialog } from '../parts/dialog.tsx';

const isSheetOpen = signal(false);

const KEYS = [
  ['/', 'Filter the list'],
  ['c', 'Create'],
  ['Esc', 'Close the top layer'],
  ['?', 'This list'],
] as const;

/** What the keys act on. */
const TARGETS: Readonly<Record<string, string>> = {
  '/': '[data-filter]',
  c: '[data-shortcut="c"]',
};

const FIELDS = 'dialog[open], input:not([type="checkbox"]), textarea, select';

function onKey(event: KeyboardEvent): void {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector('dialog[open]') !== null) return;
  if (target instanceof Element && target.closest(FIELDS) !== null) return;
  const element = document.querySelector<HTMLElement>(TARGETS[key] ?? '[data-none]');
  if (key === '?') isSheetOpen.value = true;
  else if (key === '/') element?.focus();
  else element?.click();
  if (key === '?' || element !== null) event.preventDefault();
}

/** Listens to the keys of the console, outside fields and dialogs, and lists them. */
export function Shortcuts() {
  useEffect(() => {
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  if (!isSheetOpen.value) return null;
  const close = () => (isSheetOpen.value = false);
  return (
    <Dialog title="Keyboard" onClose={close}>
      <dl class="facts">
        {KEYS.map(([key, what]) => [
          <dt key={what}>{what}</dt>,
          <dd key={key}>
            <kbd>{key}</kbd>
          </dd>,
        ])}
      </dl>
      <CloseAction onClose={close} />
    </Dialog>
  );
}
