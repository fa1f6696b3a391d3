import { publicationOf } from '../access/published-secrets.ts';
import { ServiceError } from '../core/errors.ts';
import type { Lock, Reader } from '../core/ports.ts';
import { readable } from '../core/unreadable.ts';
import type { Admission, Admitted, Change, ResourceType } from '../core/resource.ts';
import { nameServer } from './name-server.ts';
import { DEFAULT_POOL_ID } from './pool.ts';
import { givenGrants } from './grants.ts';
import {
  generateSecret,
  marksOf,
  octetsOf,
  SCOPES,
  type Target,
  type Tsigkey,
  type tsigkey,
} from './tsigkey.ts';
import { admitGrants, assertGrantsInScope, type AdmittedGrants } from './grant-rules.ts';
import { assertNotReserved } from './lineage-rules.ts';
import { assertKeyUnreferenced, poolOf } from './reference-rules.ts';

type TsigkeyFields = (typeof tsigkey)['fields'];
type Update = Extract<Change<TsigkeyFields>, { readonly operation: 'update' }>;

/** A key depends on the pool or zone that a change sets. */
export function tsigkeyLocks(change: Change<TsigkeyFields>): readonly Lock[] {
  if (!refersAnew(change) || isOfDefaultPool(change.resource)) return [];
  const { scope, resource_id: key } = change.resource;
  return [{ type: SCOPES[scope], key, exclusive: false }];
}

/**
 * Applies the rules about a change to a key. If the pool or zone of the key does not exist, rejects
 * the change or warns, depending on `requireResource`. A key without a secret gets a random secret.
 * Throws `invalid_tsigkey`, `key_is_referenced` and `reserved_name`.
 */
export async function admitTsigkey(
  change: Change<TsigkeyFields>,
  transaction: Reader,
  admission: Admission,
): Promise<Admitted<TsigkeyFields>> {
  const { caller, settings, randomBytes, force } = admission;
  if (!force && change.operation !== 'create')
    await assertKeyUnreferenced(change, transaction, admission);
  if (change.operation === 'delete') return { resource: change.resource };
  const { resource } = change;
  await assertNotReserved(change, transaction);
  const grants = change.operation === 'create' ? givenGrants(resource) : undefined;
  if (change.operation === 'update' && resource.granted !== null && refersAnew(change))
    await assertGrantsInScope(resource, transaction);
  const {
    granted = resource.granted,
    zoneRights,
    recorded,
  }: Partial<AdmittedGrants> = grants === undefined || grants === null
    ? {}
    : await admitGrants(resource, grants, null, transaction, caller);
  const isMissing = refersAnew(change) && (await isOrphaned(resource, transaction));
  if (isMissing && settings.requireResource) throw missingResource(resource);
  const secret = resource.secret ?? generateSecret(resource.algorithm, randomBytes);
  const warnings = [
    ...(isMissing ? [MISSING_RESOURCE[resource.scope]] : []),
    ...(change.operation === 'update' && (await breaksClients(change, transaction))
      ? [OTHER_SECRET]
      : []),
  ];
  const facts = secretFacts(change, secret);
  return {
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(zoneRights === undefined ? {} : { zoneRights, recorded }),
    resource: {
      ...resource,
      granted,
      secret,
      ...facts,
      ...marksOf({ ...resource, ...facts }),
      orphaned: refersAnew(change) ? isMissing : resource.orphaned,
      version: versionOf(change),
    },
  };
}

/** Does not read a stored secret that the change keeps, because it may be unreadable. */
function secretFacts(
  change: Change<TsigkeyFields>,
  secret: Tsigkey['secret'],
): Pick<Tsigkey, 'secret_octets' | 'secret_set_at' | 'published'> {
  const { resource } = change;
  if (change.operation === 'update' && !hasNewSecret(change)) {
    const { secret_octets, secret_set_at, published } = resource;
    return { secret_octets, secret_set_at, published };
  }
  const isCreated = change.operation === 'create';
  return {
    secret_octets: octetsOf(readable(secret)),
    secret_set_at: isCreated ? resource.created_at : (resource.updated_at ?? resource.created_at),
    published: publicationOf(readable(secret)) !== undefined,
  };
}

const OTHER_SECRET =
  'clients fail until they have the new secret. To change it without a gap, rotate the key instead';

/** Returns whether a change gives another secret to a key that name servers should have. */
async function breaksClients(change: Update, transaction: Reader): Promise<boolean> {
  if (!hasNewSecret(change)) return false;
  const pool = await poolOf(change.resource, transaction);
  const inPool = [{ field: 'pool_id', test: '=', value: pool ?? '' } as const];
  return pool !== undefined && transaction.exists(nameServer, inPool);
}

function hasNewSecret({ given, current }: Update): boolean {
  return 'secret' in given && given.secret !== current.secret;
}

const DELIVERED = ['name', 'algorithm', 'secret', 'scope', 'resource_id'] as const;

/** Returns the version of a key after a change, incremented if name servers need the change. */
function versionOf(change: Change<TsigkeyFields>): number {
  const { version } = change.resource;
  if (change.operation !== 'update') return version;
  const { current, given } = change;
  return DELIVERED.some((name) => name in given && given[name] !== current[name])
    ? version + 1
    : version;
}

const MISSING_RESOURCE: Readonly<Record<Target['scope'], string>> = {
  POOL: 'the resource_id is not the id of an existing pool',
  ZONE: 'the resource_id is not the id of an existing zone',
};

function refersAnew(change: Change<TsigkeyFields>): boolean {
  return (
    change.operation === 'create' ||
    (change.operation === 'update' && ('scope' in change.given || 'resource_id' in change.given))
  );
}

/** Returns whether the pool or zone of a key does not exist. */
export async function isOrphaned(
  target: Target,
  transaction: Pick<Reader, 'get'>,
): Promise<boolean> {
  if (isOfDefaultPool(target)) return false;
  const type: ResourceType = SCOPES[target.scope];
  return (await transaction.get(type, target.resource_id)) === undefined;
}

/** The default pool always exists. */
function isOfDefaultPool({ scope, resource_id: id }: Target): boolean {
  return scope === 'POOL' && id === DEFAULT_POOL_ID;
}

function missingResource({ scope, resource_id: id }: Target): ServiceError {
  return new ServiceError('invalid_tsigkey', { id, noun: SCOPES[scope].noun, scope });
}
