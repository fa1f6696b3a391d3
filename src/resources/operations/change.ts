import { isDeepStrictEqual } from 'node:util';
import type { AuditOrigin, AuditSubject } from '../../core/audit-record.ts';
import type { Recording } from '../../core/recording.ts';
import type { Grants } from '../grants.ts';
import { GRANT_RIGHT } from '../limits.ts';
import { tsigkey, type Tsigkey } from '../tsigkey.ts';
import type { Clock, Reader, Removal, Store, Writer } from '../../core/ports.ts';
import type {
  Admitted,
  Change,
  Draft,
  Fields,
  Given,
  Resource,
  ResourceOf,
  ResourceType,
} from '../../core/resource.ts';
import { admitChange, assertWithinLimits, type AdmissionDependencies } from './admission.ts';
import { retiredKey, type RetiredKey } from '../lineage.ts';
import { admitGrants, grantsOfKey } from '../grant-rules.ts';
import type { ServerStatuses } from './live-status.ts';
import { rulesOf } from '../rules.ts';
import type { Slicer } from '../../core/scheduling/slicer.ts';
import { keyed, type Keyed } from '../../core/query.ts';

export interface Dependencies extends AdmissionDependencies {
  readonly store: Store;
  readonly clock: Clock;
  /** What features add to every change, in this order. */
  readonly hooks: readonly ChangeHook[];
  /** Returns a new random UUID (version 4, RFC 9562), in lower case. */
  newId(): string;
  /** Makes this process reject the token with this id until the process exits. */
  onTokenRevoked(id: string): void;
  /** The status of delivery. If absent, responses have the stored status of name servers. */
  readonly delivery?: ServerStatuses | undefined;
  warn(warning: Warning): void;
  /** The recording in the audit trail. If absent, all secrets in records have one fingerprint. */
  readonly recording?: Recording | undefined;
}

export interface Warning {
  readonly type: ResourceType;
  readonly id: string;
  /** Undefined for a change by the service itself. */
  readonly requestId: string | undefined;
  readonly message: string;
}

export interface ChangeContext extends AuditOrigin {
  /** The right of an action, for the record of its change. The default is that of the operation. */
  readonly right?: string | undefined;
  /** The name of an action that changes many resources, for the audit trail. */
  readonly action?: string | undefined;
  /** Further members of `detail` in the record, with `action`. */
  readonly detail?: Readonly<Record<string, unknown>>;
  /** Receives the messages of all warnings after the commit. */
  readonly warnings?: string[];
  readonly force?: boolean;
}

/** Begins what a feature adds to a change. Called anew as each run of the work begins. */
export type ChangeHook = (context: ChangeContext, dependencies: Dependencies) => ChangeNotes;

/** What a feature notes of one run of a change. All methods but the last run in the transaction. */
interface ChangeNotes {
  /** Called before a deleted key is noted. Returns the id of the key that replaces it, or null. */
  leaving?(rows: Rows, keyId: string): Promise<string | null>;
  noted?(type: ResourceType, change: NotedChange): void;
  event?: Changes['event'];
  deliver?: Changes['deliver'];
  /** Called after the work, to write what was noted. */
  finish?(writer: Writer): Promise<void> | undefined;
  /** Called after the commit. */
  committed?(): void;
}

/** Reads and changes rows that belong to keys. */
export type Rows = Pick<Changes, 'get' | 'getToChange' | 'find' | 'put' | 'drop'>;

/** One change of a resource, as it is stored. */
export interface NotedChange {
  readonly operation: Change['operation'];
  readonly resource: Resource;
  /** The resource before an update. */
  readonly current?: Resource | undefined;
  readonly recorded?: Admitted['recorded'];
  /** The right of the change, if it is not that of the operation. */
  readonly right?: string;
  /** What is known of the deletion of a key. */
  readonly removal?: Removal | undefined;
}

export type ChangeEvent = Omit<AuditSubject, 'at'>;

