import pg from 'pg';
import type { DatabaseSettings, NetworkLink } from '../sql.ts';
import { APPLICATION } from './dialect.ts';

/**
 * The OID of the type of bigint columns and counts. `Number` is exact for the values of the
 * service, because they are far below 2^53.
 */
const INT8 = 20;

/** How long a request waits for a connection. */
const CONNECT_TIMEOUT_MS = 5000;

export const STATEMENT_TIMEOUT_SECONDS = 10;

export function connectionOptions(location: string, settings: DatabaseSettings): pg.ClientConfig {
  const { password, statementTimeoutSeconds = STATEMENT_TIMEOUT_SECONDS } = settings;
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, Number);
  return {
    connectionString: withPassword(`postgres:${location}`, password),
    application_name: APPLICATION,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementTimeoutSeconds * 1000,
    // This timeout applies if the server does not enforce its statement timeout.
    query_timeout: statementTimeoutSeconds * 1000 + 1000,
    keepAlive: true,
    types,
  };
}

/**
 * Returns the network connection to the server at `location`; undefined for a Unix socket. The
 * values `disable`, `allow` and `prefer` of sslmode allow a connection without TLS.
 */
export function linkTo(location: string): NetworkLink | undefined {
  const connectionString = `postgres:${location}`;
  const { host, ssl } = new pg.Client({ connectionString });
  const mode = /[?&]sslmode=([^&#]*)/.exec(connectionString)?.[1] ?? '';
  return host.startsWith('/')
    ? undefined
    : { host, encrypted: ssl && !['disable', 'allow', 'prefer'].includes(mode) };
}

/**
 * Returns `url` with `password`, unless `url` already has a password. The driver ignores a password
 * outside the URL.
 */
function withPassword(url: string, password: string | undefined): string {
  if (password === undefined || Boolean(new pg.Client({ connectionString: url }).password))
    return url;
  const base = url.replace(/#.*/s, '');
  return `${base}${base.includes('?') ? '&' : '?'}password=${encodeURIComponent(password.toWellFormed())}`;
}
