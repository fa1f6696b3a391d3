import {
  ENTRY_COLUMNS,
  shownRecord,
  type AuditRecord,
  type StoredRecord,
} from '../../domain/audit/record.ts';
import {
  RECORD_FILTERS,
  type Position,
  type RecordFilters,
  type RecordPage,
  type RecordQuery,
} from '../../domain/audit/trail.ts';
import { firstBatch, rangeOf, SELECT_BATCHES, storedBatch } from './batches.ts';
import { lastBatchOf } from './head.ts';
import { newSlicer } from '../sql/reader.ts';
import type { Sql, SqlCondition, SqlRow, SqlValue } from '../sql/sql.ts';

const RECORD_COLUMNS = ['seq', ...ENTRY_COLUMNS, 'batch'].join(', ');
/** The beginning of a query for records. Callers append the conditions. */
export const SELECT_RECORDS = `SELECT ${RECORD_COLUMNS} FROM audit_records WHERE `;

/**
 * Selects the records of two batches and of all batches between them. The `+` prevents SQLite from
 * using the index by batch. The primary key finds a range of `seq` faster.
 */
export const IN_BATCHES = '+batch >= ? AND +batch <= ?';

/**
 * Selects the records of `IN_BATCHES` with one index search for each batch, for queries by
 * resource.
 */
const IN_EACH_BATCH =
  'batch IN (SELECT number FROM audit_batches WHERE number >= ? AND number <= ?)';

const MAX_ROWS = 250;

/** The range of `seq` of the records that were not sealed when `?` was the last batch. */
const UNSEALED_RANGE = `SELECT min(seq) AS lowest, (SELECT max(seq) FROM audit_records WHERE seq <= ${Number.MAX_SAFE_INTEGER}) AS highest
  FROM (SELECT min(seq) AS seq FROM audit_records WHERE batch IS NULL AND seq > 0 AND seq <= ${Number.MAX_SAFE_INTEGER}
    UNION ALL SELECT min(first_seq) FROM audit_batches WHERE number > ?) AS lowest`;

const UNSEALED_PER_STEP = 5000;

const BATCHES_PER_STEP = 1000;

/** The maximum number of steps for one page. This limit bounds the time of a request. */
const STEPS_PER_PAGE = 100;

const MAX_SEQ = Number.MAX_SAFE_INTEGER;

/**
 * Returns a page of records. All pages together contain every record once, even if other processes
 * write meanwhile.
 */
export async function readRecords(sql: Sql, query: RecordQuery): Promise<RecordPage> {
  const { from, first, filters } = query;
  const page = createPage(query);
  const start = first === 'newest' || from === undefined ? await firstBatch(sql, filters.after) : 0;
  if (first === 'oldest') return readSealed(sql, query, page, from ?? { batch: start, seq: 0 }, 0);
  const unsealed = from ?? {
    batch: (await lastBatchOf(sql))?.number ?? 0,
    seq: MAX_SEQ,
    unsealed: true,
  };
  if (unsealed.unsealed !== true) return readSealed(sql, query, page, unsealed, start);
  await readUnsealed(sql, query, page, unsealed);
  const last = page.records.at(-1);
  if (page.isFull() && last !== undefined)
    return {
      records: page.records,
      next: { batch: unsealed.batch, seq: last.seq, unsealed: true },
    };
  return readSealed(sql, query, page, { batch: unsealed.batch, seq: MAX_SEQ }, start);
}

/** A page while it is read. */
interface OpenPage {
  readonly records: AuditRecord[];
  /** Adds the next record, unless the page is full. */
  add(record: AuditRecord): void;
  isFull(): boolean;
  /** Returns how many rows to read next. */
  wanted(): number;
}

/** Creates a page that ends at a number of records, or before it has too many bytes as JSON. */
function createPage({ limit, maxBytes }: RecordQuery): OpenPage {
  const records: AuditRecord[] = [];
  let bytes = '[]'.length;
  let isFull = false;
  return {
    records,
    add(record) {
      if (isFull) return;
      bytes += Buffer.byteLength(JSON.stringify(record)) + ','.length;
      isFull = bytes > maxBytes && records.length > 0;
      if (isFull) return;
      records.push(record);
      isFull = records.length === limit;
    },
    isFull: () => isFull,
    wanted: () => Math.min(MAX_ROWS, limit - records.length),
  };
}

/**
 * Adds the newest records that were not sealed when the list began. Other processes may have sealed
 * some of these records in batches after `batch`.
 */
async function readUnsealed(
  sql: Sql,
  { filters }: RecordQuery,
  page: OpenPage,
  { batch, seq }: Position,
): Promise<void> {
  const { lowest, highest } = (await sql.one(UNSEALED_RANGE, [batch])) ?? {};
  if (lowest == null) return;
  const condition = conditionOf(filters);
  const slicer = newSlicer();
  for (let end = Math.min(seq, Number(highest) + 1); end > Number(lowest) && !page.isFull();) {
    if (slicer.isOver()) await slicer.next();
    const start = Math.max(Number(lowest), end - UNSEALED_PER_STEP);
    const wanted = page.wanted();
    const rows = await sql.all(
      `${SELECT_RECORDS}seq >= ? AND seq < ? AND (batch IS NULL OR batch > ?)${condition.text} ORDER BY seq DESC LIMIT ?`,
      [start, end, batch, ...condition.parameters, wanted],
      'once',
    );
    const found = rows.map(storedRecord).map(shown);
    for (const record of found) page.add(record);
    end = found.length === wanted ? (found.at(-1)?.seq ?? start) : start;
  }
}

