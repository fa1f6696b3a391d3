import pg from 'pg';
import type { DatabaseSettings, NetworkLink } from '../sql/sql.ts';

/** The type of bigint columns and counts; ours stay far below 2^53. */
const INT8 = 20;

/** How to connect to the database at `location`, which is what follows the scheme in a connection URL. */
export function connectionOptions(location: string, settings: DatabaseSettings): pg.ClientConfig {
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, Number);
  return {
    connectionString: withPassword(`postgres:${location}`, settings.password),
    application_name: 'tsigil',
    connectionTimeoutMillis: settings.connectTimeoutSeconds * 1000,
    statement_timeout: settings.statementTimeoutSeconds * 1000,
    query_timeout: settings.statementTimeoutSeconds * 1000 + 1000, // when the server cannot even say so
    keepAlive: true,
    types,
  };
}

/** How the driver reaches the server at `location`; undefined for a Unix socket. These modes of TLS allow a connection without it. */
export function linkTo(location: string): NetworkLink | undefined {
  const connectionString = `postgres:${location}`;
  const { host, ssl } = new pg.Client({ connectionString });
  const mode = /[?&]sslmode=([^&#]*)/.exec(connectionString)?.[1] ?? '';
  return host.startsWith('/') ? undefined : { host, encrypted: ssl && !['disable', 'allow', 'prefer'].includes(mode) };
}

/** A URL with this password, unless it has one. It goes into the URL because the driver ignores a password beside one. */
function withPassword(url: string, password: string | undefined): string {
  if (password === undefined || Boolean(new pg.Client({ connectionString: url }).password)) return url;
  const base = url.replace(/#.*/s, '');
  return `${base}${base.includes('?') ? '&' : '?'}password=${encodeURIComponent(password.toWellFormed())}`;
}