/** The rules of the resource type check every change, and may throw `ServiceError`. */
export interface Changes extends Pick<Writer, keyof Reader | 'getToChange'> {
  /**
   * Prevents other transactions from changing resources of a type, and the resources that `changes`
   * depend on. Call this function first in a transaction that reads many resources to decide how to
   * change them.
   */
  lockType<F extends Fields>(type: ResourceType<F>, changes?: readonly Change<F>[]): void;
  /**
   * Returns a new timestamp, later than all earlier timestamps. With one writer, resources become
   * visible in the order of their timestamps, because the transaction creates the timestamps.
   */
  now(): string;
  create<F extends Fields>(type: ResourceType<F>, draft: Keyed<Draft<F>>): Promise<Admitted<F>>;
  /** Changes the members `given`, and returns the whole resource. Throws `duplicate`. */
  update<F extends Fields>(
    type: ResourceType<F>,
    current: ResourceOf<F>,
    given: Given<F>,
  ): Promise<ResourceOf<F>>;
  /** Null takes the grants away. The key itself stays as it is, except for its version. */
  grant(current: Tsigkey, grants: Grants | null): Promise<void>;
  /** Stores a row that belongs to the changed keys, and has no record of its own. */
  put<F extends Fields>(type: ResourceType<F>, row: ResourceOf<F>): Promise<void>;
  /** Deletes a row that `put` has stored. */
  drop(type: ResourceType, id: string): Promise<void>;
  /** Removes a key from all name servers, and stores it as `retired`, unless this is undefined. */
  retire(key: Tsigkey, retired: RetiredKey | undefined, successorId: string): Promise<void>;
  /** Makes a pass for each name server of a key, because what the key's row says has changed. */
  deliver(key: Tsigkey): void;
  restore(key: Tsigkey, zoneRights: ReadonlyMap<string, string>): Promise<void>;
  /** Adds a record of the audit trail, which is written even if no resource is changed. */
  event(event: ChangeEvent): void;
  /** Returns it as responses have it. Name servers refuse a compromised key before all else. */
  remove<F extends Fields>(
    type: ResourceType<F>,
    resource: ResourceOf<F>,
    isCompromised?: boolean,
  ): Promise<ResourceOf<F>>;
  /** Makes many changes to resources of one type, in slices. Throws `duplicate`. */
  applyAll<F extends Fields>(
    type: ResourceType<F>,
    changes: readonly Change<F>[],
    slicer: Slicer,
  ): Promise<void>;
}

/**
 * Runs `work` in a transaction. Every change of a resource uses this function. Applies the rules of
 * the type, and calls the hooks, which write what features add, such as the record of the audit
 * trail. Warns the operator and the caller after the commit. Resolves once the changes are on disk.
 * `work` may run several times, and may await only methods of `changes`. It has no effect outside
 * the transaction, because a change may fail only after `work`, such as an insert with `duplicate`;
 * `publish` has such effects, and receives the result when only the commit can still fail. Rethrows
 * any error of `work` and `publish` after the rollback. Throws `unavailable`.
 */
export async function change<T>(
  dependencies: Dependencies,
  context: ChangeContext,
  work: (changes: Changes) => Promise<T>,
  publish?: (result: T) => void,
): Promise<T> {
  let warnings: Warning[] = [];
  let notes: readonly ChangeNotes[] = [];
  const { requestId } = context;
  const warn: Warn = (type, { resource, warnings: further = [] }) => {
    const messages = [...(type.warnings?.(resource) ?? []), ...further];
    for (const message of messages) warnings.push({ type, id: resource.id, requestId, message });
  };
  const result = await dependencies.store.write(async (writer) => {
    warnings = [];
    notes = dependencies.hooks.map((begin) => begin(context, dependencies));
    const value = await work(changesOn(writer, dependencies, context, warn, notes));
    for (const each of notes) {
      const written = each.finish?.(writer);
      if (written !== undefined) await written; // a wait for nothing costs as much as a hook
    }
    if (publish !== undefined) {
      await writer.settle?.();
      publish(value);
    }
    return value;
  });
  for (const each of notes) each.committed?.();
  for (const warning of warnings) dependencies.warn(warning);
  context.warnings?.push(...warnings.map(({ message }) => message));
  return result;
}

type Warn = (type: ResourceType, admitted: Admitted) => void;

