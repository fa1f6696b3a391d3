import {
  ENTRY_COLUMNS,
  shownRecord,
  type AuditRecord,
  type StoredRecord,
} from '../../core/audit-record.ts';
import {
  RECORD_FILTERS,
  type Position,
  type RecordFilters,
  type RecordPage,
  type RecordQuery,
} from '../trail.ts';
import { firstBatch, rangeOf, SELECT_BATCHES, storedBatch, type Range } from './batches.ts';
import { lastBatchOf } from './head.ts';
import { newSlicer } from '../../net/slices.ts';
import { joined, type Fragment } from '../../sql/fragments.ts';
import type { Sql, SqlRow } from '../../sql/sql.ts';

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

/** How a list goes through the sealed records. */
interface Direction {
  readonly after: '>' | '<';
  readonly order: 'ASC' | 'DESC';
  /** Returns the position before the first record of a batch. */
  begin(batch: number): Position;
  readonly step: 1 | -1;
}

const DIRECTIONS: Readonly<Record<RecordQuery['first'], Direction>> = {
  oldest: { after: '>', order: 'ASC', begin: (batch) => ({ batch, seq: 0 }), step: 1 },
  newest: { after: '<', order: 'DESC', begin: (batch) => ({ batch, seq: MAX_SEQ }), step: -1 },
};

/**
 * Returns a page of records. All pages together contain every record once, even if other processes
 * write meanwhile.
 */
export async function readRecords(sql: Sql, query: RecordQuery): Promise<RecordPage> {
  const { first, filters } = query;
  const page = createPage(query);
  if (first === 'oldest') {
    const from = query.from ?? { batch: await firstBatch(sql, filters.after), seq: 0 };
    return readSealed(sql, query, page, from, 0);
  }
  const lowestBatch = await firstBatch(sql, filters.after);
  const from = query.from ?? {
    batch: (await lastBatchOf(sql))?.number ?? 0,
    seq: MAX_SEQ,
    unsealed: true,
  };
  if (from.unsealed !== true) return readSealed(sql, query, page, from, lowestBatch);
  await readUnsealed(sql, query, page, from);
  const last = page.records.at(-1);
  if (page.isFull() && last !== undefined)
    return { records: page.records, next: { ...from, seq: last.seq } };
  return readSealed(sql, query, page, { batch: from.batch, seq: MAX_SEQ }, lowestBatch);
}

interface OpenPage {
  readonly records: AuditRecord[];
  /** Adds the next record. Returns false if the page was full already, or has no room for it. */
  add(record: AuditRecord): boolean;
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
      if (isFull) return false;
      bytes += Buffer.byteLength(JSON.stringify(record)) + ','.length;
      isFull = bytes > maxBytes && records.length > 0;
      if (isFull) return false;
      records.push(record);
      isFull = records.length === limit;
      return true;
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
  const slicer = newSlicer();
  for (let end = Math.min(seq, Number(highest) + 1); end > Number(lowest) && !page.isFull();) {
    if (slicer.isOver()) await slicer.next();
    const start = Math.max(Number(lowest), end - UNSEALED_PER_STEP);
    const wanted = page.wanted();
    const conditions: Fragment[] = [
      ['seq >= ? AND seq < ?', start, end],
      ['(batch IS NULL OR batch > ?)', batch],
      ...conditionsOf(filters),
    ];
    const { text, parameters } = joined(conditions, ' AND ');
    const rows = await sql.all(
      `${SELECT_RECORDS}${text} ORDER BY seq DESC LIMIT ?`,
      [...parameters, wanted],
      'once',
    );
    const records = rows.map(storedRecord).map(shown);
    for (const record of records) page.add(record);
    end = records.length === wanted ? (records.at(-1)?.seq ?? start) : start;
  }
}

