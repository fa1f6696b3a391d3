import type { ServiceError } from '../../domain/model/errors.ts';
import type { Page } from '../../domain/model/ports.ts';
import type { PageQuery } from '../../domain/model/query.ts';

/** A row as a database driver gives it. */
export type SqlRow = Record<string, unknown>;

/** A value that every database takes. */
export type SqlValue = string | number | null;

/**
 * Runs statements, with `?` for each parameter. Each is prepared once per connection, by its text. A statement whose text
 * follows from a request is sent with `once`: a database server then prepares nothing that stays in its memory.
 */
export interface Sql {
  all(statement: string, parameters: readonly SqlValue[], use?: 'once'): Promise<SqlRow[]>;
  /** The first row that the statement finds. */
  one(statement: string, parameters: readonly SqlValue[], use?: 'once'): Promise<SqlRow | undefined>;
  /** Returns how many rows the statement changed. */
  run(statement: string, parameters: readonly SqlValue[]): Promise<number>;
}

/** A condition as SQL, and its parameters. */
export interface SqlCondition {
  readonly text: string;
  readonly parameters: readonly SqlValue[];
}

/** How one database differs from another in what the statements say. */
export interface Dialect {
  /** The type of text columns that compare and sort by code point. */
  readonly text: string;
  /** The condition that `column` matches a pattern in which `*` matches any run of characters and everything else itself. */
  matches(column: string, pattern: string): SqlCondition;
  /** A query that finds a row if there is a table with the name in its parameter. */
  readonly tableExists: string;
  /** `column` in a condition that must not decide which index is read. */
  aside(column: string): string;
  /** Tells whether `error` says that a unique index refused a row. */
  isUniqueViolation(error: unknown): boolean;
}

/** One numbered step of the schema. A step that has been released is never edited; a new one is added. */
export interface Migration {
  readonly number: number;
  /** `now` is the moment at which the step is taken, as a timestamp of the API. */
  statements(dialect: Dialect, now: string): string[];
}

/** What a database reports while it runs, for metrics and the log. */
export interface DatabaseObserver {
  /** Called after every commit with the number of writes that shared it and how long it took. */
  committed(writes: number, seconds: number): void;
  /** Called once when a fault begins that every later write meets, with what callers get. */
  failed?(error: ServiceError): void;
}

/** How connections to a database server are made. */
export interface DatabaseSettings {
  readonly maxConnections: number;
  readonly connectTimeoutSeconds: number;
  readonly statementTimeoutSeconds: number;
  /** The password for a server whose URL has none. */
  readonly password?: string | undefined;
}

/** How a service uses a database. */
export interface ServingSettings extends DatabaseSettings {
  /** How long a list may take that reads many rows. */
  readonly scanTimeoutSeconds: number;
}

/** The limits of lists that read many rows. */
export interface ScanSlots {
  /** How many are read at a time. */
  readonly concurrency: number;
  /** How many of those for one caller. */
  readonly concurrencyPerOwner: number;
  /** How long one may take, with its wait for a slot. */
  readonly timeoutSeconds: number;
}

/** A database that is open for reading alone. All reads see one snapshot. Every method throws `unavailable` when the database cannot do its work. */
export interface Snapshot {
  readonly dialect: Dialect;
  readonly reads: Sql;
  close(): Promise<void>;
}

/** How a process reaches a database server over the network. */
export interface NetworkLink {
  readonly host: string;
  /** Whether the connection is certain to use TLS. */
  readonly encrypted: boolean;
}

/** One open database. Every method throws `unavailable` when the database cannot do its work. */
export interface Database {
  readonly dialect: Dialect;
  /** Whether nobody but this process can change what is kept, for as long as the database is open. */
  readonly exclusive: boolean;
  /** Reads what is committed, by indexes. */
  readonly reads: Sql;
  readonly scanSlots: ScanSlots;
  /** How many connections there are for everything but scans; undefined for a database in the process. */
  readonly connections?: number;
  /**
   * Reads a page for which many rows may have to be read, without holding up anything else. Once `signal` aborts, the result is of no use
   * to anyone, and the scan ends soon.
   */
  scan(collection: string, query: PageQuery, signal: AbortSignal): Promise<Page>;
  /** Runs `work` in a transaction and resolves once its result is on disk; rethrows after a rollback. */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Changes the schema: runs `work` in a transaction that nothing else shares. */
  migrate(work: (sql: Sql) => Promise<void>): Promise<void>;
  /** Resolves if the database can be read and its files are in place. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
