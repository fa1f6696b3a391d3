import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { TextField } from './inputs.tsx';
import { Problem } from './notices.tsx';
import { useSubmit } from './submit.ts';
import { visible } from './text.tsx';

interface DialogProps {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  readonly size?: 'wide' | 'cover';
  onClose(): void;
}

/** A modal dialog. `cover` hides the page below it. Focus goes to its first field, and back to where it was when it closes. */
export function Dialog({ title, children, size, onClose }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog?.showModal();
    dialog
      ?.querySelector<HTMLElement>(
        '[data-first], .dialog-body input, .dialog-body select, textarea',
      )
      ?.focus();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={size}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={({ currentTarget: dialog }) => {
        // Chromium closes a dialog at the second Esc in a row, whatever the page says.
        if (!dialog.isConnected || dialog.open) return;
        dialog.showModal();
        onClose();
      }}
    >
      <h2 id={id} class="dialog-title">
        {title}
      </h2>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

/** The actions of a dialog that only shows something. */
export function CloseAction({ onClose }: { onClose(): void }) {
  return (
    <div class="dialog-actions">
      <Button data-first="" onClick={onClose}>
        Close
      </Button>
    </div>
  );
}

interface ConfirmProps {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  /** The label of the button that does it. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** What the person has to type first, if much depends on it. */
  readonly typed?: string | undefined;
  /** Does it, by force if the service has refused it and said that this is possible. */
  run(isForced: boolean): Promise<void>;
  onClose(): void;
}

/** Asks before something that cannot be undone, and shows a refusal where the person acted. */
export function Confirm(props: ConfirmProps) {
  const { title, children, action, isDangerous = true, typed, run, onClose } = props;
  const [text, setText] = useState('');
  const isReady = typed === undefined || text.trim() === typed;
  const { error, isBusy, onSubmit } = useSubmit(async () => {
    if (isReady) await run(canForce);
  });
  const canForce = error?.message.includes('Tsigil-Force') === true;
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        {children}
        {typed === undefined ? null : (
          <TextField
            label={
              <>
                Type <bdi class="mono">{visible(typed)}</bdi> to confirm
              </>
            }
            value={text}
            set={setText}
          />
        )}
        {error === undefined ? null : <Problem error={error} />}
        <div class="dialog-actions">
          <Button data-first={typed === undefined ? '' : undefined} onClick={onClose}>
            Cancel
          </Button>
          <button
            type="submit"
            class={`button ${isDangerous ? 'danger' : 'primary'}`}
            aria-disabled={!isReady || isBusy}
          >
            {canForce ? `${action} nevertheless` : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
