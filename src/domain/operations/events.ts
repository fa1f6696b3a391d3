import type { AuditRecord } from '../audit/record.ts';
import type { Caller } from '../model/caller.ts';
import { isObject } from '../model/field.ts';
import type { Resource, ResourceType } from '../model/resource.ts';
import { retiredKey } from '../resources/lineage.ts';
import { may } from '../resources/policy.ts';
import { RESOURCE_TYPES } from '../resources/resources.ts';
import { session } from '../resources/session.ts';
import { token } from '../resources/token.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { formatPosition } from './audit-list.ts';
import type { Dependencies } from './change.ts';
import { isVisible } from './visibility.ts';

/** A change of a resource, without values. */
export interface ChangeEvent {
  /** The position of the event, which is also a cursor. */
  readonly id: string;
  /** The noun of the resource type and what happened, such as `tsigkey.create`. */
  readonly type: string;
  readonly time: string;
  readonly resource_type: string;
  /** Null for a change of several resources. */
  readonly resource_id: string | null;
  readonly resource_name: string | null;
  /** The project of the resource. Null for a resource that belongs to no project. */
  readonly project_id: string | null;
  /** The names of the members that changed. */
  readonly changed: readonly string[];
  readonly name_server: string | null;
  readonly request_id: string | null;
}

/** The operations in the names of actions that change nothing. */
const READS: ReadonlySet<string> = new Set(['list', 'get', 'export', 'reveal', 'desired']);

type Members = Readonly<Record<string, unknown>>;

interface Candidate {
  readonly record: AuditRecord;
  readonly resourceType: ResourceType;
  readonly type: string;
}

/**
 * Returns the changes in records that the caller can see, as it can see their resources: with the
 * right to list them, in its project, and within the limits of its token. `isWanted` chooses types.
 *
 * A deleted resource is seen by who could see it last, as far as records on the same page say so.
 */
export async function eventsIn(
  { store, policy }: Pick<Dependencies, 'store' | 'policy'>,
  caller: Caller,
  records: readonly AuditRecord[],
  isWanted: (type: string) => boolean,
): Promise<ChangeEvent[]> {
  const candidates = records
    .flatMap((record) => candidateOf(record) ?? [])
    .filter(
      ({ resourceType, type }) =>
        isWanted(type) && may(policy, caller, `${resourceType.collection}:list`),
    );
  const resources = await resourcesOf(store, caller, candidates, records);
  const events: ChangeEvent[] = [];
  for (const candidate of candidates) {
    const { resourceType, record } = candidate;
    const { owner } = resourceType;
    const id = record.resource_id;
    if (id === null || (owner === undefined && caller.limits === undefined)) {
      events.push(eventOf(candidate, null));
      continue;
    }
    const resource = resources.get(id);
    if (resource === undefined) {
      if (caller.allProjects && caller.limits === undefined) events.push(eventOf(candidate, null));
      continue;
    }
    // safe: only its members that limits and owners name are read, and may be absent
    const isShown = isVisible(store, resourceType, caller, resource as Resource);
    if (typeof isShown === 'boolean' ? isShown : await isShown)
      events.push(eventOf(candidate, owner === undefined ? null : resource[owner]));
  }
  return events;
}

/** Returns whether records contain a change of the caller's own token or session. */
export function concernsCaller(records: readonly AuditRecord[], caller: Caller): boolean {
  return records.some(
    ({ resource_type: type, resource_id: id }) =>
      id !== null &&
      ((type === token.collection && id === caller.id) ||
        (type === session.collection && id === caller.session?.id)),
  );
}

/** Returns what a record says has changed. Undefined for reads, refusals, and all else. */
function candidateOf(record: AuditRecord): Candidate | undefined {
  const { action, outcome } = record;
  if (outcome !== 'success') return undefined;
  const [, place, sign, done] = /^([a-z_]+)([:.])([a-z_.-]+)$/.exec(action) ?? [];
  const resourceType = RESOURCE_TYPES.find(
    ({ noun, collection }) => place === (sign === ':' ? collection : noun),
  );
  if (resourceType === undefined || done === undefined || READS.has(done)) return undefined;
  return { record, resourceType, type: `${resourceType.noun}.${done}` };
}

function eventOf({ record, resourceType, type }: Candidate, project: unknown): ChangeEvent {
  const { batch, seq, at, resource_id: id, resource_name: name, detail } = record;
  return {
    id: formatPosition({ batch: batch ?? 0, seq }),
    type,
    time: at,
    resource_type: resourceType.collection,
    resource_id: id,
    resource_name: id === null ? null : name,
    project_id: typeof project === 'string' ? project : null,
    changed: Object.keys(changesIn(record)),
    name_server: typeof detail.name_server === 'string' ? detail.name_server : null,
    request_id: record.request_id,
  };
}

function changesIn({ detail: { changes } }: AuditRecord): Members {
  return isObject(changes) ? changes : {};
}

/**
 * Returns the resources whose members decide who can see the candidates, by id: as they are now, or
 * else as the records last show them.
 */
async function resourcesOf(
  store: Pick<Dependencies['store'], 'find'>,
  { limits }: Caller,
  candidates: readonly Candidate[],
  records: readonly AuditRecord[],
): Promise<ReadonlyMap<string, Members>> {
  const found = new Map<string, Members>();
  const restricted = candidates.filter(
    ({ resourceType: { owner }, record }) =>
      (owner !== undefined || limits !== undefined) && record.resource_id !== null,
  );
  if (restricted.length === 0) return found;
  const wanted = new Set(restricted.map(({ record }) => record.resource_id));
  for (const record of records) {
    const id = record.resource_id;
    if (id === null || !wanted.has(id) || record.outcome !== 'success') continue;
    const members = Object.entries(changesIn(record)).map(([name, values]): [string, unknown] => {
      const pair: readonly unknown[] = Array.isArray(values) ? values : [];
      const [before, after] = pair;
      return [name, after ?? before];
    });
    found.set(id, { ...found.get(id), ...Object.fromEntries(members), id });
  }
  for (const type of new Set(restricted.map(({ resourceType }) => resourceType))) {
    const own = restricted.filter(({ resourceType }) => resourceType === type);
    const ids = [...new Set(own.flatMap(({ record }) => record.resource_id ?? []))];
    for (const each of type === tsigkey ? [retiredKey, type] : [type])
      for (const resource of await store.find(each, 'id', ids)) found.set(resource.id, resource);
  }
  return found;
}
