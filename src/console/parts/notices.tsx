import type { ComponentChildren } from 'preact';
import { RequestError } from '../requests.ts';
import { pageOf } from '../router.ts';
import { may, session } from '../session.ts';
import { Button } from './button.tsx';
import { visible } from './text.tsx';

/** A failure, with what a person can quote. */
export function Problem({ error, children }: { error: Error; children?: ComponentChildren }) {
  const id = error instanceof RequestError ? error.requestId : undefined;
  return (
    <div class="alert bad" role="alert">
      <p>{children ?? visible(error.message)}</p>
      {id === undefined ? null : (
        <p class="hint">
          Request <code>{id}</code>
        </p>
      )}
    </div>
  );
}

interface FailureProps {
  readonly error: RequestError;
  /** What could not be read, such as `the keys`. */
  readonly what: string;
  retry(): void;
}

/** Stands in the place of what could not be read. It is read again by itself, if that can help. */
export function Failure({ error, what, retry }: FailureProps) {
  const { type, status, message } = error;
  if (type === 'access_denied' || status === 403)
    return (
      <div class="alert">
        <p>{message}.</p>
        <p class="muted">Your roles: {roles()}.</p>
      </div>
    );
  if (status === 404)
    return (
      <div class="alert">
        <p>
          {message}. It was deleted, or the link is wrong.{' '}
          {may('audit:list') ? (
            <>
              The <a href={pageOf('audit')}>audit trail</a> says who deleted it.
            </>
          ) : null}
        </p>
      </div>
    );
  return (
    <div class="stack-s">
      <Problem error={error}>
        <b>Could not read {what}.</b> {visible(message)}
      </Problem>
      <div>
        <Button onClick={retry}>Try again</Button>
      </div>
    </div>
  );
}

export function roles(): string {
  return session.value?.caller.roles.join(', ') || 'none';
}

/** An action that the caller may not do, as text. */
export function Denied({ right, what }: { right: string; what: string }) {
  if (may(right)) return null;
  return (
    <p class="hint">
      Your roles: {roles()}. {what} needs the right <code>{right}</code>.
    </p>
  );
}

/** Says that what is shown is no longer read again. */
export function NotLive(props: { error: RequestError | undefined; asOf: number; reload(): void }) {
  const { error, asOf, reload } = props;
  if (error === undefined) return null;
  return (
    <p class="row warn small" role="status">
      <span>! Not live since {new Date(asOf).toLocaleTimeString()}.</span>
      <Button look="text" onClick={reload}>
        Retry
      </Button>
    </p>
  );
}
