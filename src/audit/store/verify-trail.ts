import { NO_PREVIOUS, TRAIL_EVENTS, type AuditBatch } from '../chain.ts';
import { ServiceError } from '../../core/errors.ts';
import type { TrailProblem, TrailVerification } from '../responses.ts';
import type { AuditKey } from '../../core/keyring.ts';
import { earlier } from '../../core/text/timestamps.ts';
import { messageOf } from '../../net/faults.ts';
import type { Sql } from '../../sql/sql.ts';
import { SELECT_BATCHES, storedBatch } from './batches.ts';
import { checkBatches } from './verify-batches.ts';
import {
  eventsOf,
  isGenuine,
  lastBatchOf,
  MAX_NUMBER,
  readHead,
  trustedHead,
  type StoredHead,
} from './head.ts';

const PART = { batches: 1000, records: 20_000 };

const STRAYS_PER_READ = 5000;

const SEAL_MS = 60_000;

const NO_COUNTS = { batches: 0, records: 0, purged: 0, without_mac: 0, unchecked: 0 };

interface TrailSource {
  readonly sql: Sql;
  /** Returns the key of the trail, or undefined without encryption. */
  key(): AuditKey | undefined;
  now(): string;
}

/**
 * Verifies the whole trail, and yields the result of each part: the batches up to the head, then
 * the records outside batches. Only the last part has a `head`. A value that no service writes,
 * such as a number beyond 2^53, is a problem too. Throws `unavailable` if the database fails.
 */
export async function* verifyTrail(source: TrailSource): AsyncGenerator<TrailVerification> {
  try {
    yield* verifyParts(source);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const problem = `The trail has a value that the service never writes, so its verification stopped: ${messageOf(error)}.`;
    yield {
      ...NO_COUNTS,
      problems: [{ batch: null, problem }],
      head: { number: 0, hash: NO_PREVIOUS, retention_days: null, events: [] },
    };
  }
}

async function* verifyParts(source: TrailSource): AsyncGenerator<TrailVerification> {
  const { sql } = source;
  const key = source.key();
  const stored = await readHead(sql);
  const head = trustedHead(stored, key);
  const end = isGenuine(stored, key) ? head : ((await lastBatchOf(sql)) ?? head);
  const notes = headProblems(stored, key);
  yield {
    ...NO_COUNTS,
    unchecked: eventsOf(head).filter(({ event }) => TRAIL_EVENTS[event].result === 'unchecked')
      .length,
    problems: notes,
  };
  let last = { number: 0, hash: NO_PREVIOUS };
  for (let after = 0; ;) {
    const batches = await nextBatches(sql, after, end.number);
    if (batches.length === 0) break;
    const result = await checkBatches(sql, key, head, batches);
    const problems: TrailProblem[] = [];
    for (const batch of batches) {
      problems.push(...linkProblems(last, batch));
      last = batch;
    }
    yield { ...result, problems: inOrder([...problems, ...result.problems]) };
    after = last.number;
  }
  const problems: TrailProblem[] = [];
  if (last.number < end.number)
    problems.push({ batch: last.number + 1, problem: missing(last.number + 1, end.number) });
  else if (last.hash !== end.hash)
    problems.push({ batch: last.number, problem: 'The hash differs from the hash in the head.' });
  problems.push(...(await batchesOutside(sql, key)));
  yield { ...NO_COUNTS, problems };
  yield* strayRecords(sql, head.purged);
  const { number, hash, retention_days } = head;
  yield {
    ...NO_COUNTS,
    problems: await lateRecords(sql, source.now()),
    head: { number, hash, retention_days, events: eventsOf(head) },
  };
}

async function nextBatches(sql: Sql, after: number, end: number): Promise<AuditBatch[]> {
  const rows = await sql.all(
    `${SELECT_BATCHES}number > ? AND number <= ? ORDER BY number LIMIT ?`,
    [after, end, PART.batches],
  );
  let records = 0;
  const over = rows.findIndex((row) => (records += Number(row.count)) > PART.records);
  return rows.slice(0, over === -1 ? undefined : Math.max(1, over)).map(storedBatch);
}

