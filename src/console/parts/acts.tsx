import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { asRequestError, send } from '../requests.ts';
import { may } from '../session.ts';
import { Confirm } from './dialog.tsx';
import { roles } from './notices.tsx';
import { showToast } from './toasts.tsx';

/** What a person can do on a page: open a link, act at once, or go on in a dialog. */
export interface Act {
  readonly label: string;
  readonly right: string;
  readonly isPrimary?: boolean;
  readonly href?: string;
  run?(): Promise<unknown>;
  dialog?(close: () => void): ComponentChildren;
}

interface ActsProps {
  /** The acts that are possible now. A false value stands for one that is not. */
  readonly acts: readonly (Act | false)[];
  /** The label of the act whose dialog is open at first. */
  readonly opened?: string | undefined;
}

/** The acts that the caller may do, as buttons, and the rights that the others need. */
export function Acts({ acts, opened }: ActsProps) {
  const [open, setOpen] = useState(opened);
  const possible = acts.filter((act) => act !== false);
  const missing = possible.filter(({ right }) => !may(right));
  const shown = possible.filter(({ right }) => may(right));
  return (
    <>
      {shown.map(({ label, isPrimary, href, run }) => {
        const look = isPrimary === true ? 'button primary' : 'button';
        if (href !== undefined)
          return (
            <a key={label} class={look} href={href}>
              {label}
            </a>
          );
        const act = () => (run === undefined ? setOpen(label) : void atOnce(run));
        return (
          <button key={label} type="button" class={look} onClick={act}>
            {label}
          </button>
        );
      })}
      {missing.length === 0 ? null : (
        <p class="hint">
          Your roles: {roles()}.{' '}
          {missing
            .map(({ label, right }) => `${label.replace('…', '')} needs the right ${right}`)
            .join(', ')}
          .
        </p>
      )}
      {shown.find(({ label }) => label === open)?.dialog?.(() => setOpen(undefined))}
    </>
  );
}

/** Does something, and says why it was refused. */
export async function atOnce(run: () => Promise<unknown>): Promise<void> {
  await run().catch((error: unknown) => showToast(asRequestError(error).message));
}

export interface Question {
  readonly title: ComponentChildren;
  readonly action: string;
  readonly text: ComponentChildren;
  readonly path: string;
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  readonly body?: object;
  readonly isDangerous?: boolean;
  /** What the person has to type first, if much depends on it. */
  readonly typed?: string | undefined;
  /** What is said, and done, afterwards. */
  readonly done: string;
  after?(): void;
}

/** Asks, sends a request, and says that it is done. Where the service offers it, the next try insists. */
export function Ask(props: Question & { onClose(): void }) {
  const { text, path, method = 'POST', body, done, after, onClose, ...confirm } = props;
  return (
    <Confirm
      {...confirm}
      run={async (isForced) => {
        await send(path, method, body, isForced ? { 'Tsigil-Force': 'true' } : {});
        showToast(done);
        onClose();
        after?.();
      }}
      onClose={onClose}
    >
      {text}
    </Confirm>
  );
}

/** Returns an act that asks first. */
export function asking(label: string, right: string, question: Question): Act {
  return { label, right, dialog: (onClose) => <Ask {...question} onClose={onClose} /> };
}
