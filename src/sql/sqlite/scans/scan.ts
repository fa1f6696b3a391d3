import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { performance } from 'node:perf_hooks';
import type { PageQuery } from '../../../core/query.ts';
import type { ResourceType } from '../../../core/resource.ts';
import { resourcesPassing } from '../../computed-filters.ts';
import { orderValue, orderValues } from '../../columns.ts';
import { readerOn } from '../../reader.ts';
import type { SqlRow } from '../../sql.ts';
import { tablesIn } from '../../table.ts';
import { dialect } from '../connection/dialect.ts';
import { compareKeys, type Key } from '../../order.ts';
import { scanStepsOn, translated, type RowsText, type Scanned } from './scan-steps.ts';
import { rowOf, sqlOn } from '../connection/statements.ts';
import { walkOf, type Position } from './walk.ts';

/** Each text is JSON: an array with an array of values in column order for each row. */
export interface Found {
  readonly columns: readonly string[];
  readonly texts: readonly string[];
  readonly more: boolean;
  readonly total: number | undefined;
}

/**
 * A function that reads a page in steps and calls `pause` between them. The function throws what
 * `pause` throws, and `unavailable` for a fault of the machine.
 */
type Scan = (type: ResourceType, query: PageQuery, pause: Pause) => Promise<Found>;

type Pause = () => Promise<void>;

/**
 * The number of rows in the first step, and the limits for later steps. Later steps take 4 to 12
 * ms. The first step is short, because many pages are full after few rows.
 */
const STEP_ROWS = { first: 512, least: 64, most: 16_384 };
const STEP_MS = { least: 4, most: 12 };

const ROWS_AT_A_TIME = 100;

/** Creates the scan function on `connection`. No other code may use the connection. */
export function scanOn(connection: DatabaseSyncInstance, path: string): Scan {
  const steps = scanStepsOn(connection, path);
  const tableFor = tablesIn(dialect);
  const reader = readerOn(sqlOn(connection, translated(path)), tableFor, dialect);

  const passing = async ({ type, query }: Scanned, rows: RowsText): Promise<unknown[][]> => {
    const table = tableFor(type);
    const lists = listsOf(rows.text);
    const passed = await resourcesPassing(
      type,
      query,
      lists.map((values) => table.decode(rowOf(table.columns, values))),
      reader,
    );
    const ids = new Set<unknown>(passed.map(({ id }) => id));
    return lists.filter(([id]) => ids.has(id));
  };

  /** Reads the page from an index in the sort order of the list. */
  const readInOrder = async (scanned: Scanned, pause: Pause): Promise<Found> => {
    const { type, query } = scanned;
    const { columns } = tableFor(type);
    const texts: string[] = [];
    let [count, length] = [0, 0];
    const isFull = () => count >= query.limit || length > longest(query);
    await walkThrough(scanned, pause, async (from, to) => {
      const most = Math.min(
        query.computed === undefined ? query.limit - count : Infinity,
        ROWS_AT_A_TIME,
      );
      const found = steps.firstRows(scanned, columns, from, to, most);
      if (found.count === 0) return to;
      const rows =
        query.computed === undefined
          ? found
          : textOf((await passing(scanned, found)).slice(0, query.limit - count));
      if (rows.count > 0) texts.push(rows.text);
      count += rows.count;
      length += rows.count > 0 ? rows.text.length : 0;
      if (isFull()) return undefined;
      if (found.count < most) return to;
      const last = rowOf(columns, listsOf(found.text).at(-1) ?? []);
      return orderValues(type, query.sortField, last[query.sortField], String(last.id));
    });
    return { columns, texts, more: isFull(), total: undefined };
  };

  /** Returns the keys of the page, and the number of rows that match the conditions. */
  const findAmongAll = async (
    scanned: Scanned,
    pause: Pause,
  ): Promise<{ keys: Key[]; total: number }> => {
    const { type, query } = scanned;
    const first = firstKeys(type, query);
    let total = 0;
    await walkThrough(scanned, pause, async (from, to) => {
      if (query.limit === 0) {
        total += steps.count(scanned, from, to);
        return to;
      }
      const keys = steps.keys(scanned, from, to);
      if (query.computed === undefined) {
        total += keys.length;
        first.add(keys);
        return to;
      }
      for (const some of partsOf(keys)) {
        const ids = some.map(([, id]) => id);
        const passed = new Set<unknown>(
          (await passing(scanned, steps.rows(scanned, tableFor(type).columns, ids))).map(
            ([id]) => id,
          ),
        );
        first.add(some.filter(([, id]) => passed.has(id)));
        await pause();
      }
      return to;
    });
    return { keys: first.list(), total };
  };

  /**
   * Returns the rows with these keys, in the order of the keys. Omits a row that has moved in the
   * list since the scan read the key. As the last row of a page, such a row would be the marker of
   * the next page. The next page would then omit the rows between the old and the new position.
   */
  const atTheirPlaces = (
    scanned: Scanned,
    columns: readonly string[],
    keys: readonly Key[],
  ): unknown[][] => {
    const { type, query } = scanned;
    const { sortField } = query;
    const [idAt, sortAt] = [columns.indexOf('id'), columns.indexOf(sortField)];
    const { text } = steps.rows(
      scanned,
      columns,
      keys.map(([, id]) => id),
    );
    const byId = new Map(listsOf(text).map((values) => [values[idAt], values]));
    return keys.flatMap(([sortValue, id]) => {
      const values = byId.get(id);
      return values !== undefined && orderValue(type, sortField, values[sortAt]) === sortValue
        ? [values]
        : [];
    });
  };

  /** Reads all rows. Returns the page, and the number of rows that match the conditions. */
  const readAmongAll = async (scanned: Scanned, pause: Pause): Promise<Found> => {
    const { type, query } = scanned;
    const { columns } = tableFor(type);
    const { keys, total } = await findAmongAll(scanned, pause);
    const texts: string[] = [];
    let [read, count, length] = [0, 0, 0];
    for (const some of partsOf(keys)) {
      if (length > longest(query)) break;
      await pause();
      const rows = textOf(atTheirPlaces(scanned, columns, some));
      texts.push(rows.text);
      read += some.length;
      count += rows.count;
      length += rows.text.length;
    }
    const more = read < keys.length || (keys.length === query.limit && query.limit > 0);
    // The page omits rows that were deleted or moved during the scan. Read an empty page again,
    // because it would have no marker for the next page.
    if (more && count === 0) return readAmongAll(scanned, pause);
    return { columns, texts, more, total: query.count === true ? total : undefined };
  };

  /**
   * Runs a walk in steps. `visit` returns the position after which the next step begins, or
   * undefined to end the walk.
   */
  const walkThrough = async (
    scanned: Scanned,
    pause: Pause,
    visit: (from: Position | undefined, to: Position | undefined) => Promise<Position | undefined>,
  ): Promise<void> => {
    let rows = STEP_ROWS.first;
    let from = scanned.walk.start;
    for (;;) {
      const began = performance.now();
      const to = steps.end(scanned, from, rows);
      from = await visit(from, to);
      if (from === undefined) return;
      const milliseconds = performance.now() - began;
      if (milliseconds < STEP_MS.least) rows = Math.min(rows * 2, STEP_ROWS.most);
      if (milliseconds > STEP_MS.most) rows = Math.max(Math.floor(rows / 2), STEP_ROWS.least);
      await pause();
    }
  };

  return (type, query, pause) => {
    const scanned: Scanned = { type, query, walk: walkOf(type, query) };
    return scanned.walk.ordered ? readInOrder(scanned, pause) : readAmongAll(scanned, pause);
  };
}

