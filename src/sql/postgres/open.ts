import pg from 'pg';
import { ServiceError } from '../../core/errors.ts';
import type {
  Database,
  DatabaseObserver,
  DatabaseSettings,
  ServingSettings,
  Snapshot,
  SqlValue,
} from '../sql.ts';
import { dialect } from './dialect.ts';
import { connectionOptions } from './connection.ts';
import { translate } from './postgres-faults.ts';
import { createNotifications } from './notifications.ts';
import { createPools } from './pools.ts';
import { scansOn } from './scan.ts';
import { scrub } from './scrub.ts';
import { sharedReads } from './shared-reads.ts';
import { sqlOn } from './statements.ts';
import { repeat, transaction } from './transaction.ts';

/** The key of the advisory lock for migrations, an arbitrary number. */
const MIGRATION_LOCK = 7_447_101;

/** Any number of processes may share the database. Throws `unavailable`. */
export async function openPostgres(
  location: string,
  observer: DatabaseObserver,
  settings: ServingSettings,
): Promise<Database> {
  const pools = createPools(location, settings);
  const { points, scans, scanSlots } = pools;
  let closed = false;
  const underWay = new Set<Promise<unknown>>();
  const database: Database = {
    dialect,
    keyring: settings.keyring,
    exclusive: false,
    reads: sqlOn((query) => points.query(query), sharedReads(points)),
    scanSlots,
    connections: points.options.max,
    notifications: createNotifications(connectionOptions(location, settings), points),
    scan: scansOn(
      sqlOn((query) => scans.query(query)),
      settings.keyring,
    ),
    write(work) {
      if (closed) return Promise.reject(new ServiceError('unavailable', 'The service is stopping'));
      const written = repeat(() => transaction(points, work, observer));
      const ended: Promise<unknown> = written.then(
        () => underWay.delete(ended),
        () => underWay.delete(ended),
      );
      underWay.add(ended);
      return written;
    },
    migrate: (work) =>
      transaction(
        points,
        async (sql) => {
          await sql.run('SELECT pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
          await work(sql);
        },
        observer,
      ),
    scrub: (tables) => scrub(database.reads, tables),
    async ping() {
      await database.reads.one('SELECT number FROM schema_migrations LIMIT 1', []);
    },
    async close() {
      closed = true;
      await Promise.all(underWay);
      await pools.end();
    },
  };
  try {
    await database.reads.one('SELECT 1 AS one', []);
  } catch (error) {
    await pools.end();
    throw error;
  }
  return database;
}

/** Reads in one transaction. A role with read access is sufficient. Throws `unavailable`. */
export async function openPostgresSnapshot(
  location: string,
  settings: DatabaseSettings,
): Promise<Snapshot> {
  const client = new pg.Client(connectionOptions(location, settings));
  client.on('error', () => undefined); // the next query reports a failed connection
  const reads = sqlOn((query) => client.query(query));
  try {
    await client.connect().catch((error: unknown) => {
      throw translate(error);
    });
    await reads.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', []);
  } catch (error) {
    await client.end();
    throw error;
  }
  const change = async (statement: string, parameters: readonly SqlValue[]) => {
    await reads.run('COMMIT', []);
    await reads.run(statement, parameters);
  };
  return { dialect, reads, change, close: () => client.end() };
}
