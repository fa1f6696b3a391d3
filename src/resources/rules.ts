import { ServiceError } from '../core/errors.ts';
import type { Lock, Reader } from '../core/ports.ts';
import { uniqueFormOf } from '../core/query.ts';
import type {
  Admission,
  Admitted,
  Change,
  Fields,
  LockContext,
  ResourceType,
} from '../core/resource.ts';
import { nameServer } from './name-server.ts';
import { DEFAULT_POOL_ID, pool } from './pool.ts';
import { tld } from './tld.ts';
import { token } from './token.ts';
import { tsigkey } from './tsigkey.ts';
import { zone } from './zone.ts';
import { admitPool, poolLocks } from './pool-rules.ts';
import { assertServerUnreferenced } from './reference-rules.ts';
import { admitToken, tokenLocks } from './token-rules.ts';
import { admitTsigkey, tsigkeyLocks } from './tsigkey-rules.ts';
import { admitZone, zoneLocks } from './zone-rules.ts';

/** The rules of one resource type that need other resources. */
interface Rule<F extends Fields = Fields> {
  /**
   * Returns what a change depends on, in addition to the changed resource. The change holds these
   * locks before `admit` reads anything, so concurrent changes are serialisable. Reading another
   * resource needs a lock, unless a unique field alone decides.
   */
  locks(change: Change<F>, context: LockContext): readonly Lock[];
  /**
   * Applies the rules in the transaction of `change`. Returns the resource to store, with an
   * unchanged unique field. Throws `ServiceError` to reject the change. Absent if the type has only
   * locks, for the rules of other types that read it.
   */
  admit?(change: Change<F>, transaction: Reader, admission: Admission): Promise<Admitted<F>>;
}

export const RULES: Map<ResourceType, Rule> = new Map([
  rule(tld, { locks: tldLocks }),
  rule(tsigkey, { locks: tsigkeyLocks, admit: admitTsigkey }),
  rule(pool, { locks: poolLocks, admit: admitPool }),
  rule(zone, { locks: zoneLocks, admit: admitZone }),
  rule(nameServer, { locks: nameServerLocks, admit: admitNameServer }),
  rule(token, { locks: tokenLocks, admit: admitToken }),
]);

export function rulesOf<F extends Fields>(type: ResourceType<F>): Rule<F> | undefined {
  // the table holds the rules of each type under that type
  return RULES.get(type) as Rule<F> | undefined;
}

function rule<F extends Fields>(type: ResourceType<F>, own: Rule<F>): [ResourceType, Rule] {
  return [type, own];
}

/** A change of an entry's name affects the zones whose check reads the old or the new name. */
function tldLocks(change: Change<(typeof tld)['fields']>): readonly Lock[] {
  const names = new Set([change.uniqueForm]);
  if (change.operation === 'update') {
    if (change.resource.name !== change.current.name) names.add(uniqueFormOf(tld, change.current));
    if (names.size === 1) return [];
  }
  return [...names].map((key) => ({ type: tld, key, exclusive: true }));
}

/** A name server depends on its pool. The default pool always exists. */
function nameServerLocks({
  operation,
  resource,
}: Change<(typeof nameServer)['fields']>): readonly Lock[] {
  return operation === 'delete' || resource.pool_id === DEFAULT_POOL_ID
    ? []
    : [{ type: pool, key: resource.pool_id, exclusive: false }];
}

const NO_ZONE = 'the pool has no zone in which to test its keys. Create a zone, or set probe_zone';

/** Throws `no_valid_pool_found` and `key_is_referenced`. */
async function admitNameServer(
  change: Change<(typeof nameServer)['fields']>,
  transaction: Reader,
  { force }: Admission,
): Promise<Admitted<(typeof nameServer)['fields']>> {
  const { resource } = change;
  const id = resource.pool_id;
  const isStated =
    change.operation === 'create' || (change.operation === 'update' && 'pool_id' in change.given);
  if (isStated && id !== DEFAULT_POOL_ID && (await transaction.get(pool, id)) === undefined)
    throw new ServiceError('no_valid_pool_found', { id });
  if (change.operation === 'update' && !force) assertServerUnreferenced(change.current, resource);
  const inPool = [{ field: 'pool_id', test: '=', value: id } as const];
  const hasZone = resource.probe_zone !== null || (await transaction.exists(zone, inPool));
  return hasZone ? { resource } : { resource, warnings: [NO_ZONE] };
}
