import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { performance } from 'node:perf_hooks';
import { ServiceError } from '../../domain/model/errors.ts';
import type { DatabaseObserver, Sql } from '../sql/sql.ts';
import { LOCK_WAIT_MS, pauseForLock, retrying } from './connection/busy.ts';
import { isBusy, translate } from './connection/faults.ts';
import { sqlOn } from './connection/statements.ts';

/** The most writes that share one transaction. */
const MAX_BATCH = 500;

/** How long the first write of a transaction waits for others at most: turns are long where lists are read as well. */
const MAX_WAIT_MS = 5;

/** The most writes that wait, which bounds the memory that they take: four full transactions. */
const MAX_WAITING = 4 * MAX_BATCH;

/** How long a caller should wait before it repeats a write that was refused. */
const RETRY_AFTER_SECONDS = 5;

/** Writes that wait for each other's disk. */
export interface GroupCommit {
  /** Runs `work` in a transaction; resolves when it is on disk, rethrows what `work` threw after undoing it. */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Refuses further writes and waits for those under way. */
  close(): Promise<void>;
}

/** What happens on both sides of each commit. If either throws, all writes of the transaction fail with that error. */
export interface CommitHooks {
  beforeCommit(): void;
  /** No caller has the result yet. */
  afterCommit(): void;
}

/** One write that waits for its turn. */
interface Pending {
  /** When it arrived, in milliseconds of a clock that does not go back. */
  readonly since: number;
  run(sql: Sql): Promise<void>;
  /** Tells the caller how the write ended: as `run` found, or with the failure of the whole transaction. */
  settle(failure?: Error): void;
  /** Whether `run` had to refuse when it ran last. */
  refused: boolean;
}

/**
 * Concurrent writes share one transaction and so one fsync: all that arrive until a turn of the event loop brings no more,
 * or for a few milliseconds, are committed together. One that fails leaves no trace and does not hinder the others:
 * mostly it has changed nothing yet, and otherwise all of them are done once more, each in a savepoint. No caller gets a success
 * before the commit has returned. While another program holds the write lock of the database at
 * `path`, writes wait, each for `LOCK_WAIT_MS` at most.
 */
export function startGroupCommit(writer: DatabaseSyncInstance, path: string, observer: DatabaseObserver, hooks: CommitHooks): GroupCommit {
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

  /** Waits for as long as every turn of the event loop brings more writes, but not long: the fewer commits, the less there is to write. */
  async function arrivals(): Promise<void> {
    const until = performance.now() + MAX_WAIT_MS;
    let known: number;
    do {
      known = waiting.length;
      await new Promise((resume) => setImmediate(resume));
    } while (waiting.length > known && waiting.length < MAX_BATCH && performance.now() < until);
  }

  /** Begins a transaction. Refuses the writes that have waited too long for that, and returns false when none is left. */
  async function begin(): Promise<boolean> {
    for (;;) {
      try {
        beginning.run();
        return true;
      } catch (error) {
        const latest = isBusy(error) ? performance.now() - LOCK_WAIT_MS : Infinity;
        const refused = waiting.filter(({ since }) => since <= latest);
        waiting = waiting.filter(({ since }) => since > latest);
        for (const pending of refused) pending.settle(translate(error, path) as Error);
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
      await sql.run('ROLLBACK', []).catch(() => undefined); // most faults have already rolled back, or come after the commit
      for (const pending of batch) pending.settle(failure as Error);
      return;
    }
    observer.committed(batch.length, (performance.now() - began) / 1000);
    for (const pending of batch) pending.settle();
  }

  /** Returns false as soon as one was refused that had changed something. */
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
      if (waiting.length >= MAX_WAITING) return Promise.reject(refusal(`More than ${MAX_WAITING} changes wait for the database`));
      return new Promise<T>((resolve, reject) => {
        let settled: () => void;
        const pending: Pending = {
          since: performance.now(),
          refused: false,
          async run(on) {
            try {
              const value = await work(on);
              pending.refused = false;
              settled = () => resolve(value);
            } catch (error) {
              if (isFault(error)) throw error;
              pending.refused = true;
              settled = () => reject(error);
            }
          },
          settle: (failure) => (failure === undefined ? settled() : reject(failure)),
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

/** After a fault of the machine the whole transaction is in doubt; any other error concerns one write alone. */
function isFault(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'unavailable';
}
