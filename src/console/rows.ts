import { useEffect, useRef, useState } from 'preact/hooks';
import { onChange, pollMs } from './events.ts';
import { asRequestError, get, RequestError, type RequestOptions } from './requests.ts';
import { isReturning } from './router.ts';
import { signIns } from './session.ts';

const PAGE = 100;
const POLL_MS = 15_000;

/** The same list each time, because what depends on the rows would else run without end. */
const NONE: readonly never[] = [];

export interface Row {
  readonly id: string;
}

export interface Rows<T extends Row> {
  readonly rows: readonly T[];
  /** Undefined before the first answer, and for collections without a count. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  readonly error: RequestError | undefined;
  readonly asOf: number;
  /** How many rows of the first page are not shown yet. */
  readonly fresh: number;
  more(): void;
  reload(): void;
}

interface Stored<T> {
  readonly rows: readonly T[];
  readonly next: string | undefined;
  readonly total: number | undefined;
  readonly asOf: number;
}

type Page = Readonly<Record<string, unknown>> & {
  readonly links: { readonly next?: string };
  readonly metadata?: { readonly total_count?: number };
};

/** The rows of the lists that the person left, for the way back. At most one for each collection. */
const left = new Map<string, { readonly path: string; readonly stored: Stored<Row> }>();

/** Returns the path of the next page on this service. */
function nextOf({ links: { next } }: Pick<Page, 'links'>): string | undefined {
  return next === undefined ? undefined : next.slice(next.indexOf('/v2/') + 1);
}

/** Reads all rows of a collection that its filters let pass. Throws `RequestError`. */
export async function readAll<T>(
  collection: string,
  filters: Readonly<Record<string, string>>,
  options: RequestOptions = {},
): Promise<readonly T[]> {
  const all: T[] = [];
  const first = new URLSearchParams(Object.assign({ limit: '1000' }, filters));
  let path: string | undefined = `v2/${collection}?${first.toString()}`;
  while (path !== undefined) {
    const page: Page = await get<Page>(path, options);
    all.push(...(page[collection] as readonly T[]));
    path = nextOf(page);
  }
  return all;
}

/** How a list differs from the list of a collection. */
interface ListForm {
  /** The member of a response that has the rows. Absent: the name of the collection. */
  readonly member?: string;
  /** The member of a row that identifies it. Absent: `id`. */
  readonly idMember?: string;
  /** Whether the service accepts the size of a page. */
  readonly hasLimit?: boolean;
}

