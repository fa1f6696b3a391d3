import { useEffect, useRef, useState } from 'preact/hooks';
import { asRequestError, changes, request, RequestError } from './requests.ts';

const POLL_MS = 10_000;
const PENDING_POLL_MS = 2_000;
const MAX_POLL_MS = 60_000;

export interface Live<T> {
  /** The last answer. It stays while a later request fails. */
  readonly data: T | undefined;
  readonly error: RequestError | undefined;
  /** When `data` came, in milliseconds. */
  readonly asOf: number;
  reload(): void;
}

/** Reads what a path shows. `known` is the last answer. */
type Read<T> = (
  path: string,
  isBackground: boolean,
  signal: AbortSignal,
  known: T | undefined,
) => Promise<T>;

type Shown<T> = Omit<Live<T>, 'reload'> & { readonly path?: string };

const NOTHING = { data: undefined, error: undefined, asOf: 0 };

/**
 * Reads `path`, and again while the page is visible: every 10 s, every 2 s while `isPending` says
 * that something is about to change, and at once after a change by this page. Reads nothing for
 * undefined. `known` is what the person left, and is shown meanwhile.
 */
export function useLive<T>(
  path: string | undefined,
  isPending: (data: T) => boolean = () => false,
  read: Read<T> = readOne,
  known?: T,
): Live<T> {
  const [shown, setShown] = useState<Shown<T>>(() =>
    path === undefined || known === undefined ? NOTHING : { ...NOTHING, path, data: known },
  );
  const [turn, setTurn] = useState(0);
  const latest = useRef({ shown, isPending, read });
  latest.current = { shown, isPending, read };
  const change = changes.value;

  useEffect(() => {
    if (path === undefined) return;
    const abort = new AbortController();
    const { signal } = abort;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    const run = async () => {
      timer = undefined;
      const before = latest.current.shown.path === path ? latest.current.shown : NOTHING;
      const { data: last } = before;
      try {
        const data = await latest.current.read(path, last !== undefined, signal, last);
        if (signal.aborted) return;
        failures = 0;
        setShown({ path, data, error: undefined, asOf: Date.now() });
        timer = setTimeout(next, latest.current.isPending(data) ? PENDING_POLL_MS : POLL_MS);
      } catch (failure) {
        if (signal.aborted) return;
        const error = asRequestError(failure);
        failures += 1;
        setShown({ ...before, path, error });
        if ([400, 401, 403, 404].includes(error.status)) return;
        const seconds = Math.max(2 ** failures, error.retryAfterSeconds ?? 0);
        timer = setTimeout(next, Math.min(MAX_POLL_MS, seconds * 1000));
      }
    };
    let isDue = false;
    const next = () => {
      isDue = document.visibilityState !== 'visible';
      if (!isDue) void run();
    };
    const seen = () => {
      if (isDue) next();
    };
    document.addEventListener('visibilitychange', seen);
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [path, turn, change]);

  const { data, error, asOf } = shown.path === path ? shown : NOTHING;
  return { data, error, asOf, reload: () => setTurn((count) => count + 1) };
}

/** The entity tags of answers. */
const tags = new WeakMap<object, string>();

async function readOne<T>(
  path: string,
  isBackground: boolean,
  signal: AbortSignal,
  known: T | undefined,
): Promise<T> {
  const tag = tags.get(known as object);
  const headers: Record<string, string> = tag === undefined ? {} : { 'If-None-Match': tag };
  try {
    const answer = await request<T>(path, { isBackground, signal, headers });
    const given = answer.headers.get('ETag');
    if (given !== null) tags.set(answer.body as object, given);
    return answer.body;
  } catch (error) {
    if (known !== undefined && error instanceof RequestError && error.status === 304) return known;
    throw error;
  }
}
