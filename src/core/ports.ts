import type { AuditEntry } from './audit-record.ts';
import type { Caller } from './caller.ts';
import type { Condition, ListQuery, PageQuery, Keyed } from './query.ts';
import type { Fields, IndexReader, Resource, ResourceOf, ResourceType } from './resource.ts';

export interface Page<F extends Fields = Fields> {
  readonly resources: ResourceOf<F>[];
  readonly more: boolean;
  /** The number of resources on all pages. Undefined if the store did not count them. */
  readonly total: number | undefined;
}

/** A name server and the lines of its configuration, outside Tsigil's part, that name keys. */
export interface ReferencingServer {
  readonly name: string;
  /** Null if the configuration could not be read. */
  readonly key_references: readonly { readonly key: string; readonly place: string }[] | null;
  /** The names of keys that are not Tsigil's. */
  readonly unknown_keys: readonly string[];
}

/** Reads committed data. Every method throws `unavailable` if the database does not respond. */
export interface Reader extends IndexReader {
  get<F extends Fields>(type: ResourceType<F>, id: string): Promise<ResourceOf<F> | undefined>;
  list<F extends Fields>(type: ResourceType<F>, query: ListQuery): Promise<ResourceOf<F>[]>;
  count(type: ResourceType, conditions: readonly Condition[]): Promise<number>;
  /** Returns the rights that the grants of a key state for single zones, by the ids of the zones. */
  zoneRights(keyId: string): Promise<ReadonlyMap<string, string>>;
  /**
   * Returns whether a name, in comparison form, is the handle of a lineage without a key of this name,
   * or the name of a retired key.
   */
  reservation(name: string): Promise<'handle' | 'retired' | undefined>;
  /**
   * Returns at most 1,000 name servers of a pool whose configuration names keys, in the order of their
   * names. Reading whole name servers takes as long as the rest of a deletion.
   */
  referencingServers(poolId: string): Promise<readonly ReferencingServer[]>;
  /** In how many zones, or whether in `zoneId`, grants for single zones give keys which rights. */
  grantedZones(
    keyIds: readonly string[],
    zoneId?: string,
  ): Promise<readonly { keyId: string; rights: string; zones: number }[]>;
}

/**
 * Several transactions can hold a shared lock, to rely on a fact. Only one can hold an exclusive
 * lock, to change it. The fact is one key of a type, or all its resources.
 */
export interface Lock {
  readonly type: ResourceType;
  /** A name or an id. Absent for all resources of the type. */
  readonly key?: string;
  readonly exclusive: boolean;
}

/** By ids, the name servers whose desired state a transaction may change. */
export interface Affected {
  /** All name servers of these pools are affected. */
  readonly pools: Set<string>;
  /** All name servers of the zones' pools are affected. */
  readonly zones: Set<string>;
  /** The name servers that were created or changed. */
  readonly servers: Set<string>;
  readonly deletedServers: Set<string>;
  readonly keys: Set<string>;
  readonly changedKeys: Set<string>;
  /** What is known of the removal of deleted keys, by their ids. */
  readonly removals: Map<string, Removal>;
  readonly deletedZones: Set<string>;
}

export interface Removal {
  /** The id of the key that replaces it, or null. */
  readonly successorId: string | null;
  readonly isCompromised: boolean;
}

export interface Writer extends Reader {
  /**
   * Acquires `locks` before the next read or change, and holds them until the end of the
   * transaction. Waits while another transaction holds a conflicting lock. Absent if transactions
   * run one after another.
   */
  readonly lock?: ((locks: readonly Lock[]) => void) | undefined;
  /** No other transaction can change the resource until this transaction ends. */
  getToChange<F extends Fields>(
    type: ResourceType<F>,
    id: string,
  ): Promise<ResourceOf<F> | undefined>;
  /** Throws `duplicate` for a value that is not unique, perhaps only as the transaction ends. */
  insert(type: ResourceType, resource: Keyed<Resource>): Promise<void>;
  /** Replaces the resource with the same id. Throws `duplicate` like `insert`. */
  replace(type: ResourceType, resource: Keyed<Resource>): Promise<void>;
  /** Replaces the rights of a key in single zones. All zones must exist. */
  setZoneRights(keyId: string, zones: ReadonlyMap<string, string>): Promise<void>;
  /** Marks the keys of a deleted pool or zone as orphaned. */
  orphanKeys(resourceId: string): Promise<void>;
  /** Returns whether the resource existed. */
  remove(type: ResourceType, id: string): Promise<boolean>;
  /** Inserts resources, or replaces those whose id exists. Throws `duplicate` like `insert`. */
  putAll(type: ResourceType, resources: readonly Keyed<Resource>[]): Promise<void>;
  removeAll(type: ResourceType, ids: readonly string[]): Promise<void>;
  record(entry: AuditEntry): Promise<void>;
  /** Records that the desired state of name servers changes. Undefined if there are none. */
  announce(affected: Affected): Promise<void> | undefined;
  /**
   * Resolves once all changes so far have succeeded, so that only the commit can still fail. Throws
   * what a change throws late. Absent if no change throws late.
   */
  readonly settle?: (() => Promise<void>) | undefined;
}

export interface Turn {
  /** The id of the caller. Callers share the scans of large lists fairly. */
  readonly owner: string;
  /** Aborts when the caller disconnects. Called only for a list that needs a scan. */
  signal(): AbortSignal | undefined;
}

export interface Store extends Reader {
  /**
   * A query that no index serves is a scan, which waits for a slot and has a time limit. Throws
   * `unavailable` if too many scans wait or the time limit expires.
   */
  page<F extends Fields>(type: ResourceType<F>, query: PageQuery, turn: Turn): Promise<Page<F>>;
  countUpTo(type: ResourceType, conditions: readonly Condition[], most: number): Promise<number>;
  /**
   * Runs `work` in its own transaction. Resolves once the result is on disk. Rolls back and
   * rethrows any error of `work`. `work` may await only methods of its writer.
   */
  write<T>(work: (writer: Writer) => Promise<T>): Promise<T>;
  /**
   * Records the last use of tokens, by id: sets `last_used_at` of each token that was not used
   * after `before`. A use does not count as a change: caches stay valid, and `changes` stays the
   * same. Resolves once the times are on disk.
   */
  noteUses(uses: ReadonlyMap<string, string>, before: string): Promise<void>;
  /** Sets the last use, unless a later one is stored. Like the use of a token, it is no change. */
  noteSeen(sessionId: string, at: string): Promise<void>;
  /** The number of changes by this process, including uncommitted changes. */
  changes(type: ResourceType): number;
  /** Calls all listeners of `onAnnounced`, including the listeners of other processes. */
  announced(): void;
  /**
   * Calls `wake` after each commit of a transaction that affects name servers. For a commit of
   * another process, calls `wake` when the database sends a notification. Returns a function that
   * stops the calls.
   */
  onAnnounced(wake: () => void): () => Promise<void>;
  /** True if no other process can write: data read stay valid while `changes` is the same. */
  readonly exclusive: boolean;
  /** Resolves if the database responds. Otherwise throws `unavailable`. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Returns the time as `YYYY-MM-DDTHH:MM:SS.ffffff` in UTC. Each time is later than all earlier
 * results, unless the system clock was set back by more than 2 s.
 */
export type Clock = () => string;

/**
 * Returns the caller of a token, or undefined for an unknown, expired or revoked token. A
 * revocation by another process takes effect within 0.5 s. Throws `unavailable` if the token cannot
 * be checked.
 */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/** Like `Authenticate`, but undefined if a database or an identity service must be asked. */
export type KnownCaller = (token: string) => Caller | undefined;
