import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  isBefore,
  START,
  type BatchWait,
  type Position,
  type RecordPage,
  type SealedPage,
} from '../../domain/audit/trail.ts';
import { ServiceError } from '../../domain/model/errors.ts';
import { runJob, type Job } from '../../domain/scheduling/job.ts';
import type { Sql } from '../sql/sql.ts';
import { readBatches, SELECT_BATCHES, storedBatch } from './batches.ts';
import { lastBatchOf, readHead } from './head.ts';
import { readRecords } from './read.ts';

/** How often a process with waiting requests looks for batches that other processes sealed. */
const LOOK_MS = 250;

const MAX_WAITING = { perCaller: 8, total: 200 };
const RETRY_AFTER_SECONDS = 5;

/** The size of a page. Waiting requests share it, so its memory does not grow with them. */
const PAGE = { limit: 500, maxBytes: 1024 * 1024 };

/** The sealed records in the order of the trail, for callers that follow it. */
export interface Feed {
  after(from: Position | undefined): Promise<SealedPage>;
  next(number: number, wait: BatchWait): Promise<boolean>;
  /** Wakes the waiting requests if there is a new batch. */
  look(): void;
  /** Resolves all waiting requests, and later ones at once. */
  endWaiting(): void;
  close(): Promise<void>;
}

interface Waiter {
  readonly owner: string;
  readonly number: number;
  end(isSealed: boolean): void;
}

/**
 * Creates the feed of a process. A new batch costs one query for all waiting requests, and one read
 * of its records for all that continue at the same position.
 */
export function createFeed(sql: Sql, intervalMs = LOOK_MS): Feed {
  const waiters = new Set<Waiter>();
  let shared: { readonly place: string; readonly page: Promise<RecordPage> } | undefined;
  let isEnding = false;
  const look = async (): Promise<void> => {
    const number = (await lastBatchOf(sql))?.number ?? 0;
    for (const waiter of [...waiters]) {
      if (waiter.number >= number) continue;
      waiter.end(true);
      await nextTurn(); // each writes a response, and other requests need not wait for all
    }
  };
  /** Runs only while requests wait, so that it does not wake an idle process. */
  let looking: Job | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  const startLooking = () => {
    looking ??= runJob({
      everyMs: Math.min(intervalMs, LOOK_MS),
      work: look,
      failed: () => undefined, // sealing, which uses the same database, reports it
    });
    looking.wake();
  };
  const endLooking = () => {
    ended = Promise.all([ended, looking?.close()]);
    looking = undefined;
  };

  /** Returns the records after a position. Sealed records never change, so requests share them. */
  const read = (from: Position, newest: Position): Promise<RecordPage> => {
    const place = `${from.batch}-${from.seq} ${newest.batch}`;
    if (shared?.place !== place) {
      const page = readRecords(sql, { ...PAGE, filters: {}, first: 'oldest', from });
      const own = { place, page };
      shared = own;
      page.catch(() => {
        if (shared === own) shared = undefined;
      });
    }
    return shared.page;
  };

  return {
    async after(from) {
      const newest = await newestPosition(sql);
      const { records, next } =
        from === undefined ? { records: [], next: undefined } : await read(from, newest);
      const last = positionOf(records.at(-1)) ?? newest;
      // Read last: a purge before it may have deleted records of the page.
      const oldest = await oldestPosition(sql);
      const end = next ?? (isBefore(last, newest) ? newest : last);
      return { records, end, isLast: next === undefined, oldest, newest };
    },
    async next(number, { owner, ms, signal }) {
      if (isEnding || signal.aborted || ms <= 0) return false;
      const own = [...waiters].filter((waiter) => waiter.owner === owner).length;
      if (own >= MAX_WAITING.perCaller)
        throw new ServiceError(
          'too_many_requests',
          `${own} of your requests already wait for events. Wait for the end of one of them`,
          { retryAfterSeconds: RETRY_AFTER_SECONDS },
        );
      if (waiters.size >= MAX_WAITING.total)
        throw new ServiceError(
          'unavailable',
          'Too many requests wait for events. Try again later.',
          { retryAfterSeconds: RETRY_AFTER_SECONDS },
        );
      return new Promise((resolve) => {
        const end = (isSealed: boolean) => {
          clearTimeout(deadline);
          signal.removeEventListener('abort', abort);
          waiters.delete(waiter);
          if (waiters.size === 0) endLooking();
          resolve(isSealed);
        };
        const abort = () => end(false);
        const deadline = setTimeout(abort, ms);
        const waiter = { owner, number, end };
        signal.addEventListener('abort', abort);
        waiters.add(waiter);
        startLooking(); // a batch may have been sealed since the caller read
      });
    },
    look: () => looking?.wake(),
    endWaiting() {
      isEnding = true;
      for (const waiter of [...waiters]) waiter.end(false);
    },
    async close() {
      endLooking();
      await ended;
    },
  };
}

function positionOf(record: { batch: number | null; seq: number } | undefined) {
  return record?.batch == null ? undefined : { batch: record.batch, seq: record.seq };
}

async function newestPosition(sql: Sql): Promise<Position> {
  const [last] = await readBatches(sql, { first: 'newest', from: undefined, limit: 1 });
  return last === undefined ? START : { batch: last.number, seq: last.last_seq };
}

/** Returns the end of the last batch whose records retention has deleted. */
async function oldestPosition(sql: Sql): Promise<Position> {
  const purged = (await readHead(sql))?.purged ?? 0;
  if (purged === 0) return START;
  const row = await sql.one(`${SELECT_BATCHES}number = ?`, [purged]);
  return { batch: purged, seq: row === undefined ? 0 : storedBatch(row).last_seq };
}
