import type { ServiceError } from '../core/errors.ts';
import type { Keyring } from '../core/keyring.ts';
import type { Lock, Page } from '../core/ports.ts';
import type { PageQuery } from '../core/query.ts';

export type SqlRow = Record<string, unknown>;

/** A value that every database accepts. */
export type SqlValue = string | number | null;

/**
 * How a statement is sent. `once` is for a statement whose text depends on a request: it is not
 * prepared, so it uses no memory on the database server. `shared` is for a statement that reads one
 * row by its id: it may share a packet with others.
 */
export type Use = 'once' | 'shared';

/**
 * Access to a database by SQL statements, with `?` for each parameter. Each connection prepares
 * each text once.
 */
export interface Sql {
  all(statement: string, parameters: readonly SqlValue[], use?: Use): Promise<SqlRow[]>;
  one(statement: string, parameters: readonly SqlValue[], use?: Use): Promise<SqlRow | undefined>;
  /** Returns the number of rows that the statement changed. */
  run(statement: string, parameters: readonly SqlValue[]): Promise<number>;
}

export interface TransactionSql extends Sql {
  /**
   * Acquires locks before the next statement, and holds them until the end of the transaction. If a
   * lock cannot be acquired, a later statement or the commit throws the error. Absent if
   * transactions run one after another.
   */
  readonly lock?: ((locks: readonly Lock[]) => void) | undefined;
  /**
   * Runs a statement whose result is not needed before the next statement. Resolves when the
   * statement is sent. If the statement fails, a later statement or the commit throws the error, or
   * what `failed` throws for the error. Absent if a statement needs no round trip.
   */
  readonly runLater?:
    | ((
        statement: string,
        parameters: readonly SqlValue[],
        failed?: (cause: unknown) => Promise<never>,
      ) => Promise<void>)
    | undefined;
  /**
   * Resolves once every lock and every statement so far has succeeded, and otherwise throws the first
   * error. Absent if `lock` and `runLater` are.
   */
  readonly settle?: (() => Promise<void>) | undefined;
}

export interface SqlCondition {
  readonly text: string;
  readonly parameters: readonly SqlValue[];
}

/** The differences in SQL between databases. */
export interface Dialect {
  /** The type of text columns that compare and sort by code point. */
  readonly text: string;
  /** The type of a primary key that the database numbers. */
  readonly identity: string;
  /**
   * Returns the SQL condition that `column` matches a pattern. `*` matches any number of
   * characters; all other characters match themselves.
   */
  matches(column: string, pattern: string): SqlCondition;
  /** A query that returns a row if the table with the name in its parameter exists. */
  readonly tableExists: string;
  /**
   * The SQL expression for the database's current time, in milliseconds since 1970. The time
   * advances within a transaction.
   */
  readonly nowMs: string;
  /** Returns `column` for a condition that must not influence which index the database uses. */
  aside(column: string): string;
  /**
   * The clause with which a SELECT locks its row until the end of the transaction. Empty if
   * transactions run one after another.
   */
  readonly rowLock: string;
  /**
   * A query that returns the host of another process of the service that uses the database. Absent
   * if no other process can use it.
   */
  readonly otherUser?: string;
  isUniqueViolation(error: unknown): boolean;
  isReferenceViolation(error: unknown): boolean;
}

/** One numbered step of the schema. Never edit a released step. Add a new step instead. */
export interface Migration {
  readonly number: number;
  /** Returns the statements of the step. `now` is the current time as a timestamp of the API. */
  statements(dialect: Dialect, now: string): string[];
}

export interface DatabaseObserver {
  /** Called after every commit, with the number of writes that shared it, and its duration. */
  committed(writes: number, seconds: number): void;
  /** Called once when a permanent fault begins, with the error that callers get. */
  failed?(error: ServiceError): void;
}

export interface DatabaseSettings {
  readonly maxConnections: number;
  /** How long a statement may take: 10 s, unless a command sets a longer time. */
  readonly statementTimeoutSeconds?: number;
  /** The password for a server whose URL contains no password. */
  readonly password?: string | undefined;
}

export interface ServingSettings extends DatabaseSettings {
  readonly scanTimeoutSeconds: number;
  /**
   * The keyring that decrypts and encrypts secrets. Without a keyring, encrypted secrets are not
   * available, and new secrets are stored in clear text.
   */
  readonly keyring?: Keyring | undefined;
}

/** The limits of lists that read many rows. */
export interface ScanSlots {
  readonly concurrency: number;
  readonly concurrencyPerOwner: number;
  /** The time limit of a scan, including its wait for a slot. */
  readonly timeoutSeconds: number;
}

/**
 * A database that is open read-only. All reads see one snapshot. Every method throws `unavailable`
 * if the database fails.
 */
export interface Snapshot {
  readonly dialect: Dialect;
  readonly reads: Sql;
  /**
   * Ends the snapshot, and runs a statement that changes the database. Does nothing for a file that
   * no service has opened, such as a backup.
   */
  change(statement: string, parameters: readonly SqlValue[]): Promise<void>;
  close(): Promise<void>;
}

export interface NetworkLink {
  readonly host: string;
  /** True if the connection always uses TLS. */
  readonly encrypted: boolean;
}

/** Notifications, without content, between the processes that share a database. */
export interface Notifications {
  /** Notifies all processes that listen, including this one. Never fails. */
  send(): void;
  /**
   * Calls `wake` for each notification, and once after each reconnection. Returns a function that
   * stops these calls.
   */
  listen(wake: () => void): () => Promise<void>;
}

/** An open database. Every method throws `unavailable` if the database fails. */
export interface Database {
  readonly dialect: Dialect;
  readonly keyring?: Keyring | undefined;
  /** True if no other process can change the data while the database is open. */
  readonly exclusive: boolean;
  /** Reads committed data, with queries that use an index. */
  readonly reads: Sql;
  readonly scanSlots: ScanSlots;
  /** The notifications between processes. Absent if only one process can use the database. */
  readonly notifications?: Notifications;
  /** The number of connections for everything except scans; undefined for an embedded database. */
  readonly connections?: number;
  /**
   * Reads a page that may require reading many rows, without delaying other requests. After
   * `signal` aborts, no caller uses the result, so the scan may stop early.
   */
  scan(collection: string, query: PageQuery, signal: AbortSignal): Promise<Page>;
  /**
   * Runs `work` in a transaction. Resolves once the transaction is on disk. If `work` throws, rolls
   * back and rethrows.
   */
  write<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction, for changes of the schema or the encryption keys. Only one such
   * transaction runs at a time.
   */
  migrate(work: (sql: Sql) => Promise<void>): Promise<void>;
  /**
   * Removes former row versions of these tables from the files of the database. Blocks other use of
   * the tables. Throws `unavailable` if another program reads the database.
   */
  scrub(tables: readonly string[]): Promise<void>;
  /**
   * Resolves if the database can be read and no file of the database was removed or replaced. Later
   * reads see what any program has committed by now.
   */
  ping(): Promise<void>;
  close(): Promise<void>;
}
