import { suffixes, treeForm } from '../core/text/dns-name.ts';
import { millisecondsOf } from '../core/text/timestamps.ts';
import { ServiceError } from '../core/errors.ts';
import { normaliseUuid } from '../core/field.ts';
import { DEFAULT_POOL_ID, pool } from './pool.ts';
import type { Lock, Reader } from '../core/ports.ts';
import { type Condition, uniqueFormOf, type Keyed } from '../core/query.ts';
import type { Admission, Admitted, Change, LockContext, ResourceType } from '../core/resource.ts';
import { CHOOSE_POOL, DELETED, type Zone, type zoneFields } from './zone-fields.ts';
import { coveringNames, findTldEntries, findZoneNameRefusal } from './zone-name-rule.ts';
import { tld } from './tld.ts';
import { zone } from './zone.ts';
import { assertZoneUnreferenced } from './reference-rules.ts';

type ZoneFields = typeof zoneFields;

/** What the creation or deletion of a zone depends on. Other changes depend on nothing. */
export function zoneLocks(change: Change<ZoneFields>, context: LockContext): readonly Lock[] {
  switch (change.operation) {
    case 'create':
      return newZoneLocks(change, context);
    case 'update':
      return [];
    case 'delete':
      // Locks the name, because no other request may create a zone below it. Locks the id,
      // because a key may refer to it.
      return [change.uniqueForm, change.resource.id].map((key) => ({
        type: zone,
        key,
        exclusive: true,
      }));
  }
}

/**
 * A new zone depends on its pool, the zones above its name, and the names that the TLD rule reads.
 * The new zone affects the zones below its name. Whether any TLD entry exists needs no lock. The
 * rule reads this fact once, while the transaction holds all its locks.
 */
function newZoneLocks(
  { resource, uniqueForm: name }: Keyed<Pick<Zone, 'pool_id' | 'attributes'>>,
  { caller, settings }: LockContext,
): readonly Lock[] {
  const poolId = requestedPool(resource).id;
  const shared = (type: ResourceType) => (key: string) => ({ type, key, exclusive: false });
  return [
    ...[name, ...coveringNames(name, settings.tldRule)].map(shared(tld)),
    ...suffixes(name).slice(1, -1).map(shared(zone)), // no zone has a name of one label
    { type: zone, key: name, exclusive: true },
    ...(poolId === DEFAULT_POOL_ID ? [] : [shared(pool)(poolId)]), // the default pool always exists
    ...(settings.zonesPerProject === 0
      ? []
      : [{ type: zone, key: `project ${caller.projectId}`, exclusive: true }]),
  ];
}

/**
 * Applies the rules about a change to a zone, in the transaction of the change. Checks a creation
 * in this order: type, project, quota, TLD entries, zones of other projects above and below, pool.
 */
export async function admitZone(
  change: Change<ZoneFields>,
  transaction: Reader,
  admission: Admission,
): Promise<Admitted<ZoneFields>> {
  switch (change.operation) {
    case 'create':
      return { resource: await admitCreation(change, transaction, admission) };
    case 'update':
      return {
        resource: {
          ...change.resource,
          version: change.resource.version + 1,
          serial: nextSerial(change, admission.now),
        },
      };
    case 'delete':
      await assertNoSubzones(change, transaction, admission);
      if (!admission.force) await assertZoneUnreferenced(change.resource, transaction, admission);
      return { resource: { ...change.resource, ...DELETED } };
  }
}

