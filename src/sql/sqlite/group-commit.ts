import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { performance } from 'node:perf_hooks';
import { asError, ServiceError, isUnavailable } from '../../core/errors.ts';
import type { DatabaseObserver, Sql } from '../sql.ts';
import { LOCK_WAIT_MS, pauseForLock, retrying } from './connection/busy.ts';
import { isBusy, translate } from './connection/sqlite-faults.ts';
import { sqlOn } from './connection/statements.ts';

const MAX_BATCH = 500;

/**
 * The maximum time that the first write of a transaction waits for other writes. A turn of the
 * event loop may be long while the service reads lists.
 */
const MAX_WAIT_MS = 5;

/** Four full transactions. The limit bounds the memory that waiting writes use. */
const MAX_WAITING = 4 * MAX_BATCH;

const RETRY_AFTER_SECONDS = 5;

interface GroupCommit {
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Refuses further writes and waits for writes in progress. */
  close(): Promise<void>;
}

/**
 * Functions that run before and after each commit. If either function throws, all writes of the
 * transaction fail with that error.
 */
interface CommitHooks {
  beforeCommit(): void;
  /** Runs after the commit, before any caller has the result. */
  afterCommit(): void;
}

interface Pending {
  /** The time at which the write arrived, in milliseconds of a monotonic clock. */
  readonly since: number;
  run(sql: Sql): Promise<void>;
  /** Reports the result of `run`, or the failure of the whole transaction. */
  finish(failure?: Error): void;
  refused: boolean;
}

/**
 * Creates a queue in which concurrent writes share one transaction, with one fsync. The queue
 * collects writes until a turn of the event loop brings no further write, for at most 5 ms. A
 * failed write does not affect the other writes. If the failed write changed rows, the queue rolls
 * back the transaction. Then the queue runs all writes of the transaction again, each in a
 * savepoint. No caller gets the result of a write before the commit has succeeded. While another
 * program holds the write lock of the database at `path`, each write waits for at most
 * `LOCK_WAIT_MS`.
 */
export function startGroupCommit(
  writer: DatabaseSyncInstance,
  path: string,
  observer: DatabaseObserver,
  hooks: CommitHooks,
): GroupCommit {
  const sql = sqlOn(writer, retrying(path));
  const beginning = writer.prepare('BEGIN IMMEDIATE');
  let waiting: Pending[] = [];
  let closed = false;
  let working: Promise<void> | undefined;
  let changes = 0;
  const counting: Sql = {
    ...sql,
    async run(text, parameters) {
      const rows = await sql.run(text, parameters);
      changes += 1;
      return rows;
    },
  };

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      await arrivals();
      if (!(await begin())) continue;
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      await commit(batch);
    }
    working = undefined;
  }

  /**
   * Waits while every turn of the event loop brings more writes, for at most `MAX_WAIT_MS`. Fewer
   * commits need less disk I/O.
   */
  async function arrivals(): Promise<void> {
    const until = performance.now() + MAX_WAIT_MS;
    let before: number;
    do {
      before = waiting.length;
      await new Promise((resume) => setImmediate(resume));
    } while (waiting.length > before && waiting.length < MAX_BATCH && performance.now() < until);
  }

  /**
   * Begins a transaction. Refuses writes that have waited longer than `LOCK_WAIT_MS`. Returns false
   * if no write is left.
   */
  async function begin(): Promise<boolean> {
    for (;;) {
      try {
        beginning.run();
        return true;
      } catch (error) {
        const latest = isBusy(error) ? performance.now() - LOCK_WAIT_MS : Infinity;
        const refused = waiting.filter(({ since }) => since <= latest);
        waiting = waiting.filter(({ since }) => since > latest);
        for (const pending of refused) pending.finish(translate(error, path));
      }
      if (waiting.length === 0) return false;
      await pauseForLock();
    }
  }

  async function commit(batch: Pending[]): Promise<void> {
    const began = performance.now();
    try {
      if (!(await runPlainly(batch))) {
        await sql.run('ROLLBACK', []);
        await sql.run('BEGIN IMMEDIATE', []);
        await runInSavepoints(batch);
      }
      hooks.beforeCommit();
      await sql.run('COMMIT', []);
      hooks.afterCommit();
    } catch (failure) {
      // after most faults there is no open transaction
      await sql.run('ROLLBACK', []).catch(() => undefined);
      for (const pending of batch) pending.finish(asError(failure));
      return;
    }
    observer.committed(batch.length, (performance.now() - began) / 1000);
    for (const pending of batch) pending.finish();
  }

  /** Runs the writes in order. Returns false as soon as a write that changed rows fails. */
  async function runPlainly(batch: Pending[]): Promise<boolean> {
    for (const pending of batch) {
      changes = 0;
      await pending.run(counting);
      if (pending.refused && changes > 0) return false;
    }
    return true;
  }

  async function runInSavepoints(batch: Pending[]): Promise<void> {
    for (const pending of batch) {
      await sql.run('SAVEPOINT write', []);
      await pending.run(sql);
      if (pending.refused) await sql.run('ROLLBACK TO write', []);
      await sql.run('RELEASE write', []);
    }
  }

  return {
    write<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
      if (closed) return Promise.reject(refusal('The service is stopping'));
      if (waiting.length >= MAX_WAITING)
        return Promise.reject(
          refusal(`More than ${MAX_WAITING} changes wait for the database. Repeat the request`),
        );
      return new Promise<T>((resolve, reject) => {
        let report: () => void;
        const pending: Pending = {
          since: performance.now(),
          refused: false,
          async run(on) {
            try {
              const value = await work(on);
              pending.refused = false;
              report = () => resolve(value);
            } catch (error) {
              if (isUnavailable(error)) throw error;
              pending.refused = true;
              report = () => reject(error);
            }
          },
          finish: (failure) => (failure === undefined ? report() : reject(failure)),
        };
        waiting.push(pending);
        working ??= drain();
      });
    },
    async close() {
      closed = true;
      await working;
    },
  };
}

function refusal(message: string): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
