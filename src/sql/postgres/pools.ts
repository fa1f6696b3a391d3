import pg from 'pg';
import type { ScanSlots, ServingSettings } from '../sql.ts';
import { connectionOptions, STATEMENT_TIMEOUT_SECONDS } from './connection.ts';

export interface Pools {
  /** The connections for reads by an index, and for writes. */
  readonly points: pg.Pool;
  /** For lists that read many rows. With a single connection, the same pool as `points`. */
  readonly scans: pg.Pool;
  readonly scanSlots: ScanSlots;
  end(): Promise<void>;
}

/**
 * Creates the pools for the database at `location`. Reserves a third of the connections for scans.
 * With four or more connections, reserves at least two, so that one caller cannot use all reserved
 * connections. With two or three connections, reserves one.
 */
export function createPools(location: string, settings: ServingSettings): Pools {
  const {
    maxConnections,
    statementTimeoutSeconds = STATEMENT_TIMEOUT_SECONDS,
    scanTimeoutSeconds,
  } = settings;
  const forScans = Math.min(
    Math.max(maxConnections < 4 ? 1 : 2, Math.floor(maxConnections / 3)),
    maxConnections - 1,
  );
  const points = createPool(location, settings, maxConnections - forScans, statementTimeoutSeconds);
  const scans =
    forScans === 0 ? points : createPool(location, settings, forScans, scanTimeoutSeconds);
  const concurrency = Math.max(1, forScans);
  return {
    points,
    scans,
    scanSlots: {
      concurrency,
      concurrencyPerOwner: Math.max(1, Math.ceil(concurrency / 2)),
      timeoutSeconds: scanTimeoutSeconds,
    },
    async end() {
      for (const pool of new Set([points, scans])) if (!pool.ended) await pool.end();
    },
  };
}

function createPool(
  location: string,
  settings: ServingSettings,
  max: number,
  statementTimeoutSeconds: number,
): pg.Pool {
  const pool = new pg.Pool({
    ...connectionOptions(location, { ...settings, statementTimeoutSeconds }),
    max,
    // A transaction may send a statement before it has received the response to the previous
    // statement.
    pipeline: true,
    idle_in_transaction_session_timeout: statementTimeoutSeconds * 1000,
  });
  pool.on('error', ignore); // the next query uses another connection
  // The query in progress, or the next one, fails anyway. Without a listener from the beginning, the
  // process would exit: a connection can end in the same packet in which it becomes ready.
  pool.on('connect', (client) => client.on('error', ignore));
  return pool;
}

const ignore = (): void => undefined;