async function admitCreation(
  { resource, uniqueForm: name }: Keyed<Zone>,
  transaction: Reader,
  admission: Admission,
): Promise<Zone> {
  const { caller, settings, now } = admission;
  if (resource.type === 'CATALOG') throw new ServiceError('forbidden');
  if (caller.projectId === null) {
    throw new ServiceError('missing_project_id');
  }
  // PostgreSQL runs these reads in one round trip.
  const [zones, entries, foreign] = await Promise.all([
    settings.zonesPerProject === 0 ? 0 : countZones(caller.projectId, transaction),
    findTldEntries(transaction, [name], settings.tldRule),
    findForeignZones(name, caller.projectId, transaction),
  ]);
  if (settings.zonesPerProject !== 0 && zones >= settings.zonesPerProject)
    throw new ServiceError('over_quota', 'zones');
  const refusal = findZoneNameRefusal(name, entries, settings.tldRule);
  if (refusal !== undefined) throw new ServiceError('invalid_zone_name', refusal);
  if (foreign !== undefined) throw foreign;
  return {
    ...resource,
    project_id: caller.projectId,
    pool_id: await choosePool(resource, transaction, admission),
    serial: resource.type === 'SECONDARY' ? 1 : unixSeconds(now),
  };
}

function countZones(projectId: string, transaction: Reader): Promise<number> {
  return transaction.count(zone, [{ field: 'project_id', test: '=', value: projectId }]);
}

/** Returns the error for a new zone if another project has a zone at, above or below this name. */
async function findForeignZones(
  name: string,
  projectId: string,
  transaction: Reader,
): Promise<ServiceError | undefined> {
  const foreign: Condition = { field: 'project_id', test: '<>', value: projectId };
  const around = suffixes(name).slice(0, -1); // no zone has a name of one label
  const [found, hasBelow] = await Promise.all([
    transaction.find(zone, 'name', around),
    transaction.exists(zone, [...below(name), foreign]),
  ]);
  const others = found.filter((other) => other.project_id !== projectId);
  if (others.some((other) => uniqueFormOf(zone, other) === name))
    return new ServiceError('duplicate', { type: zone });
  if (others.length > 0) return new ServiceError('illegal_child');
  return hasBelow ? new ServiceError('illegal_parent') : undefined;
}

/** Returns the conditions for the zones below a name. These zones are a range of the tree index. */
function below(name: string): Condition[] {
  const start = treeForm(name);
  return [
    { lookup: 'tree', test: '>', value: start },
    { lookup: 'tree', test: '<', value: `${start.slice(0, -1)}/` }, // the character after the dot
  ];
}

/** `attribute` is the pool id in the attributes of the zone, if any. */
export function requestedPool({
  pool_id: requested,
  attributes,
}: Pick<Zone, 'pool_id' | 'attributes'>): {
  readonly id: string;
  readonly attribute: string | undefined;
} {
  const named = attributes.pool_id;
  const attribute = named === undefined ? undefined : (normaliseUuid(named) ?? named);
  return { id: requested ?? attribute ?? DEFAULT_POOL_ID, attribute };
}

async function choosePool(
  resource: Zone,
  transaction: Reader,
  { requireRight }: Admission,
): Promise<string> {
  const { id, attribute } = requestedPool(resource);
  if (attribute !== undefined && attribute !== id)
    throw new ServiceError('no_valid_pool_found', {});
  if (id === DEFAULT_POOL_ID) return id; // the default pool always exists
  requireRight(CHOOSE_POOL);
  if ((await transaction.get(pool, id)) === undefined)
    throw new ServiceError('no_valid_pool_found', { id });
  return id;
}

/** Serial number arithmetic (RFC 1982) is not needed before 2106. */
function nextSerial(
  { resource, current }: Change<ZoneFields> & { operation: 'update' },
  now: string,
): number {
  const { serial } = current;
  const changed =
    resource.type === 'PRIMARY' &&
    (resource.email !== current.email || resource.ttl !== current.ttl);
  return changed ? Math.max(unixSeconds(now), serial + 1) : serial;
}

async function assertNoSubzones(
  { resource, uniqueForm }: Keyed<Zone>,
  transaction: Reader,
  { visibleNames }: Admission,
): Promise<void> {
  const samePool: Condition = { field: 'pool_id', test: '=', value: resource.pool_id ?? '' };
  const subzones = [...below(uniqueForm), samePool];
  if (await transaction.exists(zone, subzones))
    throw new ServiceError('zone_has_sub_zone', await visibleNames(zone, subzones));
}

function unixSeconds(now: string): number {
  return Math.floor(millisecondsOf(now) / 1000);
}
