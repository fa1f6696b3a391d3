import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { performance } from 'node:perf_hooks';
import type { PageQuery } from '../../../domain/model/query.ts';
import type { ResourceType } from '../../../domain/model/resource.ts';
import { resourcesPassing } from '../../sql/questions.ts';
import { readerOn } from '../../sql/reader.ts';
import type { SqlRow } from '../../sql/sql.ts';
import { tablesIn } from '../../sql/table.ts';
import { dialect } from '../connection/dialect.ts';
import { firstKeys } from './keys.ts';
import { scanStepsOn, translated, type RowsText, type Scanned } from './scan-steps.ts';
import { rowOf, sqlOn } from '../connection/statements.ts';
import { positionOf, walkOf, type Position } from './walk.ts';

/** What a scan found: its rows as JSON texts, each a list of lists of values in the order of the columns. */
export interface Found {
  readonly columns: readonly string[];
  readonly texts: readonly string[];
  readonly more: boolean;
  readonly total: number | undefined;
}

/** Reads a page step by step, with `pause` between two steps. Throws what `pause` throws, and `unavailable`. */
export type Scan = (type: ResourceType, query: PageQuery, pause: Pause) => Promise<Found>;

type Pause = () => Promise<void>;

/** A step reads so many rows that it takes a few milliseconds. The first is short: many pages are full early. */
const STEP_ROWS = { first: 512, least: 64, most: 16_384 };
const STEP_MS = { least: 4, most: 12 };

/** How many whole rows are read at a time. */
const ROWS_AT_A_TIME = 100;

/** Makes the scans on `connection`, which nothing else uses. */
export function scanOn(connection: DatabaseSyncInstance, path: string): Scan {
  const steps = scanStepsOn(connection, path);
  const tableFor = tablesIn(dialect);
  const reader = readerOn(sqlOn(connection, translated(path)), tableFor, dialect);

  /** Those of some rows that pass the computed filters. */
  const passing = async ({ type, query }: Scanned, rows: RowsText): Promise<unknown[][]> => {
    const table = tableFor(type);
    const lists = JSON.parse(rows.text) as unknown[][];
    const passed = await resourcesPassing(
      type,
      query,
      lists.map((values) => table.decode(rowOf(table.columns, values))),
      reader,
    );
    const ids = new Set<unknown>(passed.map(({ id }) => id));
    return lists.filter(([id]) => ids.has(id));
  };

  /** The page, read along an index that has its order. */
  const readInOrder = async (scanned: Scanned, pause: Pause): Promise<Found> => {
    const { type, query, walk } = scanned;
    const { columns } = tableFor(type);
    const texts: string[] = [];
    let [count, length] = [0, 0];
    const isFull = () => count >= query.limit || length > longest(query);
    await walkThrough(scanned, pause, async (from, to) => {
      const most = Math.min(query.questions === undefined ? query.limit - count : Infinity, ROWS_AT_A_TIME);
      const found = steps.firstRows(scanned, columns, from, to, most);
      if (found.count === 0) return to;
      const rows = query.questions === undefined ? found : textOf((await passing(scanned, found)).slice(0, query.limit - count));
      if (rows.count > 0) texts.push(rows.text);
      count += rows.count;
      length += rows.count > 0 ? rows.text.length : 0;
      if (isFull()) return undefined;
      if (found.count < most) return to;
      const last = rowOf(columns, (JSON.parse(found.text) as unknown[][]).at(-1) ?? []);
      return positionOf(walk.columns, last[query.sortField], last.id as string);
    });
    return { columns, texts, more: isFull(), total: undefined };
  };

  /** The ids of the page, found among all rows, and how many of those meet the conditions. */
  const findAmongAll = async (scanned: Scanned, pause: Pause): Promise<{ ids: string[]; total: number }> => {
    const { type, query } = scanned;
    const first = firstKeys(query);
    let total = 0;
    await walkThrough(scanned, pause, async (from, to) => {
      if (query.limit === 0) {
        total += steps.count(scanned, from, to);
        return to;
      }
      const keys = steps.keys(scanned, from, to);
      if (query.questions === undefined) {
        total += keys.length;
        first.add(keys);
        return to;
      }
      for (const some of partsOf(keys)) {
        const ids = some.map(([, id]) => id);
        const passed = new Set<unknown>((await passing(scanned, steps.rows(scanned, tableFor(type).columns, ids))).map(([id]) => id));
        first.add(some.filter(([, id]) => passed.has(id)));
        await pause();
      }
      return to;
    });
    return { ids: first.list().map(([, id]) => id), total };
  };

  /** The page, found among all rows, and their number. */
  const readAmongAll = async (scanned: Scanned, pause: Pause): Promise<Found> => {
    const { type, query } = scanned;
    const { columns } = tableFor(type);
    const { ids, total } = await findAmongAll(scanned, pause);
    const texts: string[] = [];
    let [read, count, length] = [0, 0, 0];
    for (const some of partsOf(ids)) {
      if (length > longest(query)) break;
      await pause();
      const rows = steps.rows(scanned, columns, some);
      texts.push(rows.text);
      read += some.length;
      count += rows.count;
      length += rows.text.length;
    }
    const more = read < ids.length || (ids.length === query.limit && query.limit > 0);
    // Rows that were removed meanwhile are left out. Were none left, no caller could ask for those that follow.
    if (more && count === 0) return readAmongAll(scanned, pause);
    return { columns, texts, more, total: query.count === true ? total : undefined };
  };

  /** Walks step by step: `visit` returns where the next step begins, or undefined to end. */
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

/** The rows of a JSON text that a scan found. */
export function rowsOf(columns: readonly string[], text: string): SqlRow[] {
  return (JSON.parse(text) as unknown[][]).map((values) => rowOf(columns, values));
}

function textOf(lists: readonly unknown[][]): RowsText {
  return { count: lists.length, text: JSON.stringify(lists) };
}

/** The length after which a page ends. Up to half of a text can be backslashes, for JSON in JSON, that the page does not have. */
function longest({ maxBytes = Infinity }: PageQuery): number {
  return 2 * maxBytes;
}

function partsOf<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / ROWS_AT_A_TIME) }, (_, part) => list.slice(part * ROWS_AT_A_TIME, (part + 1) * ROWS_AT_A_TIME));
}
