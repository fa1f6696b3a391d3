import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { ServiceError } from '../../domain/model/errors.ts';
import type { DatabaseObserver, Sql } from '../sql/sql.ts';
import { isCollision, translate } from './faults.ts';
import { sqlOn } from './statements.ts';

const MAX_ATTEMPTS = 20;

/** Runs `attempt` until it does not conflict with a concurrent transaction, with a growing random pause between attempts. */
export async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isCollision(error)) throw error;
      if (number === MAX_ATTEMPTS) {
        throw new ServiceError(
          'unavailable',
          'The change conflicts with too many concurrent changes',
          { retryAfterSeconds: 1, cause: error },
        );
      }
      await pause(Math.random() * Math.min(200, 2 ** number));
    }
  }
}

/** Runs `work` in a transaction on a connection of `pool`. After an error it rolls back, and throws `unavailable` or what `work` threw. */
export async function transaction<T>(
  pool: pg.Pool,
  isolation: 'SERIALIZABLE' | 'READ COMMITTED',
  work: (sql: Sql) => Promise<T>,
  observer: DatabaseObserver,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error);
  });
  const broken = (): void => undefined;
  client.on('error', broken); // the query in progress fails anyway; without a listener the process would exit
  const sql = sqlOn((query) => client.query(query));
  const began = performance.now();
  let keep = true;
  try {
    await sql.run(`BEGIN ISOLATION LEVEL ${isolation}`, []);
    const result = await work(sql);
    await sql.run('COMMIT', []);
    observer.committed(1, (performance.now() - began) / 1000);
    return result;
  } catch (error) {
    // Without a response to COMMIT, the outcome is unknown. The caller gets an error, never success.
    const undone = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    );
    // After a fault of the server, such as a change to standby, this connection is not used again.
    keep = undone && !(error instanceof ServiceError && error.code === 'unavailable');
    throw error;
  } finally {
    client.removeListener('error', broken);
    client.release(!keep);
  }
}
