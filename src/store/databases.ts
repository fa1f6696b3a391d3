import { dirname, resolve } from 'node:path';
import type { Database, DatabaseObserver, DatabaseSettings, NetworkLink, ServingSettings, Snapshot } from './sql.ts';

/** One kind of database. Its driver is loaded when it is opened. */
export interface DatabaseKind {
  /** Opens the database at `location`, which is what follows the scheme in the configuration. Throws `unavailable`. */
  open(location: string, observer: DatabaseObserver, settings: ServingSettings): Promise<Database>;
  /** Opens it for reading alone. Throws `bad_request` if it does not exist, and `unavailable`. */
  openSnapshot(location: string, settings: DatabaseSettings): Promise<Snapshot>;
  /** How the database is reached over the network; undefined for files and Unix sockets. */
  linkTo(location: string): Promise<NetworkLink | undefined>;
  /** Tells whether `location` can be meant. */
  accepts(location: string): boolean;
  /** The folder for files that belong beside the database. */
  folder(location: string): string;
  /** Tells whether several processes may use one database. */
  readonly shared: boolean;
}

const postgres: DatabaseKind = {
  open: async (...details) => (await import('./postgres/open.ts')).openPostgres(...details),
  openSnapshot: async (...details) => (await import('./postgres/read-only.ts')).openPostgresSnapshot(...details),
  linkTo: async (location) => (await import('./postgres/connection.ts')).linkTo(location),
  accepts: (location) => URL.canParse(`postgres:${location}`) && /^\/\/[^/]/.test(location),
  folder: () => resolve('var'),
  shared: true,
};

/** The databases by the scheme that names them in the configuration: `sqlite:var/tsigil.db`, `postgres://user@host/tsigil`. */
export const DATABASES: Readonly<Record<string, DatabaseKind>> = {
  sqlite: {
    open: async (...details) => (await import('./sqlite/open.ts')).openSqlite(...details),
    openSnapshot: async (location) => (await import('./sqlite/read-only.ts')).openSqliteSnapshot(location),
    linkTo: async () => undefined,
    accepts: (location) => !/^:memory:$|^\/\/[^/]/.test(location),
    folder: (location) => dirname(resolve(location)),
    shared: false,
  },
  postgres,
  postgresql: postgres,
};

/** A setting without the passwords that its URL may hold, before its host and among its parameters. */
export function withoutPassword(setting: string): string {
  return setting.replace(/(:\/\/[^/?#:]*:)[^/?#]*@/, '$1(hidden)@').replaceAll(/([?&](?:ssl)?password=)[^&#]*/gi, '$1(hidden)');
}

/** The kind and location that a setting such as `sqlite:var/tsigil.db` names. Throws `Error` if it names none. */
export function parseDatabase(setting: string): { kind: DatabaseKind; location: string } {
  const [, scheme = '', location = ''] = /^([a-z]+):(.+)$/.exec(setting) ?? [];
  const kind = Object.hasOwn(DATABASES, scheme) ? DATABASES[scheme] : undefined;
  if (kind?.accepts(location) !== true) throw new Error('A database is named by its kind, a colon and its location');
  return { kind, location };
}

/** Tells whether `parseDatabase` would take a setting. */
export function isDatabase(setting: unknown): boolean {
  const [, scheme = '', location = ''] = (typeof setting === 'string' ? /^([a-z]+):(.+)$/.exec(setting) : null) ?? [];
  return Object.hasOwn(DATABASES, scheme) && DATABASES[scheme]?.accepts(location) === true;
}
