import { signal } from '@preact/signals';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly action?: { readonly label: string; run(): void };
}

const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6000;
const SHOWN_WITH_ACTION_MS = 10_000;
let last = 0;

/** Says what happened, at the edge of the page. */
export function showToast(text: string, action?: { label: string; run(): void }): void {
  const id = (last += 1);
  toasts.value = [
    ...toasts.value.slice(-2),
    action === undefined ? { id, text } : { id, text, action },
  ];
  setTimeout(() => dismiss(id), action === undefined ? SHOWN_MS : SHOWN_WITH_ACTION_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text, action }) => (
        <div class="toast" key={id}>
          <span>{text}</span>
          {action === undefined ? null : (
            <button
              type="button"
              class="button quiet"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
