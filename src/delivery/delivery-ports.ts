import type { AuditEntry } from '../core/audit-record.ts';
import type { Fault } from '../core/fault.ts';
import type { FoundState } from '../resources/name-server-status.ts';
import type { Right } from '../access/rights.ts';
import type { NameServer } from '../resources/name-server.ts';
import type { ServerStatus, ServerStatuses } from '../resources/operations/live-status.ts';
import type { Removal } from '../core/ports.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import type { DesiredState } from '../brands/desired-state.ts';
import type { LogRecord } from './log-protocol.ts';
import type { RemovingKeys, ShownRequirement } from './responses.ts';

/** A key that may belong on a name server, and the zones that it applies to. */
export interface Candidate {
  readonly key: Tsigkey;
  readonly zones: 'all' | readonly string[];
  /** The rights that the grants of the key state for single zones, by the names of the zones. */
  readonly zoneRights: ReadonlyMap<string, string>;
  /** The id of the key that replaces this one, once all clients have it. */
  readonly successorId?: string | undefined;
}

export interface Desire {
  readonly state: DesiredState;
  readonly undeliverable: readonly Undeliverable[];
  /** The names of the retired keys of the pool, in comparison form. Absent if there are none. */
  readonly retiredNames?: readonly string[];
}

/** A key that no name server could use, or whose secret is lost or cannot be decrypted. */
export interface Undeliverable extends Fault {
  readonly key: Pick<Tsigkey, 'id' | 'name' | 'version'>;
  readonly code: 'undeliverable_key' | 'unreadable_secret';
}

/** One key on one name server, as the last pass recorded it. */
export interface Delivery {
  readonly keyId: string;
  /** The name of the key in comparison form. */
  readonly keyName: string;
  readonly state: 'pending' | 'delivered' | 'failed' | 'undeliverable' | 'removing' | 'held';
  /**
   * The version on the name server, or 0 if the name server lacks the key. For `undeliverable`, the
   * checked version. For `held`, the version that is not delivered until delivery resumes.
   */
  readonly deliveredVersion: number;
  /** For `undeliverable`, set if the name server keeps an earlier version. */
  readonly appliedAt: string | null;
  readonly verifiedAt: string | null;
  readonly error: Fault | null;
  /** For `removing`, if more is known of the removal. */
  readonly removal?: Removal | undefined;
}

/** The right to make one pass for a name server, until the lease expires. */
export interface Claim {
  readonly server: NameServer;
  /** Increases with every claim. The store rejects the record of a pass with a lower number. */
  readonly fence: number;
  readonly appliedHash: string | null;
  /** The rights of the keys in the last state that was applied as a whole. */
  readonly appliedRights: readonly Right[];
  /** The unchanged keys to probe: all keys (on request), the keys whose probe is due, or none. */
  readonly probes: 'all' | 'due' | 'none';
  /** Whether an operator confirmed the removal of any number of keys. */
  readonly isConfirmed: boolean;
  /** The stamps of this database for the name server, the newest first. */
  readonly stamps: readonly string[];
  readonly logPosition: string | null;
}

/** What recording the result of a pass needs, without secrets. */
export interface PassPlan {
  /** The outbox rows that the state includes. */
  readonly outbox: readonly string[];
  readonly probes: Claim['probes'];
  readonly state: PlannedState;
  readonly keys: PlannedKeys;
}

export interface PlannedState {
  /** Null if the pass delivers only a part of the state. */
  readonly hash: string | null;
  /** The rights of the keys. */
  readonly rights: readonly Right[];
  /** Why a part of the state waits for a confirmation, or null. */
  readonly blocked: Fault | null;
  readonly keysWanted: number;
  /** The number of keys that the pass does not deliver, because of a hold or a block. */
  readonly keysWithheld: number;
}

export interface PlannedKeys {
  /** The keys to verify. */
  readonly accepted: readonly KeyVersion[];
  /** The ids of keys without a delivery. */
  readonly additions: readonly string[];
  /** The ids of keys to remove. */
  readonly removals: readonly string[];
  /** The changed deliveries of undeliverable keys. */
  readonly undeliverable: readonly Delivery[];
  /** The ids of undeliverable keys that no longer exist. */
  readonly orphans: readonly string[];
}

/** The plan of an agent's pass, and the stamps that the name server may have. */
export interface Assignment {
  readonly plan: PassPlan;
  readonly stamps: readonly string[];
}

export interface KeyVersion {
  readonly id: string;
  readonly name: string;
  readonly version: number;
}

/** The start of a hold: a name server has a stamp that its row lacks. */
export interface Hold {
  /** The stamps to store. They include the stamp of the name server. */
  readonly stamps: readonly string[];
  readonly held: NonNullable<NameServer['held']>;
  readonly rows: readonly Delivery[];
  /** Keys that were created or changed since this time are not held. */
  readonly since: string;
}

