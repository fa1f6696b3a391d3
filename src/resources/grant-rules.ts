import type { Caller } from '../core/caller.ts';
import { invalidObject, ServiceError, type Problem } from '../core/errors.ts';
import type { Reader } from '../core/ports.ts';
import type { Admitted } from '../core/resource.ts';
import { describeGrants, grantList, MAX_GRANTED_ZONES, type Grants } from './grants.ts';
import { isWithinLimits } from './limits.ts';
import { tsigkey, type Target, type Tsigkey } from './tsigkey.ts';
import type { Zone } from './zone-fields.ts';
import { zone } from './zone.ts';

/** What a change of grants stores, and what its audit record has. */
export type AdmittedGrants = Required<Pick<Admitted, 'zoneRights' | 'recorded'>> &
  Pick<Tsigkey, 'granted'>;

/** Returns the grants of a stored key, or null if it has none of its own. */
export async function grantsOfKey(
  reader: Pick<Reader, 'zoneRights'>,
  { id, granted }: Pick<Tsigkey, 'id' | 'granted'>,
): Promise<Grants | null> {
  return granted === null ? null : { all: granted, zones: await reader.zoneRights(id) };
}

/**
 * Applies the rules about the grants of a key. They only narrow, so each zone must exist in the
 * scope of the key. The zones of the former and of the new grants must be within the limits of the
 * caller. Throws `invalid_object` and `outside_limits`. Needs no lock: the pool and the name of a
 * zone never change, and the store refuses a zone that was deleted meanwhile.
 */
export async function admitGrants(
  key: Target,
  grants: Grants | null,
  former: Grants | null,
  transaction: Reader,
  { limits }: Caller,
): Promise<AdmittedGrants> {
  const ids = new Set([...(grants?.zones.keys() ?? []), ...(former?.zones.keys() ?? [])]);
  const found = await transaction.find(zone, 'id', [...ids]);
  const zones = new Map(found.map((each) => [each.id, each]));
  const problems = grants === null ? [] : zoneProblems(key, grants, zones);
  if (problems.length > 0) throw invalidObject(tsigkey.title, problems);
  for (const each of limits === undefined ? [] : found)
    if (!(await isWithinLimits(limits ?? {}, zone, each, transaction)))
      throw new ServiceError('outside_limits', `the zone '${each.name}' of the grants`);
  const described = (some: Grants | null) =>
    describeGrants(some, (id) => zones.get(id)?.name ?? id);
  return {
    granted: grants === null ? null : grants.all,
    zoneRights: grants?.zones ?? new Map(),
    recorded: { grants: [described(former), described(grants)] },
  };
}

function zoneProblems(
  key: Target,
  grants: Grants,
  zones: ReadonlyMap<string, Zone>,
): readonly Problem[] {
  return grantList(grants).flatMap(({ rights, zones: ids }, index) => {
    if (ids === 'all') return [];
    const path = ['grants', index, 'zones'];
    // Two grants of a request with the same rights are one in every response.
    if (ids.length > MAX_GRANTED_ZONES) {
      const message = `'grants' has ${ids.length} zones with the rights '${rights.join(', ')}'. Use at most ${MAX_GRANTED_ZONES}`;
      return [{ path, message, validator: 'maxItems' }];
    }
    return ids.flatMap((id): Problem[] => {
      if (isInScope(key, zones.get(id))) return [];
      const scope = key.scope === 'POOL' ? 'in the pool of the key' : 'the zone of the key itself';
      const message = `'grants' has the zone '${id}', which is not ${scope}. Use the ids of zones in the scope of the key`;
      return [{ path, message, validator: 'reference' }];
    });
  });
}

function isInScope({ scope, resource_id: id }: Target, found: Zone | undefined): boolean {
  return found !== undefined && (scope === 'POOL' ? found.pool_id : found.id) === id;
}

/** Returns the grants without zones that do not exist or are outside the scope of a key. */
export async function grantsInScope(
  key: Target,
  grants: Grants | null,
  reader: Pick<Reader, 'find'>,
): Promise<Grants | null> {
  if (grants === null) return null;
  const found = await reader.find(zone, 'id', [...grants.zones.keys()]);
  const ids = new Set(found.filter((each) => isInScope(key, each)).map(({ id }) => id));
  return { ...grants, zones: new Map([...grants.zones].filter(([id]) => ids.has(id))) };
}

/** Throws `outside_grants` if the grants of a key name a zone outside its new scope. */
export async function assertGrantsInScope(
  { id, scope, resource_id }: Pick<Tsigkey, 'id' | 'scope' | 'resource_id'>,
  transaction: Reader,
): Promise<void> {
  const ids = [...(await transaction.zoneRights(id)).keys()];
  const outside = (await transaction.find(zone, 'id', ids)).filter(
    (each) => !isInScope({ scope, resource_id }, each),
  );
  if (outside.length > 0)
    throw new ServiceError(
      'outside_grants',
      outside.map(({ name }) => name),
    );
}
