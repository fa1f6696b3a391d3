import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { ServiceError } from '../domain/errors.ts';
import type { Database, DatabaseObserver, DatabaseSettings, Dialect, Sql, SqlRow } from './sql.ts';

const dialect: Dialect = {
  text: 'text COLLATE "C"',
  like: 'LIKE',
  likePattern: (pattern) => pattern.replaceAll(/[%_\\]/g, '\\$&').replaceAll(/\*+/g, '%'),
  isUniqueViolation: (error) => error instanceof pg.DatabaseError && error.code === '23505',
};

/** SQLSTATE codes by which PostgreSQL asks for the transaction to be run again: serialisation failure, deadlock. */
const TRY_AGAIN = ['40001', '40P01'];
const MAX_ATTEMPTS = 20;

/**
 * SQLSTATE classes and codes that tell of the machine or the connection, not of a mistake in the program: connections,
 * passwords, databases that are not there, resources, operator intervention, system errors, lock time-outs, and a server that became a read-only standby.
 */
const MACHINE_FAULTS = /^(?:08|28|3D|53|57|58|55P03|25006|XX001|XX002)/;

/** The number under which migrations lock each other out; it means nothing elsewhere. */
const MIGRATION_LOCK = 7_447_101;

/** The type of bigint columns and counts; ours stay far below 2^53. */
const INT8 = 20;

/**
 * Opens the PostgreSQL database at `location` (what follows the scheme in a connection URL). Any number of processes may
 * share it. Throws `unavailable` when it cannot be reached.
 */
export async function openPostgres(location: string, observer: DatabaseObserver, settings: DatabaseSettings): Promise<Database> {
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, Number);
  const pool = new pg.Pool({
    connectionString: `postgres:${location}`,
    application_name: 'tsigil',
    max: settings.maxConnections,
    connectionTimeoutMillis: settings.connectTimeoutSeconds * 1000,
    statement_timeout: settings.statementTimeoutSeconds * 1000,
    query_timeout: settings.statementTimeoutSeconds * 1000 + 1000, // when the server cannot even say so
    idle_in_transaction_session_timeout: settings.statementTimeoutSeconds * 1000,
    keepAlive: true,
    types,
  });
  pool.on('error', () => undefined); // a connection that broke while idle; the next query takes another
  let closed = false;
  const underWay = new Set<Promise<unknown>>();
  const database: Database = {
    dialect,
    exclusive: false,
    reads: sqlOn((query) => pool.query(query)),
    write(work) {
      if (closed) return Promise.reject(new ServiceError('unavailable', 'The service is stopping'));
      const written = repeat(() => transaction(pool, 'SERIALIZABLE', work, observer));
      const ended: Promise<unknown> = written.then(
        () => underWay.delete(ended),
        () => underWay.delete(ended),
      );
      underWay.add(ended);
      return written;
    },
    // Read committed: what the lock waited for must be seen. A serialisable snapshot is older than the wait.
    migrate: (work) =>
      transaction(
        pool,
        'READ COMMITTED',
        async (sql) => {
          await sql.run('SELECT pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
          await work(sql);
        },
        observer,
      ),
    async close() {
      closed = true;
      await Promise.all(underWay);
      if (!pool.ended) await pool.end();
    },
  };
  try {
    await database.reads.one('SELECT 1 AS answer', []);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return database;
}

/** Runs `attempt` until it is not refused for the sake of a concurrent transaction, with a growing random pause between. */
async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || !TRY_AGAIN.includes(error.code ?? '')) throw error;
      if (number === MAX_ATTEMPTS) {
        throw new ServiceError('unavailable', 'The database is too busy with conflicting changes', { retryAfterSeconds: 1, cause: error });
      }
      await pause(Math.random() * Math.min(200, 2 ** number));
    }
  }
}

async function transaction<T>(
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

type Query = (query: { name?: string; text: string; values: unknown[] }) => Promise<pg.QueryResult<SqlRow>>;

/** Statements with parameters are prepared once per connection, under a name made from their text. */
const statements = new Map<string, { name?: string; text: string }>();

function prepared(text: string, parameters: readonly unknown[]): { name?: string; text: string } {
  const known = statements.get(text);
  if (known !== undefined) return known;
  let position = 0;
  const numbered = text.replaceAll('?', () => `$${(position += 1)}`);
  const statement = parameters.length === 0 ? { text } : { name: createHash('sha256').update(text).digest('base64url').slice(0, 32), text: numbered };
  statements.set(text, statement);
  return statement;
}

function sqlOn(query: Query): Sql {
  const send = async (text: string, parameters: readonly unknown[]): Promise<pg.QueryResult<SqlRow>> => {
    try {
      return await query({ ...prepared(text, parameters), values: [...parameters] });
    } catch (error) {
      throw translate(error);
    }
  };
  return {
    all: async (text, parameters) => (await send(text, parameters)).rows,
    one: async (text, parameters) => (await send(text, parameters)).rows[0],
    run: async (text, parameters) => (await send(text, parameters)).rowCount ?? 0,
  };
}

/** What the server says of a statement stays as it is; faults of the machine, the connection and the pool become `unavailable`. */
function translate(error: unknown): unknown {
  if (error instanceof pg.DatabaseError && !MACHINE_FAULTS.test(error.code ?? '')) return error;
  const reason = error instanceof pg.DatabaseError ? REASONS[error.code ?? ''] : undefined;
  return new ServiceError('unavailable', `The database cannot be used: ${reason ?? 'it does not answer'}`, { retryAfterSeconds: 5, cause: error });
}

const REASONS: Readonly<Record<string, string>> = {
  '28000': 'it does not let the user in',
  '28P01': 'it does not take the password',
  '3D000': 'it does not exist',
  '53100': 'its disk is full',
  '53300': 'it has too many connections',
  '57014': 'it took too long',
  '25006': 'it takes no changes, being a standby',
};