/** The record of a successful pass. */
export interface PassRecord {
  /** The outbox rows that the pass read before the state. */
  readonly outbox: readonly string[];
  readonly found: PassFindings;
  readonly applied: {
    readonly hash: string | null;
    /** The rights of the keys. Absent if the pass did not apply the whole state. */
    readonly rights?: readonly Right[] | undefined;
    /** The time of the change. Absent if the pass did not change the name server. */
    readonly at?: string | undefined;
  };
  readonly deliveries: {
    readonly changedRows: readonly Delivery[];
    readonly removedIds: readonly string[];
    /** Records of the keys that the pass delivered or removed, for the audit trail. */
    readonly events: readonly AuditEntry[];
  };
  readonly next: {
    /** Whether the pass counts as a failed attempt. */
    readonly isFailed: boolean;
    readonly checkMs: number;
    /** The time until the next scheduled probes. Absent if the pass did not probe the due keys. */
    readonly probeMs?: number | undefined;
  };
  readonly log: LogRecord;
  /** The present stamp of the name server. Absent if not known. */
  readonly stamp?: string | undefined;
  /** How long the holder keeps its lease, in milliseconds. If 0, the lease is released. */
  readonly keepLeaseMs: number;
}

export interface PassFindings {
  readonly state: FoundState;
  readonly error: Fault | null;
  /** What a hold leaves undelivered. Null if delivery is not held. */
  readonly held: NameServer['held'];
  readonly keysWanted: number;
  readonly keysLive: number;
  /** The time of the verification. Undefined if the name server does not have all keys. */
  readonly verifiedAt: string | undefined;
  /** The names of keys on the name server that the database lacks. Undefined if not checked. */
  readonly unknownKeys: readonly string[] | undefined;
  /** The lines that name keys. Null if the configuration cannot be read. */
  readonly keyReferences: NameServer['key_references'];
}

/** The record of a failed pass. The outbox rows of the pass remain. */
export interface PassFailure {
  readonly state: FoundState;
  readonly keysWanted?: number | undefined;
  readonly outbox?: readonly string[] | undefined;
  readonly error: Fault;
  readonly log?: LogRecord | undefined;
  /**
   * The ids of keys that the pass has not begun to deliver. If no earlier pass has begun to deliver
   * a key, its delivery is removed.
   */
  readonly notBegun?: readonly string[];
  /** Returns the delay in milliseconds before the next attempt, after `attempts` failures. */
  retryMs(attempts: number): number;
  readonly stamp?: string | undefined;
  /** How long the holder keeps its lease, in milliseconds. If absent, the lease is released. */
  readonly keepLeaseMs?: number;
}

/** The state of delivery, for the reconciler. All times come from the database's clock. */
export interface DeliveryStore {
  /**
   * Returns which of these name servers have work and no holder. Work is a change in the outbox, a
   * check that is due, or a retry. Writes nothing.
   */
  due(ids: readonly string[]): Promise<string[]>;
  /** Returns undefined if there is no work, or if another holder has the lease. */
  claim(id: string, holder: string, leaseMs: number): Promise<Claim | undefined>;
  /** Extends a lease. Returns false if the lease was lost. */
  renew(id: string, holder: string, fence: number, leaseMs: number): Promise<boolean>;
  releaseAll(holder: string): Promise<void>;
  countChanges(id: string): Promise<number>;
  /** Returns the ids of a name server's outbox rows. Read the rows before the desired state. */
  outbox(id: string): Promise<string[]>;
  /** Returns whether changes other than `outbox`, which a pass has read, are pending. */
  isBehind(id: string, outbox: readonly string[]): Promise<boolean>;
  /** Returns the desired state of a name server. Reads the keys and zones of its pool in slices. */
  desired(server: NameServer): Promise<Desire>;
  deliveries(id: string): Promise<Delivery[]>;
  /**
   * Records a pass and releases the lease, in one transaction. Returns the age of the oldest
   * delivered change in seconds, or undefined if the pass delivered no change. Throws
   * `LeaseLostError` if another holder has claimed the name server, and records nothing.
   */
  record(id: string, holder: string, fence: number, pass: PassRecord): Promise<number | undefined>;
  /** Records a failure and releases the lease. Returns the number of failures in a row. */
  fail(id: string, holder: string, fence: number, failure: PassFailure): Promise<number>;
  /**
   * Writes deliveries before the first change of an apply. If the process ends during the apply,
   * new keys still count as Tsigil's. The next pass then applies its state without a comparison.
   * Stores the stamps that the name server may have from now on. Throws `LeaseLostError`.
   */
  begin(
    id: string,
    holder: string,
    fence: number,
    rows: readonly Delivery[],
    stamps: readonly string[],
  ): Promise<void>;
  /** Returns the deliveries that are held. Throws `LeaseLostError`. */
  hold(id: string, holder: string, fence: number, hold: Hold): Promise<readonly Delivery[]>;
  /**
   * Writes what recording the answer of an agent needs, before the agent gets the job: its plan, its
   * stamps, and deliveries of new keys. Unless the state is applied, the next pass applies its state
   * without a comparison, even if the agent never answers. Throws `LeaseLostError`.
   */
  assign(
    id: string,
    holder: string,
    fence: number,
    assignment: Assignment & { readonly rows: readonly Delivery[]; readonly isApplied: boolean },
  ): Promise<void>;
  /** Returns what `assign` wrote for this pass. Throws `LeaseLostError` if it is not the last one. */
  assigned(id: string, holder: string, fence: number): Promise<Assignment>;
  /** Writes deliveries before a pass. Throws `LeaseLostError`. */
  intend(id: string, holder: string, fence: number, rows: readonly Delivery[]): Promise<void>;
  /**
   * Records keys that an apply without a lease may have left on a name server. Makes the name
   * server due. The next pass applies its state without a comparison.
   */
  leave(id: string, keys: readonly Delivery[], stamp: string): Promise<void>;
  /**
   * Makes these name servers due at once. Releases their claims if no other process can hold a
   * claim.
   */
  checkNow(ids: readonly string[]): Promise<void>;
  /** Records that a process with these name servers in its configuration is alive. */
  seen(ids: readonly string[]): Promise<void>;
}

