import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { ServiceError } from '../../domain/model/errors.ts';
import type { DatabaseObserver, Sql } from '../sql/sql.ts';
import { isCollision, translate } from './faults.ts';
import { sqlOn } from './statements.ts';

const MAX_ATTEMPTS = 20;

/** Runs `attempt` until it is not refused for the sake of a concurrent transaction, with a growing random pause between. */
export async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isCollision(error)) throw error;
      if (number === MAX_ATTEMPTS) {
        throw new ServiceError('unavailable', 'The database is too busy with conflicting changes', { retryAfterSeconds: 1, cause: error });
      }
      await pause(Math.random() * Math.min(200, 2 ** number));
    }
  }
}

/** Runs `work` in a transaction on a connection of `pool`. Throws `unavailable` and what `work` throws, after a rollback. */
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
  client.on('error', broken); // the query under way is told; without a listener the process would end
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
    // Without an answer to COMMIT its outcome is unknown: the caller gets the error, never success.
    const undone = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    );
    // A server that is at fault, such as one that became a standby, is not asked again over this connection.
    keep = undone && !(error instanceof ServiceError && error.code === 'unavailable');
    throw error;
  } finally {
    client.removeListener('error', broken);
    client.release(!keep);
  }
}
