import { suffixes } from '../text/dns-name.ts';
import { LIMIT_KINDS } from '../model/caller.ts';
import type { Lock } from '../model/ports.ts';
import type { Admission, Change, Fields, ResourceType } from '../model/resource.ts';
import { nameServer } from '../resources/name-server.ts';
import { DEFAULT_POOL_ID, pool } from '../resources/pool.ts';
import { typeOfLimit } from '../resources/limits.ts';
import { coveringNames } from '../resources/tld-rule.ts';
import { tld } from '../resources/tld.ts';
import { token } from '../resources/token.ts';
import { SCOPES, tsigkey } from '../resources/tsigkey.ts';
import type { Zone } from '../resources/zone-fields.ts';
import { zone } from '../resources/zone.ts';
import { refersAnew } from './tsigkey-rules.ts';
import { requestedPool } from './zone-rules.ts';
import { uniqueFormOf, type Keyed } from '../model/query.ts';

/** The part of an admission that decides what a change depends on. */
type LockContext = Pick<Admission, 'caller' | 'settings'>;

/** Returns the locks that a change needs, in addition to the lock on the changed resource. */
type LocksOf<F extends Fields> = (change: Change<F>, context: LockContext) => readonly Lock[];

/**
 * The locks that the rules of each resource type need. A change holds these locks before its rules
 * read anything, so concurrent changes are serialisable. A rule that reads another resource needs a
 * lock here, unless a unique field alone decides.
 */
const LOCKS: ReadonlyMap<ResourceType, LocksOf<Fields>> = new Map([
  locks(tld, tldLocks),
  locks(tsigkey, (change, { settings }) => {
    if (!settings.requireResource || !refersAnew(change)) return [];
    const { scope, resource_id: key } = change.resource;
    return [{ type: SCOPES[scope], key, exclusive: false }];
  }),
  locks(pool, ({ operation, resource }) =>
    operation === 'delete' ? [{ type: pool, key: resource.id, exclusive: true }] : [],
  ),
  locks(zone, (change, context) => {
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
  }),
  locks(nameServer, ({ operation, resource }) =>
    operation === 'delete' || resource.pool_id === DEFAULT_POOL_ID
      ? []
      : [{ type: pool, key: resource.pool_id, exclusive: false }],
  ),
  locks(token, ({ operation, resource }, { caller, settings }) => {
    if (operation !== 'delete')
      return [
        ...(caller.identity === undefined ? [caller.id] : []).map((key) => ({ type: token, key })),
        ...LIMIT_KINDS.flatMap((kind) =>
          (resource[kind] ?? []).map((key) => ({ type: typeOfLimit(kind), key })),
        ),
      ].map((lock) => ({ ...lock, exclusive: false }));
    return [resource.id, ...(settings.otherAdministrators ? [] : ['administrators'])].map(
      (key) => ({ type: token, key, exclusive: true }),
    );
  }),
]);

/** Returns the locks that `change` needs, in addition to the lock on the changed resource. */
export function locksOf<F extends Fields>(
  type: ResourceType<F>,
  change: Change<F>,
  context: LockContext,
): readonly Lock[] {
  // the table has the locks of each type under that type
  const own = LOCKS.get(type) as LocksOf<F> | undefined;
  return own?.(change, context) ?? [];
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

function locks<F extends Fields>(
  type: ResourceType<F>,
  own: LocksOf<F>,
): [ResourceType, LocksOf<Fields>] {
  return [type, own as LocksOf<Fields>];
}