/** Adds sealed records after `from`, from the batch `start` and later batches, and ends the page. */
async function readSealed(
  sql: Sql,
  { filters, first }: RecordQuery,
  page: OpenPage,
  from: Position,
  start: number,
): Promise<RecordPage> {
  const { sign, order } =
    first === 'oldest'
      ? ({ sign: '>', order: 'ASC' } as const)
      : ({ sign: '<', order: 'DESC' } as const);
  const condition = conditionOf(filters);
  const { records } = page;
  const slicer = newSlicer();
  let position = from;
  for (let step = 0; step < STEPS_PER_PAGE; step += 1) {
    if (slicer.isOver()) await slicer.next();
    const rows = await sql.all(
      `${SELECT_BATCHES}number ${sign}= ? AND number >= ? ORDER BY number ${order} LIMIT ?`,
      [position.batch, start, BATCHES_PER_STEP],
    );
    const batches = rows.map(storedBatch);
    const wanted = page.wanted();
    const range = rangeOf(batches, stepSize(filters, wanted));
    if (range === undefined) return { records, next: undefined };
    const firstSeq = first === 'oldest' ? 0 : MAX_SEQ;
    const edgeSeq = range.edge === position.batch ? position.seq : firstSeq;
    const found = await sql.all(
      `${SELECT_RECORDS}${filters.resource_id === undefined ? IN_BATCHES : IN_EACH_BATCH} AND seq >= ? AND seq <= ? AND (batch ${sign} ? OR seq ${sign} ?)${condition.text} ORDER BY ${range.edge === range.end ? '' : `batch ${order}, `}seq ${order} LIMIT ?`,
      [
        Math.min(range.edge, range.end),
        Math.max(range.edge, range.end),
        range.lowestSeq,
        range.highestSeq,
        range.edge,
        edgeSeq,
        ...condition.parameters,
        wanted,
      ],
      'once',
    );
    const before = records.length;
    for (const row of found) page.add(shown(storedRecord(row)));
    const last = records.at(-1);
    if (records.length > before && last !== undefined)
      position = { batch: last.batch ?? range.edge, seq: last.seq };
    if (page.isFull()) return { records, next: position };
    if (found.length === wanted) continue;
    if (batches.length < BATCHES_PER_STEP && batches.at(-1)?.number === range.end)
      return { records, next: undefined };
    position =
      first === 'oldest'
        ? { batch: range.end + 1, seq: 0 }
        : { batch: range.end - 1, seq: MAX_SEQ };
  }
  return { records, next: position };
}

/**
 * Returns the number of records that one step searches. A step takes a few milliseconds. Without
 * filters, the list contains every record of the step. An index finds the records of a
 * `resource_id`.
 */
function stepSize(filters: RecordFilters, wanted: number): number {
  if (filters.resource_id !== undefined) return 100_000;
  return Object.keys(filters).length === 0 ? wanted : 2000;
}

/** Converts a row to a record in place. PostgreSQL returns large integers as text. */
export function storedRecord(row: SqlRow): StoredRecord {
  row.seq = Number(row.seq);
  row.batch = numberOrNull(row.batch);
  return row as unknown as StoredRecord; // the migration defines these columns
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}

/**
 * Returns a record as responses show it. If the JSON of the record was damaged in the database, the
 * detail contains only `damaged`.
 */
function shown(stored: StoredRecord): AuditRecord {
  try {
    return shownRecord(stored);
  } catch {
    return { ...stored, roles: [], detail: { damaged: true } };
  }
}

/** Returns the SQL conditions of filters, each with ` AND ` before it. */
function conditionOf(filters: RecordFilters): SqlCondition {
  const texts: string[] = [];
  const parameters: SqlValue[] = [];
  const add = (text: string, value: string | undefined) => {
    if (value === undefined) return;
    texts.push(` AND ${text}`);
    parameters.push(value);
  };
  for (const name of RECORD_FILTERS) {
    const value = filters[name];
    if (name === 'action' && value?.includes('*') === true)
      add("action LIKE ? ESCAPE '\\'", likePattern(value));
    else if (name === 'actor_name') add('lower(actor_name) = lower(?)', value);
    else if (name === 'resource_name')
      add(`lower(rtrim(resource_name, '.')) = lower(rtrim(?, '.'))`, value);
    else add(`${name} = ?`, value);
  }
  add('at >= ?', filters.after);
  add('at < ?', filters.before);
  return { text: texts.join(''), parameters };
}

function likePattern(pattern: string): string {
  return pattern
    .toLowerCase()
    .replaceAll(/[%_\\]/g, '\\$&')
    .replaceAll(/\*+/g, '%');
}
