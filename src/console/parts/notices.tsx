import { useEffect, useState } from 'preact/hooks';
import { RequestError } from '../requests.ts';
import { pageOf } from '../router.ts';
import { may, session } from '../session.ts';
import { visible } from './text.tsx';

/** A failure, with what a person can quote. */
export function Problem({ error }: { error: Error }) {
  return (
    <div class="alert bad" role="alert">
      <p>{visible(error.message)}</p>
      {error instanceof RequestError ? <RequestId error={error} /> : null}
    </div>
  );
}

function RequestId({ error }: { error: RequestError }) {
  if (error.requestId === undefined) return null;
  return (
    <p class="hint">
      Request <code>{error.requestId}</code>
    </p>
  );
}

interface FailureProps {
  readonly error: RequestError;
  /** What could not be read, such as `the keys`. */
  readonly what: string;
  retry(): void;
}

/** Stands in the place of what could not be read. */
export function Failure({ error, what, retry }: FailureProps) {
  if (error.type === 'access_denied' || error.status === 403) return <NoRight error={error} />;
  if (error.status === 404) return <Gone error={error} />;
  return (
    <div class="alert bad" role="alert">
      <p>
        <b>Could not read {what}.</b> {error.message}
      </p>
      <RequestId error={error} />
      <Retry error={error} retry={retry} />
    </div>
  );
}

function Retry({ error, retry }: { error: RequestError; retry(): void }) {
  const [left, setLeft] = useState(error.retryAfterSeconds ?? 0);
  useEffect(() => {
    setLeft(error.retryAfterSeconds ?? 0);
    if (error.retryAfterSeconds === undefined) return;
    const timer = setInterval(() => setLeft((seconds) => Math.max(0, seconds - 1)), 1000);
    return () => clearInterval(timer);
  }, [error]);
  useEffect(() => {
    if (left === 0 && error.retryAfterSeconds !== undefined) retry();
  }, [left]);
  return (
    <div class="row">
      <button type="button" class="button" onClick={retry}>
        Try again
      </button>
      {left > 0 ? <span class="hint">Tries again by itself in {left} s.</span> : null}
    </div>
  );
}

function roles(): string {
  const all = session.value?.caller.roles ?? [];
  return all.length === 0 ? 'none' : all.join(', ');
}

/** Says which right is missing. */
export function NoRight({ error }: { error: RequestError }) {
  return (
    <div class="alert">
      <p>{error.message}.</p>
      <p class="muted">Your roles: {roles()}.</p>
    </div>
  );
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

function Gone({ error }: { error: RequestError }) {
  return (
    <div class="alert">
      <p>
        {error.message}. It was deleted, or the link is wrong.
        {may('audit:list') ? (
          <>
            {' '}
            The <a href={pageOf('audit')}>audit trail</a> says who deleted it.
          </>
        ) : null}
      </p>
    </div>
  );
}

/** Says that what is shown is no longer read again. */
export function NotLive(props: { error: RequestError | undefined; asOf: number; reload(): void }) {
  const { error, asOf, reload } = props;
  if (error === undefined) return null;
  return (
    <p class="row warn small" role="status">
      <span>! Not live since {new Date(asOf).toLocaleTimeString()}.</span>
      <button type="button" class="button text" onClick={reload}>
        Retry
      </button>
    </p>
  );
}

/** Stands in the place of a part of the console that could not be loaded. */
export function NotLoaded() {
  return (
    <>
      <p>The service was updated, or cannot be reached.</p>
      <div>
        <button type="button" class="button" onClick={() => location.reload()}>
          Load again
        </button>
      </div>
    </>
  );
}
