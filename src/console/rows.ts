import { useEffect, useRef, useState } from 'preact/hooks';
import { useLive, type Live } from './live.ts';
import { get, type RequestOptions } from './requests.ts';
import { isReturning } from './router.ts';
import { may } from './session.ts';

const PAGE = 100;
export const MAX_PAGE = 1000;

/** The same list each time, because what depends on the rows would else run without end. */
const NONE: readonly never[] = [];

export interface Row {
  readonly id: string;
}

/** The first rows of a list. */
export interface Found<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
  /** Undefined for collections without a count. */
  readonly total: number | undefined;
}

export interface Rows<T extends Row> extends Found<T>, Omit<Live<Found<T>>, 'data'> {
  readonly isLoaded: boolean;
  more(): void;
}

type Page = Readonly<Record<string, unknown>> & {
  readonly links: { readonly next?: string };
  readonly metadata?: { readonly total_count?: number };
};

/** The rows of the lists that the person left, for the way back. At most one for each collection. */
const left = new Map<string, { readonly path: string; readonly found: Found<Row> }>();

/**
 * Reads rows of a collection that its filters let pass, in as few pages as possible. `member` of a
 * response has the rows. Throws `RequestError`.
 */
async function readRows<T>(
  member: string,
  first: string,
  wanted: number,
  options: RequestOptions,
): Promise<Found<T>> {
  const rows: T[] = [];
  let total: number | undefined;
  let path: string | undefined = first;
  while (path !== undefined && rows.length < wanted) {
    const page: Page = await get<Page>(path, options);
    rows.push(...((page[member] ?? []) as readonly T[]));
    total ??= page.metadata?.total_count;
    const { next } = page.links;
    path = next === undefined ? undefined : next.slice(next.indexOf('/v2/') + 1);
  }
  return { rows, hasMore: path !== undefined, total };
}

/** Reads all rows of a collection that its filters let pass. Throws `RequestError`. */
export async function readAll<T>(
  collection: string,
  filters: Readonly<Record<string, string>>,
  options: RequestOptions = {},
): Promise<readonly T[]> {
  const query = new URLSearchParams(Object.assign({ limit: String(MAX_PAGE) }, filters));
  const path = `v2/${collection}?${query.toString()}`;
  return (await readRows<T>(collection, path, Infinity, options)).rows;
}

/** How a list differs from the list of a collection. */
export interface ListForm<T> {
  /** The member of a response that has the rows. Absent: the name of the collection. */
  readonly member?: string;
  /** Adds to the rows what another request says about them. */
  complete?(rows: readonly T[], options: RequestOptions): Promise<readonly T[]>;
  /** Whether a row is about to change. */
  isPending?(row: T): boolean;
}

/** Reads the first rows of a list, and more on demand. `path` has all filters. */
export function useRows<T extends Row>(
  collection: string,
  path: string,
  form: ListForm<T> = {},
): Rows<T> {
  const { member = collection, complete, isPending = () => false } = form;
  const [known] = useState(() => {
    const last = left.get(collection);
    return isReturning.peek() && last?.path === path ? (last.found as Found<T>) : undefined;
  });
  const [asked, setAsked] = useState({ path, rows: Math.max(PAGE, known?.rows.length ?? 0) });
  const wanted = asked.path === path ? asked.rows : PAGE;
  const latest = useRef(wanted);
  latest.current = wanted;
  const read = async (_: string, isBackground: boolean, signal: AbortSignal) => {
    const limit = Math.min(latest.current, MAX_PAGE);
    const first = `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`;
    const options = { isBackground, signal };
    const found = await readRows<T>(member, first, latest.current, options);
    if (complete === undefined || found.rows.length === 0) return found;
    return { ...found, rows: await complete(found.rows, options) };
  };
  const live = useLive<Found<T>>(path, ({ rows }) => rows.some(isPending), read, known);
  const { data } = live;
  useEffect(() => {
    if (wanted > PAGE && (data?.rows.length ?? 0) < wanted) live.reload();
  }, [wanted]);
  useEffect(() => {
    if (data !== undefined) left.set(collection, { path, found: data });
  }, [data]);
  return {
    ...live,
    rows: data?.rows ?? NONE,
    hasMore: data?.hasMore === true,
    total: data?.total,
    isLoaded: data !== undefined,
    more: () => setAsked({ path, rows: wanted + PAGE }),
  };
}

/** Reads the first resources of a collection that a filter lets pass, if the caller may list them. */
export function useFirst<T>(collection: string, filter: string | undefined, limit: number) {
  const path = `v2/${collection}?${filter ?? ''}&limit=${limit}&sort_key=name`;
  return useLive<Found<T>>(
    filter === undefined || !may(`${collection}:list`) ? undefined : path,
    undefined,
    (_, isBackground, signal) => readRows(collection, path, limit, { isBackground, signal }),
  );
}