export function rowsOf(columns: readonly string[], text: string): SqlRow[] {
  return listsOf(text).map((values) => rowOf(columns, values));
}

function listsOf(text: string): unknown[][] {
  return JSON.parse(text) as unknown[][];
}

function textOf(lists: readonly unknown[][]): RowsText {
  return { count: lists.length, text: JSON.stringify(lists) };
}

/** Nested JSON can double the length with backslashes that the page does not contain. */
function longest({ maxBytes = Infinity }: PageQuery): number {
  return 2 * maxBytes;
}

function partsOf<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / ROWS_AT_A_TIME) }, (_, part) =>
    list.slice(part * ROWS_AT_A_TIME, (part + 1) * ROWS_AT_A_TIME),
  );
}

interface FirstKeys {
  add(keys: readonly Key[]): void;
  list(): Key[];
}

/** Takes any number of keys in any order, and stores at most twice as many as the page contains. */
function firstKeys(
  type: ResourceType,
  { limit, sortField, descending, after }: PageQuery,
): FirstKeys {
  const compare = descending ? (one: Key, other: Key) => compareKeys(other, one) : compareKeys;
  const marker: Key | undefined = after && [orderValue(type, sortField, after.sortValue), after.id];
  // The map is keyed by id. So a row that moved during the scan counts once, at its last position.
  let byId = new Map<string, Key>();
  const sorted = () => [...byId.values()].sort(compare).slice(0, limit);
  return {
    add(keys) {
      for (const key of keys)
        if (marker === undefined || compare(key, marker) > 0) byId.set(key[1], key);
      if (byId.size > 2 * limit) byId = new Map(sorted().map((key) => [key[1], key]));
    },
    list: sorted,
  };
}