/** Reads the pages of a list as they are needed. `path` has all filters; a change starts again. */
export function useRows<T extends Row>(
  collection: string,
  path: string,
  form: ListForm = {},
): Rows<T> {
  const { member = collection, idMember = 'id', hasLimit = true } = form;
  const [state, setState] = useState<{
    path: string;
    stored?: Stored<T> | undefined;
    error?: RequestError | undefined;
    fresh: number;
  }>(() => {
    const known = left.get(collection);
    return isReturning.peek() && known?.path === path
      ? { path, stored: known.stored as Stored<T>, fresh: 0 }
      : { path, fresh: 0 };
  });
  const [turn, setTurn] = useState(0);
  const busy = useRef<string | undefined>(undefined);
  const latest = useRef(state);
  latest.current = state;
  const epoch = signIns.value;
  const names = [member, idMember] as const;
  const first = hasLimit ? `${path}${path.includes('?') ? '&' : '?'}limit=${PAGE}` : path;

  useEffect(() => {
    const abort = new AbortController();
    busy.current = undefined;
    const keep = latest.current.path === path ? latest.current.stored : undefined;
    const refresh = async (signal: AbortSignal) => {
      try {
        const page = await readPage<T>(first, names, signal, true);
        setState((before) => merged(before, page));
      } catch (error) {
        if (signal.aborted) return;
        const failed = asRequestError(error);
        setState((before) => ({ ...before, error: failed }));
      }
    };
    const start = async () => {
      if (keep !== undefined && turn === 0) return refresh(abort.signal);
      try {
        // As many rows again as there were, so that nothing jumps.
        let stored = await readPage<T>(first, names, abort.signal);
        while (keep !== undefined && stored.next !== undefined) {
          if (stored.rows.length >= keep.rows.length) break;
          const more = await readPage<T>(stored.next, names, abort.signal);
          stored = { ...more, rows: [...stored.rows, ...more.rows], total: stored.total };
        }
        setState({ path, stored, fresh: 0 });
      } catch (error) {
        if (abort.signal.aborted) return;
        const failed = asRequestError(error);
        setState({ path, stored: keep, error: failed, fresh: 0 });
      }
    };
    void start();
    const poll = setInterval(() => {
      const { stored, path: of } = latest.current;
      if (document.visibilityState !== 'visible' || stored === undefined || of !== path) return;
      if (Date.now() - stored.asOf < pollMs() - POLL_MS / 2) return;
      void refresh(abort.signal);
    }, POLL_MS);
    const stop = onChange(path, () => {
      const { stored, path: of } = latest.current;
      if (stored !== undefined && of === path) void refresh(abort.signal);
    });
    return () => {
      abort.abort();
      stop();
      clearInterval(poll);
      const { stored, path: of } = latest.current;
      if (stored !== undefined && of === path) left.set(collection, { path, stored });
    };
  }, [path, turn, epoch]);

  const current = state.path === path ? state : undefined;
  const stored = current?.stored;
  const more = () => {
    const next = stored?.next;
    if (next === undefined || busy.current === next) return;
    busy.current = next;
    void readPage<T>(next, names).then(
      (page) =>
        setState((before) => {
          if (before.path !== path || before.stored?.next !== next) return before;
          const rows = [...before.stored.rows, ...page.rows];
          return { ...before, stored: { ...before.stored, rows, next: page.next } };
        }),
      (error: unknown) => {
        // The row of the marker is gone: reads as many rows again.
        if (error instanceof RequestError && error.type === 'marker_not_found')
          setTurn((count) => count + 1);
        else setState((before) => ({ ...before, error: asRequestError(error) }));
        busy.current = undefined;
      },
    );
  };
  return {
    rows: stored?.rows ?? NONE,
    total: stored?.total,
    hasMore: stored?.next !== undefined,
    isLoaded: stored !== undefined,
    error: current?.error,
    asOf: stored?.asOf ?? 0,
    fresh: current?.fresh ?? 0,
    more,
    reload: () => setTurn((count) => count + 1),
  };
}

async function readPage<T>(
  path: string,
  [member, idMember]: readonly [member: string, idMember: string],
  signal?: AbortSignal,
  isBackground = false,
): Promise<Stored<T>> {
  const page = await get<Page>(path, {
    isBackground,
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    rows: ((page[member] ?? []) as readonly Readonly<Record<string, unknown>>[]).map(
      (row) => (idMember === 'id' ? row : { ...row, id: String(row[idMember]) }) as unknown as T,
    ),
    next: nextOf(page),
    total: page.metadata?.total_count,
    asOf: Date.now(),
  };
}

/** Changes the cells of known rows. New rows are only counted, so that no row moves by itself. */
function merged<T extends Row, S extends { stored?: Stored<T> | undefined }>(
  before: S,
  page: Stored<T>,
): S & { fresh: number; error: undefined } {
  const { stored } = before;
  if (stored === undefined) return { ...before, fresh: 0, error: undefined };
  const known = new Map(page.rows.map((row) => [row.id, row]));
  const shown = new Set(stored.rows.map(({ id }) => id));
  const isEmpty = shown.size === 0;
  const rows = isEmpty ? page.rows : stored.rows.map((row) => known.get(row.id) ?? row);
  const fresh = isEmpty ? 0 : page.rows.filter(({ id }) => !shown.has(id)).length;
  const next = isEmpty ? page.next : stored.next;
  return {
    ...before,
    stored: { rows, next, total: page.total ?? stored.total, asOf: page.asOf },
    fresh,
    error: undefined,
  };
}
