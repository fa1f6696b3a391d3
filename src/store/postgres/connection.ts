import pg from 'pg';
import type { DatabaseSettings } from '../sql.ts';

/** The type of bigint columns and counts; ours stay far below 2^53. */
const INT8 = 20;

/** How to connect to the database at `location`, which is what follows the scheme in a connection URL. */
export function connectionOptions(location: string, settings: DatabaseSettings): pg.ClientConfig {
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, Number);
  return {
    connectionString: `postgres:${location}`,
    application_name: 'tsigil',
    connectionTimeoutMillis: settings.connectTimeoutSeconds * 1000,
    statement_timeout: settings.statementTimeoutSeconds * 1000,
    query_timeout: settings.statementTimeoutSeconds * 1000 + 1000, // when the server cannot even say so
    keepAlive: true,
    types,
  };
}
