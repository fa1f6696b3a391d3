import { useEffect, useRef, useState } from 'preact/hooks';
import { onChange, pollMs } from './events.ts';
import { asRequestError, get, type RequestError } from './requests.ts';
import { signIns } from './session.ts';

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

/**
 * Reads `path`, and again after changes, every `pollMs` while the page is visible, and every 2 s
 * while `isPending` says that something is about to change. Reads nothing for undefined.
 */
export function useLive<T>(
  path: string | undefined,
  isPending: (data: T) => boolean = () => false,
  read: (path: string, isBackground: boolean, signal: AbortSignal) => Promise<T> = readOne,
): Live<T> {
  const [shown, setShown] = useState<{
    path?: string | undefined;
    data?: T | undefined;
    error?: RequestError | undefined;
    asOf: number;
  }>({ asOf: 0 });
  const [turn, setTurn] = useState(0);
  const judge = useRef(isPending);
  judge.current = isPending;
  const epoch = signIns.value;

  useEffect(() => {
    if (path === undefined) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let isBusy = false;
    let changes = 0;
    const run = async (isBackground: boolean) => {
      isBusy = true;
      const known = changes;
      let wait: number | undefined;
      try {
        const data = await read(path, isBackground, abort.signal);
        if (abort.signal.aborted) return;
        failures = 0;
        if (judge.current(data)) wait = PENDING_POLL_MS;
        setShown({ path, data, asOf: Date.now() });
      } catch (error) {
        if (abort.signal.aborted) return;
        const failed = asRequestError(error);
        failures += 1;
        wait = Math.min(MAX_POLL_MS, Math.max(2 ** failures, failed.retryAfterSeconds ?? 0) * 1000);
        setShown((before) =>
          before.path === path
            ? { path, data: before.data, error: failed, asOf: before.asOf }
            : { path, error: failed, asOf: 0 },
        );
        if ([400, 401, 403, 404].includes(failed.status)) return;
      } finally {
        isBusy = false;
      }
      timer = setTimeout(tick, changes > known ? 0 : (wait ?? pollMs()));
    };
    const tick = () => {
      timer = undefined;
      if (document.visibilityState === 'visible') void run(true);
    };
    const seen = () => {
      if (document.visibilityState === 'visible' && timer === undefined && !isBusy) tick();
    };
    document.addEventListener('visibilitychange', seen);
    const stop = onChange(path, () => {
      changes += 1;
      if (isBusy) return;
      clearTimeout(timer);
      tick();
    });
    void run(false);
    return () => {
      stop();
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [path, turn, epoch]);

  const current = shown.path === path ? shown : { asOf: 0 };
  return {
    data: current.data,
    error: current.error,
    asOf: current.asOf,
    reload: () => setTurn((count) => count + 1),
  };
}

function readOne<T>(path: string, isBackground: boolean, signal: AbortSignal): Promise<T> {
  return get<T>(path, { isBackground, signal });
}
