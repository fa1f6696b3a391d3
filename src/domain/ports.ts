import type { Caller } from './policy.ts';
import type { ResourceType, Row, SortKey } from './resource.ts';

/** One condition of a list: equality, or a pattern in which `*` stands for any run of characters and all else for itself. */
export interface Condition {
  readonly column: string;
  readonly value: string;
  readonly wildcard: boolean;
}

/** One page of a list, in the order (sort key, id). Null sorts before everything else. */
export interface ListQuery {
  readonly limit: number;
  readonly sortKey: SortKey;
  readonly descending: boolean;
  readonly conditions: readonly Condition[];
  /** The row after which the page begins: its sort value and id. */
  readonly after?: { readonly sortValue: unknown; readonly id: string };
}

/** Reads what is committed. Every method throws `unavailable` when the database cannot answer. */
export interface Reader {
  get(type: ResourceType, id: string): Promise<Row | undefined>;
  /** The row whose `column`, which must be unique, equals `value`. */
  find(type: ResourceType, column: string, value: string): Promise<Row | undefined>;
  list(type: ResourceType, query: ListQuery): Promise<Row[]>;
  count(type: ResourceType): Promise<number>;
}

/** Reads and changes rows inside one transaction. */
export interface Writer extends Reader {
  /** Throws `duplicate` when another row has the same unique field. */
  insert(type: ResourceType, row: Row): Promise<void>;
  /** Replaces the row with the same id. Throws `duplicate` like `insert`. */
  replace(type: ResourceType, row: Row): Promise<void>;
  /** Tells whether there was such a row. */
  remove(type: ResourceType, id: string): Promise<boolean>;
}

/** Where resources are kept. */
export interface Store extends Reader {
  /**
   * Runs `work` in a transaction of its own: all of it or nothing. Resolves once the result is on disk.
   * What `work` throws is rethrown after the rollback. `work` must wait for nothing but its writer.
   */
  write<T>(work: (writer: Writer) => Promise<T>): Promise<T>;
  /** Resolves when the database answers, else throws `unavailable`. */
  ping(): Promise<void>;
  /** Waits for writes that are under way and lets the database go. */
  close(): Promise<void>;
}

/** The moment as `YYYY-MM-DDTHH:MM:SS.ffffff` in UTC, later than every moment it gave before. */
export type Clock = () => string;

/** Turns a bearer token into its caller; undefined for a token that is unknown, revoked or expired. */
export type Authenticate = (token: string) => Promise<Caller | undefined>;
