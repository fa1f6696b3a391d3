import { signal } from '@preact/signals';

interface Toast {
  readonly id: number;
  readonly text: string;
}

const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6000;
let last = 0;

/** Says what happened, at the edge of the page. */
export function showToast(text: string): void {
  const id = (last += 1);
  toasts.value = [...toasts.value.slice(-2), { id, text }];
  setTimeout(() => (toasts.value = toasts.value.filter((toast) => toast.id !== id)), SHOWN_MS);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text }) => (
        <div class="toast" key={id}>
          {text}
        </div>
      ))}
    </div>
  );
}
