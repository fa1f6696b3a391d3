import { asRequestError, get } from './requests.ts';
import { SERVICE } from './router.ts';
import { may, signIns } from './session.ts';

const WAIT_SECONDS = 30;
const REFRESH_MS = 1000;
const POLL_MS = 15_000;
const MAX_POLL_MS = 60_000;

/** How long after a response of the feed the next one comes at the latest. */
const FED_MS = (WAIT_SECONDS + 5) * 1000;

interface Change {
  readonly resource_type: string;
  /** Null for a change of several resources. */
  readonly resource_id: string | null;
}

/** What the tab that reads the feed tells the others. Without `changes`, anything may have changed. */
interface News {
  readonly cursor: string | undefined;
  readonly isLive: boolean;
  readonly changes?: readonly Change[];
}

const NAME = `tsigil events ${SERVICE}`;
const tabs = new BroadcastChannel(NAME);
const views = new Set<(changes: News['changes']) => void>();
let cursor: string | undefined;
let fedUntil = 0;

/**
 * Returns how long to wait before something is read again without a change: with a feed, until the
 * feed would be missed.
 */
export function pollMs(): number {
  return Math.max(POLL_MS, fedUntil - Date.now());
}

/**
 * Follows the changes of resources: in one tab of the browser, which tells the others, and only
 * while a tab is visible. Without the right, or while that fails, everything is polled.
 */
export function startFeed(): void {
  let current: AbortController | undefined;
  const start = () => {
    current?.abort();
    // Without TLS, browsers have no locks, except at the address of the machine itself.
    if (document.visibilityState !== 'visible' || !may('events:list') || !('locks' in navigator))
      return;
    current = new AbortController();
    const { signal } = current;
    navigator.locks
      .request(NAME, { signal }, () => follow(signal))
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
  };
  tabs.addEventListener('message', ({ data }: MessageEvent<News>) => receive(data));
  document.addEventListener('visibilitychange', start);
  for (const name of ['offline', 'online'])
    addEventListener(name, () => receive({ cursor, isLive: false }));
  signIns.subscribe(start);
}

const LOST = { status: 0, retryAfterSeconds: undefined };

async function follow(signal: AbortSignal): Promise<void> {
  const isOver = () => signal.aborted;
  for (let failures = 0; !isOver();) {
    const from = cursor === undefined ? '' : `?after=${cursor}&wait=${WAIT_SECONDS}`;
    const since = Date.now();
    const limit = within(signal, FED_MS); // the network may lose a request without a word
    try {
      const found = await get<{ events: readonly Change[]; cursor: string }>(`v2/events${from}`, {
        isBackground: true,
        signal: limit,
      });
      // What failed together with the feed is read again.
      const changes = failures === 0 ? { changes: found.events } : {};
      failures = 0;
      tell(Object.assign({ cursor: found.cursor, isLive: true }, changes));
      // A service that stops does not wait.
      const isEarly = found.events.length === 0 && Date.now() - since < REFRESH_MS;
      if (isEarly && from !== '') await pause(REFRESH_MS, signal);
    } catch (error) {
      if (isOver()) return;
      const { status, retryAfterSeconds = 0 } = limit.aborted ? LOST : asRequestError(error);
      if ([401, 403, 404].includes(status)) return;
      failures += 1;
      // What is on screen finds out what failed, and is polled again.
      if (failures === 1 || status === 410)
        tell({ cursor: status === 410 ? undefined : cursor, isLive: false });
      await pause(Math.min(MAX_POLL_MS, Math.max(2 ** failures, retryAfterSeconds) * 1000), signal);
    }
  }
}

/** Returns a signal that aborts with another one, or after a time. */
function within(signal: AbortSignal, ms: number): AbortSignal {
  const own = new AbortController();
  const end = () => {
    clearTimeout(timer);
    own.abort();
  };
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', end, { signal: own.signal });
  return own.signal;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    within(signal, ms).addEventListener('abort', () => resolve());
  });
}

function tell(news: News): void {
  tabs.postMessage(news);
  receive(news);
}

function receive(news: News): void {
  cursor = news.cursor;
  fedUntil = news.isLive ? Date.now() + FED_MS : 0;
  for (const view of views) view(news.changes);
}

/**
 * Calls `refresh` after changes that may concern what `path` shows: at most once a second, and only
 * while the page is visible. Returns the function that ends this.
 */
export function onChange(path: string, refresh: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStale = false;
  let refreshedAt = 0;
  const run = () => {
    timer = undefined;
    isStale = document.visibilityState !== 'visible';
    if (isStale) return;
    refreshedAt = Date.now();
    refresh();
  };
  const view = (changes: News['changes']) => {
    if (changes !== undefined && !changes.some((change) => concerns(path, change))) return;
    timer ??= setTimeout(run, Math.max(0, refreshedAt + REFRESH_MS - Date.now()));
  };
  const seen = () => {
    if (isStale) run();
  };
  views.add(view);
  document.addEventListener('visibilitychange', seen);
  return () => {
    clearTimeout(timer);
    views.delete(view);
    document.removeEventListener('visibilitychange', seen);
  };
}

/** Returns whether the response at a path may show a resource. */
function concerns(path: string, { resource_type: type, resource_id: id }: Change): boolean {
  const [, collection, one, part] = /^v2\/(\w+)\/?([\w-]*)\/?(\w*)/.exec(path) ?? [];
  if (collection === 'status') return true;
  if (collection === 'audit' && !path.includes('resource_id=')) return true;
  if (id !== null && path.includes(id)) return true;
  return collection === type && (one === '' || id === null || part === 'lifecycle');
}