export interface AgentLease {
  readonly fence: number;
  readonly isPaused: boolean;
}

/** The leases of agents in the database. An agent keeps its lease between passes. */
export interface AgentStore {
  /**
   * Acquires or renews the lease of a name server for an agent, and records that the agent is
   * alive. Throws `agent_conflict` if another holder has the lease, or if no agent delivers the
   * keys.
   */
  poll(id: string, agent: string, leaseMs: number): Promise<AgentLease>;
  /** Returns which of these name servers have work for their agents. Writes nothing. */
  due(ids: readonly string[]): Promise<string[]>;
  /**
   * Begins a pass of an agent, with a higher fence number. Without `force`, begins a pass only if
   * there is work. Returns undefined if there is no work, if delivery is paused, or if another
   * holder has the lease.
   */
  claim(id: string, agent: string, leaseMs: number, force: boolean): Promise<Claim | undefined>;
  /** Returns the number of pending changes. Throws `LeaseLostError`. */
  renew(id: string, agent: string, fence: number, leaseMs: number): Promise<number>;
}

export class LeaseLostError extends Error {
  constructor() {
    super('Another process has claimed the name server');
    this.name = 'LeaseLostError';
  }
}

/** One key on a name server that should have the key or still has it. */
export interface KeyOnServer {
  readonly server: NameServer;
  readonly status: ServerStatus;
  /** Whether the name server is in the key's pool. */
  readonly isWanted: boolean;
  /** Whether the key was changed, or a pass was requested, since the last attempt began. */
  readonly isUntried: boolean;
  readonly delivery: Delivery | undefined;
}

/** The members of a key that determine its name servers. */
export type DeliveredKey = Pick<Tsigkey, 'id' | 'scope' | 'resource_id'>;

/** The status of delivery, for callers. */
export interface DeliveryStatus extends ServerStatuses {
  /** Returns the name servers that should have each key or still have it. */
  ofKeys(keys: readonly DeliveredKey[]): Promise<KeyOnServer[][]>;
  /** Returns deleted keys that are still on a name server, at most 1,000. */
  removing(): Promise<RemovingKeys['deliveries']>;
  /** With an audit entry, which is recorded in the same transaction, confirms removals of keys. */
  request(id: string, confirmation: AuditEntry | undefined): Promise<void>;
  /**
   * Ends the hold of these name servers, or of all. Records the audit entry in the same
   * transaction. Returns the names of the name servers whose delivery was held.
   */
  resume(id: string | undefined, entry: AuditEntry): Promise<readonly string[]>;
  /**
   * Forgets which keys on a name server are Tsigil's, and ends a pass that has not begun to change
   * it. Delivery to it must be paused. Returns how many keys these were.
   */
  release(id: string, entry: AuditEntry): Promise<number>;
  /** Makes the next pass remove a key that `unknown_keys` lists. Returns false if it does not. */
  removeKey(id: string, name: string, entry: AuditEntry): Promise<boolean>;
  /** Returns the milliseconds of a monotonic clock. */
  milliseconds(): number;
  /** Checks the requirements of a name server that this process serves. Changes nothing. */
  check(id: string): Promise<readonly ShownRequirement[]>;
  /**
   * Resolves to true after the next change of a delivery by any process, or after `ms`. Resolves to
   * false at once when the service stops, or if many requests wait already.
   */
  changed(ms: number): Promise<boolean>;
}