function headProblems(head: StoredHead | undefined, key: AuditKey | undefined): TrailProblem[] {
  if (head === undefined) return [{ batch: null, problem: 'The head of the trail is missing.' }];
  if (!isGenuine(head, key))
    return [{ batch: null, problem: 'The MAC of the head of the trail is wrong.' }];
  return eventsOf(head).flatMap(({ event, at, batch }) =>
    TRAIL_EVENTS[event].result === 'problem'
      ? [{ batch, problem: `${TRAIL_EVENTS[event].text} It was found at ${at}.` }]
      : [],
  );
}

function linkProblems(
  last: Pick<AuditBatch, 'number' | 'hash'>,
  batch: AuditBatch,
): TrailProblem[] {
  const { number, previous } = batch;
  const expected = last.number + 1;
  if (number !== expected) return [{ batch: expected, problem: missing(expected, number - 1) }];
  return previous === last.hash
    ? []
    : [{ batch: number, problem: 'The previous hash is not the hash of the preceding batch.' }];
}

function missing(first: number, last: number): string {
  return first === last
    ? 'The batch is missing.'
    : `The batch and all batches up to ${last} are missing.`;
}

function inOrder(problems: readonly TrailProblem[]): TrailProblem[] {
  return problems.toSorted((one, other) => (one.batch ?? 0) - (other.batch ?? 0));
}

/** Returns the problems with batches before the first and after the last. */
async function batchesOutside(sql: Sql, key: AuditKey | undefined): Promise<TrailProblem[]> {
  // Read the last batch first, because the service may seal batches meanwhile.
  const last = (await lastBatchOf(sql))?.number ?? 0;
  const head = await readHead(sql);
  const outside = await sql.one(
    'SELECT count(*) AS count FROM audit_batches WHERE number < 1 OR number > ?',
    [MAX_NUMBER],
  );
  return [
    ...(Number(outside?.count) > 0
      ? [
          {
            batch: null,
            problem: `Batches with a number that the service never gives: ${Number(outside?.count)}.`,
          },
        ]
      : []),
    ...(isGenuine(head, key) && last > head.number
      ? [{ batch: last, problem: 'The batch follows the end of the trail.' }]
      : []),
  ];
}

/** Searches for records that are not part of the batch that they name. */
async function* strayRecords(sql: Sql, purged: number): AsyncGenerator<TrailVerification> {
  const outside = await sql.one(
    'SELECT count(*) AS count FROM audit_records WHERE seq <= 0 OR seq > ?',
    [Number.MAX_SAFE_INTEGER],
  );
  if (Number(outside?.count) > 0)
    yield {
      ...NO_COUNTS,
      problems: [
        {
          batch: null,
          problem: `Records with a number that the service never gives: ${Number(outside?.count)}.`,
        },
      ],
    };
  const part = `SELECT seq, batch FROM audit_records WHERE seq > ? AND seq <= ${Number.MAX_SAFE_INTEGER} ORDER BY seq LIMIT ?`;
  for (let position = 0; ;) {
    const last = await sql.one(`SELECT max(seq) AS seq FROM (${part}) AS part`, [
      position,
      STRAYS_PER_READ,
    ]);
    if (last?.seq == null) return;
    const stray = await sql.one(
      `SELECT part.seq AS seq, part.batch AS batch FROM (${part}) AS part LEFT JOIN audit_batches ON number = batch WHERE batch IS NOT NULL AND (number IS NULL OR number < 1 OR seq < first_seq OR seq > last_seq OR batch <= ?) ORDER BY seq LIMIT 1`,
      [position, STRAYS_PER_READ, purged],
    );
    const problems =
      stray === undefined
        ? []
        : [
            {
              batch: Number(stray.batch),
              problem: `Record ${Number(stray.seq)} names this batch, but is not part of it.`,
            },
          ];
    yield { ...NO_COUNTS, problems };
    position = Number(last.seq);
  }
}

/** Returns a problem if a record is still unsealed after `SEAL_MS`. */
async function lateRecords(sql: Sql, now: string): Promise<TrailProblem[]> {
  const first = await sql.one(
    'SELECT at FROM audit_records WHERE batch IS NULL AND seq > 0 ORDER BY seq LIMIT 1',
    [],
  );
  if (first === undefined || String(first.at) >= earlier(now, SEAL_MS)) return [];
  const row = await sql.one('SELECT count(*) AS count FROM audit_records WHERE batch IS NULL', []);
  return [
    {
      batch: null,
      problem: `Unsealed records: ${Number(row?.count)}, the oldest from ${String(first.at)}. The service seals records within ${SEAL_MS / 1000} s.`,
    },
  ];
}
