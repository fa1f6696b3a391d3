import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { ServiceError, isUnavailable } from '../../core/errors.ts';
import type { DatabaseObserver, Sql, TransactionSql } from '../sql.ts';
import { isCollision, translate } from './postgres-faults.ts';
import { createLocks } from './locks.ts';
import { sqlOn } from './statements.ts';

const MAX_ATTEMPTS = 20;

/** States the isolation level, because the database may have another default. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/**
 * Runs `attempt`, and repeats it as long as it conflicts with concurrent transactions. Waits for a
 * growing random time between attempts. Throws `unavailable` after `MAX_ATTEMPTS` conflicts.
 */
export async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isCollision(error)) throw error;
      if (number === MAX_ATTEMPTS) {
        throw new ServiceError(
          'unavailable',
          'The change conflicts with too many concurrent changes. Repeat the request',
          { retryAfterSeconds: 1, cause: error },
        );
      }
      await pause(Math.random() * Math.min(200, 2 ** number));
    }
  }
}

/**
 * Runs `work` in a read-committed transaction on a connection of `pool`. Each statement sees the
 * changes that were committed before the statement began. So a statement after a lock sees the
 * changes of every transaction that held the lock before. The transaction begins with the first
 * statement. After an error, rolls back and throws `unavailable` or what `work` threw.
 */
export async function transaction<T>(
  pool: pg.Pool,
  work: (sql: TransactionSql) => Promise<T>,
  observer: DatabaseObserver,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error);
  });
  const { sql, commit, isOpen } = pipelinedSql(sqlOn((query) => client.query(query)));
  const began = performance.now();
  let keep = true;
  try {
    const result = await work(sql);
    if (isOpen()) {
      await commit();
      observer.committed(1, (performance.now() - began) / 1000);
    }
    return result;
  } catch (error) {
    // Without a response to COMMIT, the outcome is unknown, so the caller gets an error.
    const undone =
      !isOpen() ||
      (await client.query('ROLLBACK').then(
        () => true,
        () => false,
      ));
    // After a fault of the server, such as a change to standby, the pool does not use this
    // connection again.
    keep = undone && !isUnavailable(error);
    throw error;
  } finally {
    client.release(!keep);
  }
}

/**
 * Returns an `Sql` for a transaction that begins with the first statement. Sends locks, and
 * statements whose result is not needed, together with the next statement. The server runs
 * statements in the order in which they arrive, and refuses all statements after a failed
 * statement. After a failed BEGIN, however, the server would run statements without a transaction.
 * So only SELECT is sent before the response to BEGIN.
 */
function pipelinedSql(plain: Sql): {
  sql: TransactionSql;
  /** Returns whether BEGIN was sent and COMMIT has not succeeded. */
  isOpen: () => boolean;
  commit: () => Promise<void>;
} {
  const locks = createLocks();
  let begun = false;
  let confirmed = false;
  let ended = false;
  // Resolves when all statements sent by `later` have succeeded; rejects with the first error.
  let earlier: Promise<unknown> = Promise.resolve();
  const later = (sent: Promise<unknown>): void => {
    sent.catch(ignore); // reported by the next statement
    earlier = earlier.then(() => sent);
    earlier.catch(ignore);
  };
  const begin = (first?: string): void => {
    const text = [...(begun ? [] : [BEGIN]), ...(first === undefined ? [] : [first])].join('; ');
    begun = true;
    if (text !== '') later(plain.run(text, []));
  };
  const ready = async (text: string): Promise<void> => {
    if (!begun) begin();
    if (confirmed || text.startsWith('SELECT')) return;
    await earlier;
    confirmed = true;
  };
  const send = async <T>(text: string, statement: () => Promise<T>): Promise<T> => {
    await ready(text);
    const sent = statement();
    sent.catch(ignore); // an error of an earlier statement comes first
    await earlier;
    return sent;
  };
  return {
    isOpen: () => begun && !ended,
    async commit() {
      await ready('COMMIT');
      // If an earlier statement failed, the server rolls back instead.
      const sent = plain.run('COMMIT', []);
      await sent.then(() => (ended = true), ignore);
      await earlier;
      await sent;
    },
    sql: {
      all: (...statement) => send(statement[0], () => plain.all(...statement)),
      one: (...statement) => send(statement[0], () => plain.one(...statement)),
      run: (...statement) => send(statement[0], () => plain.run(...statement)),
      async runLater(statement, parameters, failed) {
        await ready(statement);
        later(plain.run(statement, parameters).catch(failed));
      },
      lock(wanted) {
        begin(locks.acquire(wanted));
      },
      async settle() {
        await earlier;
      },
    },
  };
}

function ignore(): void {
  // the error is reported elsewhere
}
