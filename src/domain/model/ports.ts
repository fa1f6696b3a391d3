import type { Caller } from './caller.ts';
import type { Condition, ListQuery, PageQuery } from './query.ts';
import type { Fields, IndexReader, Resource, ResourceOf, ResourceType } from './resource.ts';

/** One page of a list. */
export interface Page<F extends Fields = Fields> {
  readonly resources: ResourceOf<F>[];
  /** Whether resources may follow. */
  readonly more: boolean;
  /** How many resources meet the conditions, wherever the page begins; undefined if they were not counted. */
  readonly total: number | undefined;
}

/** Reads what is committed. Every method throws `unavailable` when the database cannot answer. */
export interface Reader extends IndexReader {
  get<F extends Fields>(type: ResourceType<F>, id: string): Promise<ResourceOf<F> | undefined>;
  list<F extends Fields>(type: ResourceType<F>, query: ListQuery): Promise<ResourceOf<F>[]>;
  count(type: ResourceType, conditions: readonly Condition[]): Promise<number>;
}

/** Reads and changes resources inside one transaction. */
export interface Writer extends Reader {
  /** Throws `duplicate` when another resource has the same unique field. */
  insert(type: ResourceType, resource: Resource): Promise<void>;
  /** Replaces the resource with the same id. Throws `duplicate` like `insert`. */
  replace(type: ResourceType, resource: Resource): Promise<void>;
  /** Tells whether there was such a resource. */
  remove(type: ResourceType, id: string): Promise<boolean>;
  /** Inserts resources, and replaces those whose id is there, many at a time. Throws `duplicate` like `insert`. */
  putAll(type: ResourceType, resources: readonly Resource[]): Promise<void>;
  /** Removes the resources with these ids, many at a time. */
  removeAll(type: ResourceType, ids: readonly string[]): Promise<void>;
}

/** On whose behalf a list is read. */
export interface Turn {
  /** The id of the caller. Lists that read many resources are served to callers in turn. */
  readonly owner: string;
  /** Aborts when the caller does not wait for the list any more. Called only for a list that may take long. */
  signal(): AbortSignal | undefined;
}

/** Where resources are kept. */
export interface Store extends Reader {
  /**
   * One page of a list, and the number of its resources. A list that an index answers is read at once. Any other is a scan: it waits for
   * its turn and has a time limit. Throws `unavailable` when too many scans wait or the time is up.
   */
  page<F extends Fields>(type: ResourceType<F>, query: PageQuery, turn: Turn): Promise<Page<F>>;
  /**
   * Runs `work` in a transaction of its own: all of it or nothing. Resolves once the result is on disk.
   * What `work` throws is rethrown after the rollback. `work` must wait for nothing but its writer.
   */
  write<T>(work: (writer: Writer) => Promise<T>): Promise<T>;
  /** How often this process has changed resources of `type`; changes that are not committed yet count as well. */
  changes(type: ResourceType): number;
  /** Whether no other process can change anything: what was read then holds while `changes` stays the same. */
  readonly exclusive: boolean;
  /** Resolves when the database answers, else throws `unavailable`. */
  ping(): Promise<void>;
  /** Waits for writes that are under way and lets the database go. */
  close(): Promise<void>;
}

/** Returns the time as `YYYY-MM-DDTHH:MM:SS.ffffff` in UTC, later than every time before unless the system's clock was set back by more than 2 s. */
export type Clock = () => string;

/**
 * Turns a token into its caller; undefined for a token that is unknown, expired, or revoked, at the latest half a second after another process
 * did that. Throws `unavailable` when that cannot be told.
 */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/**
 * The caller of a token that is known to be valid without asking a database or an identity service; undefined for every other
 * token, of which `Authenticate` must decide.
 */
export type KnownCaller = (token: string) => Caller | undefined;