/** Adds sealed records after `from`, of the batch `lowestBatch` and later ones, and ends the page. */
async function readSealed(
  sql: Sql,
  query: RecordQuery,
  page: OpenPage,
  from: Position,
  lowestBatch: number,
): Promise<RecordPage> {
  const { begin, step } = DIRECTIONS[query.first];
  const { records } = page;
  const slicer = newSlicer();
  let position = from;
  for (let steps = 0; steps < STEPS_PER_PAGE; steps += 1) {
    if (slicer.isOver()) await slicer.next();
    const wanted = page.wanted();
    const { range, isLast } = await nextRange(sql, query, position, lowestBatch, wanted);
    if (range === undefined) return { records, next: undefined };
    const rows = await readRange(sql, query, position, range, wanted);
    for (const row of rows) {
      const record = shown(storedRecord(row));
      if (page.add(record)) position = { batch: record.batch ?? range.edge, seq: record.seq };
    }
    if (page.isFull()) return { records, next: position };
    if (rows.length === wanted) continue;
    if (isLast) return { records, next: undefined };
    position = begin(range.end + step);
  }
  return { records, next: position };
}

/** Returns the batches that the next step searches, if any, and whether no others follow. */
async function nextRange(
  sql: Sql,
  { first, filters }: RecordQuery,
  position: Position,
  lowestBatch: number,
  wanted: number,
): Promise<{ readonly range: Range | undefined; readonly isLast: boolean }> {
  const { after, order } = DIRECTIONS[first];
  const rows = await sql.all(
    `${SELECT_BATCHES}number ${after}= ? AND number >= ? ORDER BY number ${order} LIMIT ?`,
    [position.batch, lowestBatch, BATCHES_PER_STEP],
  );
  const batches = rows.map(storedBatch);
  const range = rangeOf(batches, stepSize(filters, wanted));
  const isLast = batches.length < BATCHES_PER_STEP && batches.at(-1)?.number === range?.end;
  return { range, isLast };
}

/** Reads at most `wanted` records of consecutive batches that come after a position. */
function readRange(
  sql: Sql,
  { first, filters }: RecordQuery,
  position: Position,
  { edge, end, lowestSeq, highestSeq }: Range,
  wanted: number,
): Promise<SqlRow[]> {
  const { after, order, begin } = DIRECTIONS[first];
  const { seq } = edge === position.batch ? position : begin(edge);
  const inBatches = filters.resource_id === undefined ? IN_BATCHES : IN_EACH_BATCH;
  const conditions: Fragment[] = [
    [inBatches, Math.min(edge, end), Math.max(edge, end)],
    ['seq >= ? AND seq <= ?', lowestSeq, highestSeq],
    [`(batch ${after} ? OR seq ${after} ?)`, edge, seq],
    ...conditionsOf(filters),
  ];
  const { text, parameters } = joined(conditions, ' AND ');
  const batchOrder = edge === end ? '' : `batch ${order}, `;
  return sql.all(
    `${SELECT_RECORDS}${text} ORDER BY ${batchOrder}seq ${order} LIMIT ?`,
    [...parameters, wanted],
    'once',
  );
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

function conditionsOf(filters: RecordFilters): Fragment[] {
  const named = RECORD_FILTERS.flatMap((name): Fragment[] => {
    const value = filters[name];
    return value === undefined ? [] : [filterOf(name, value)];
  });
  const { after, before } = filters;
  return [
    ...named,
    ...(after === undefined ? [] : [['at >= ?', after] as const]),
    ...(before === undefined ? [] : [['at < ?', before] as const]),
  ];
}

function filterOf(name: (typeof RECORD_FILTERS)[number], value: string): Fragment {
  if (name === 'actor_name') return ['lower(actor_name) = lower(?)', value];
  if (name === 'resource_name')
    return [`lower(rtrim(resource_name, '.')) = lower(rtrim(?, '.'))`, value];
  if (name === 'action' && value.includes('*'))
    return ["action LIKE ? ESCAPE '\\'", likePattern(value)];
  return [`${name} = ?`, value];
}

function likePattern(pattern: string): string {
  return pattern
    .toLowerCase()
    .replaceAll(/[%_\\]/g, '\\$&')
    .replaceAll(/\*+/g, '%');
}