function changesOn(
  writer: Writer,
  dependencies: Dependencies,
  origin: ChangeContext,
  warn: Warn,
  notes: readonly ChangeNotes[],
): Changes {
  const { caller } = origin;
  const context = { caller, settings: dependencies.settings };
  const admit = <F extends Fields>(
    type: ResourceType<F>,
    change: Change<F>,
    now: string,
  ): Promise<Admitted<F>> => {
    writer.lock?.([{ type, exclusive: false }, ...(rulesOf(type)?.locks(change, context) ?? [])]);
    return admitChange(dependencies, origin, type, change, writer, now);
  };
  const lockType = <F extends Fields>(
    type: ResourceType<F>,
    changes: readonly Change<F>[] = [],
  ): void =>
    writer.lock?.([
      { type, exclusive: true },
      ...changes.flatMap((change) => rulesOf(type)?.locks(change, context) ?? []),
    ]);
  const rows: Rows = {
    get: writer.get,
    getToChange: writer.getToChange,
    find: writer.find,
    put: (type, row) => writer.putAll(type, [keyed(type, row)]),
    async drop(type, id) {
      await writer.remove(type, id);
    },
  };
  const note = (type: ResourceType, change: NotedChange): void => {
    for (const each of notes) each.noted?.(type, change);
  };
  const removalOf = async (keyId: string, isCompromised = false): Promise<Removal> => {
    let successorId: string | null = null;
    for (const { leaving } of notes)
      if (leaving !== undefined) successorId = (await leaving(rows, keyId)) ?? successorId;
    return { successorId, isCompromised };
  };
  return {
    // Separate assignments, because spreading the writer takes longer than the rest of the call.
    get: writer.get,
    getToChange(type, id) {
      writer.lock?.([{ type, exclusive: false }]); // before the lock on the resource, as in `lockType`
      return writer.getToChange(type, id);
    },
    lockType,
    find: writer.find,
    present: writer.present,
    list: writer.list,
    count: writer.count,
    exists: writer.exists,
    zoneRights: writer.zoneRights,
    reservation: writer.reservation,
    referencingServers: writer.referencingServers,
    grantedZones: writer.grantedZones,
    now: dependencies.clock,
    async create(type, { resource: draft, uniqueForm }) {
      const admitted = await admit(
        type,
        { operation: 'create', resource: draft, uniqueForm },
        draft.created_at,
      );
      const { resource } = admitted;
      await writer.insert(type, { resource, uniqueForm });
      if (admitted.zoneRights !== undefined && admitted.zoneRights.size > 0)
        await writer.setZoneRights(resource.id, admitted.zoneRights);
      note(type, { operation: 'create', resource, recorded: admitted.recorded });
      warn(type, admitted);
      return admitted;
    },
    async update(type, current, given) {
      const now = dependencies.clock();
      const changed = keyed(type, { ...current, ...given, updated_at: now });
      const { uniqueForm } = changed;
      const admitted = await admit(type, { operation: 'update', ...changed, current, given }, now);
      const { resource } = admitted;
      await writer.replace(type, { resource, uniqueForm });
      note(type, { operation: 'update', resource, current });
      warn(type, admitted);
      return resource;
    },
    async grant(current, grants) {
      const change = {
        operation: 'update',
        ...keyed(tsigkey, current),
        current,
        given: {},
      } as const;
      if (caller.limits !== undefined) await assertWithinLimits(caller, tsigkey, change, writer);
      const former = await grantsOfKey(writer, current);
      const admitted = await admitGrants(current, grants, former, writer, caller);
      if (isDeepStrictEqual(former, grants)) return;
      const { granted, zoneRights } = admitted;
      const resource = { ...current, granted, version: current.version + 1 };
      await writer.replace(tsigkey, { resource, uniqueForm: change.uniqueForm });
      await writer.setZoneRights(current.id, zoneRights);
      const { recorded } = admitted;
      note(tsigkey, { operation: 'update', resource, current, recorded, right: GRANT_RIGHT });
    },
    put: rows.put,
    drop: rows.drop,
    async retire(key, retired, successorId) {
      await writer.remove(tsigkey, key.id);
      const removal = { successorId, isCompromised: false };
      note(tsigkey, { operation: 'delete', resource: key, removal });
      if (retired !== undefined) await writer.insert(retiredKey, keyed(retiredKey, retired));
    },
    deliver(key) {
      for (const each of notes) each.deliver?.(key);
    },
    async restore(resource, zoneRights) {
      const creation = { operation: 'create', ...keyed(tsigkey, resource) } as const;
      if (caller.limits !== undefined) await assertWithinLimits(caller, tsigkey, creation, writer);
      await writer.insert(tsigkey, creation);
      if (zoneRights.size > 0) await writer.setZoneRights(resource.id, zoneRights);
      note(tsigkey, creation);
      warn(tsigkey, { resource });
    },
    event(event) {
      for (const each of notes) each.event?.(event);
    },
    async remove(type, resource, isCompromised) {
      const deletion = { operation: 'delete', ...keyed(type, resource) } as const;
      const removed = await admit(type, deletion, dependencies.clock());
      await writer.remove(type, resource.id);
      if (type.hasKeys === true) await writer.orphanKeys(resource.id);
      const removal = isKeys(type) ? await removalOf(resource.id, isCompromised) : undefined;
      note(type, { operation: 'delete', resource, removal });
      return removed.resource;
    },
    async applyAll(type, changes, slicer) {
      const stored: Keyed<Resource>[] = [];
      const removed: string[] = [];
      const hasRules = rulesOf(type)?.admit !== undefined || caller.limits !== undefined;
      if (hasRules) lockType(type, changes);
      for (const next of changes) {
        if (slicer.isOver()) await slicer.next();
        const admitted = hasRules ? await admit(type, next, dependencies.clock()) : next;
        if (next.operation === 'delete') {
          const { resource } = next;
          removed.push(resource.id);
          const removal = isKeys(type) ? await removalOf(resource.id) : undefined;
          note(type, { operation: 'delete', resource, removal });
        } else {
          const { resource } = admitted;
          stored.push({ resource, uniqueForm: next.uniqueForm });
          const current = next.operation === 'update' ? next.current : undefined;
          note(type, { operation: next.operation, resource, current });
          warn(type, admitted);
        }
      }
      await writer.removeAll(type, removed);
      await writer.putAll(type, stored);
    },
  };
}

function isKeys({ collection }: Pick<ResourceType, 'collection'>): boolean {
  return collection === tsigkey.collection;
}
