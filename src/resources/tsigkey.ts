import { ALGORITHM_NAMES, ALGORITHMS, weaknessOf, type AlgorithmName } from '../dns/algorithms.ts';
import { wireProblems } from '../formats/key.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import { boolean, enumeration, integer, nullable, timestamp, uuid } from '../core/field.ts';
import { GRANTS, RIGHTS_TEXTS } from './grants.ts';
import { byLineage, currentOf, lifecycle, lineage, retiredKey } from './lineage.ts';
import { keyVersion, line } from '../core/shared-fields.ts';
import { pool } from './pool.ts';
import {
  defineFields,
  defineResource,
  OPERATIONS,
  type IndexReader,
  type ResourceOf,
  type ResourceType,
} from '../core/resource.ts';
import { readable } from '../core/unreadable.ts';
import { zone } from './zone.ts';

/** Returns a random secret in base64, as long as the hash output of the algorithm. */
export function generateSecret(
  algorithm: AlgorithmName,
  randomBytes: (size: number) => Buffer,
): string {
  return randomBytes(ALGORITHMS[algorithm].hashOctets).toString('base64');
}

/** Returns the length of a secret in base64, in octets. 0 if the secret is not base64. */
export function octetsOf(secret: string): number {
  if (wireProblems({ secret }).length > 0) return 0;
  const padding = secret.length - secret.replace(/=+$/, '').length;
  return (secret.length / 4) * 3 - padding;
}

function isShort(algorithm: AlgorithmName, octets: number): boolean {
  return octets > 0 && octets < ALGORITHMS[algorithm].hashOctets;
}

/** Returns the weaknesses of a key, and why no DNS message can contain it. */
export function keyWarnings(key: {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  readonly secret: string;
}): string[] {
  const { name, algorithm, secret } = key;
  const weakness = weaknessOf(algorithm);
  return [
    ...(weakness === undefined ? [] : [`${algorithm} ${weakness}`]),
    ...wireProblems({ name, secret }).map(
      ({ path, message }) => `the ${path.join('.')} ${message}`,
    ),
    ...(isShort(algorithm, octetsOf(secret))
      ? [`the secret is shorter than the output of ${algorithm} (RFC 2104 section 3)`]
      : []),
  ];
}

function weaknesses(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ALGORITHM_NAMES.flatMap((name) => {
      const weakness = weaknessOf(name);
      return weakness === undefined ? [] : [[name, weakness]];
    }),
  );
}

/** Returns a field that is stored with each change of a key, so that an index finds the keys. */
function mark(description: string) {
  return {
    ...boolean(),
    description,
    example: false,
    onCreate: { default: false },
    set: 'hidden',
  } as const;
}

const fields = defineFields({
  name: {
    ...line(255),
    description:
      'The key name, in its original spelling. The name must be unique, ignoring case and one trailing dot.',
    example: 'transfer-key',
    onCreate: 'required',
  },
  algorithm: {
    ...enumeration(ALGORITHM_NAMES),
    description: 'The TSIG algorithm. Use hmac-md5 and hmac-sha1 only for old peers.',
    example: 'hmac-sha256',
    onCreate: 'required',
    choiceNotes: weaknesses(),
  },
  secret: {
    ...line(255),
    description:
      "The shared secret, in base64. If omitted on creation, the service generates a secret as long as the algorithm's hash. Empty in a response if the secret was lost with the master key.",
    example: '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=',
    onCreate: { default: undefined },
    secret: true,
  },
  scope: {
    ...enumeration(['POOL', 'ZONE']),
    description: 'The scope of the key: every zone of a pool, or one zone.',
    example: 'POOL',
    onCreate: 'required',
  },
  resource_id: {
    ...uuid(),
    description: 'The id of the pool or zone that the key applies to.',
    example: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
    onCreate: 'required',
    label: 'Applies to',
    refersTo: { by: 'scope', POOL: 'pools', ZONE: 'zones' },
  },
  secret_octets: {
    ...integer(0, 255),
    description:
      'The length of the secret in octets, or 0 if it is not base64. Lists use it instead of the encrypted secret.',
    example: 32,
    onCreate: { default: 0 },
    set: 'hidden',
  },
  secret_set_at: {
    ...timestamp(),
    description: 'The time when the key got its present secret.',
    example: '2030-01-31T12:00:00.000000',
    onCreate: { default: '' },
    set: 'hidden',
  },
  published: mark('Whether the secret is in a manual or an example, so anybody can sign with it.'),
  weak: mark('Whether the algorithm or the secret of the key is weak.'),
  unusable: mark('Whether no name server can use the key.'),
  orphaned: mark('Whether the pool or zone that the key applies to does not exist.'),
  granted: {
    ...nullable(enumeration(RIGHTS_TEXTS)),
    description:
      'The rights that the grants of the key state for all zones of its scope. Null without grants of its own.',
    example: null,
    onCreate: { default: null },
    set: 'hidden',
  },
  version: keyVersion,
});

export type Tsigkey = ResourceOf<typeof fields>;

/** A shared secret with which name servers authenticate their messages (RFC 8945). */
export const tsigkey = defineResource({
  collection: 'tsigkeys',
  noun: 'tsigkey',
  title: 'TsigKey',
  words: { one: 'TSIG key', many: 'TSIG keys' },
  description:
    'A transaction-signature key: the shared secret with which name servers authenticate transfers and dynamic updates. The service delivers each key to the name servers of its pool, or of the pool of its zone, usually within a second, and removes it from them when it is deleted.',
  operations: OPERATIONS,
  fields,
  unique: { field: 'name', comparisonForm },
  filters: { name: 'unique', algorithm: 'lower', scope: 'upper', resource_id: 'exact' },
  computedFilters: {
    current: {
      description:
        'Whether the key is the one to use now: it has no successor, or its successor is not verified on all name servers yet.',
      evaluate: areCurrent,
    },
    orphaned: {
      description: 'Whether the pool or zone that the key applies to does not exist.',
      evaluate: (keys) => Promise.resolve(keys.map(({ orphaned }) => orphaned)),
    },
    unusable: {
      description:
        'Whether no name server can use the key, because the name is not a domain name or the secret is not base64.',
      evaluate: (keys) => Promise.resolve(keys.map(({ unusable }) => unusable)),
    },
    weak: {
      description:
        'Whether the algorithm of the key is not recommended, or its secret is published or shorter than the output of the algorithm.',
      evaluate: (keys) => Promise.resolve(keys.map(({ weak }) => weak)),
    },
  },
  selectors: {
    lineage: {
      description:
        'Only the keys that have replaced each other, by the name of any of them, even if it is retired. The name of the first one stays the handle of the others. A key that was never replaced is alone.',
      example: 'transfer-key',
      select: keysOfLineage,
    },
  },
  references: {
    pool: {
      type: pool,
      description: 'every zone of this pool',
      fields: (id) => ({ scope: 'POOL', resource_id: id }),
    },
    zone: {
      type: zone,
      description: 'this zone',
      fields: (id) => ({ scope: 'ZONE', resource_id: id }),
    },
  },
  requestOnly: {
    grants: {
      ...GRANTS,
      description:
        'What the key may do, and in which zones. Without it, or if null, the key has every right of its name servers in every zone of its scope. An empty list opens nothing. Responses do not have this member: `GET /v2/tsigkeys/{id}/grants` returns it.',
      example: [{ rights: ['transfer'], zones: 'all' }],
    },
  },
  problems: (given, settings) => (settings.strictTsigkeys ? wireProblems(given) : []),
  refusals: {
    create: ['invalid_tsigkey', 'reserved_name'],
    update: ['invalid_tsigkey', 'outside_grants', 'key_is_referenced', 'reserved_name'],
    delete: ['key_is_referenced'],
  },
  warnings: ({ name, algorithm, secret }) =>
    keyWarnings({ name, algorithm, secret: readable(secret) }),
});

/** The keys without their secrets. Reading them decrypts nothing, so that a page can ask often. */
export const keyFacts = defineResource({
  collection: tsigkey.collection,
  noun: tsigkey.noun,
  title: tsigkey.title,
  words: tsigkey.words,
  description: tsigkey.description,
  operations: [],
  fields: defineFields({
    name: fields.name,
    algorithm: fields.algorithm,
    scope: fields.scope,
    resource_id: fields.resource_id,
    secret_octets: fields.secret_octets,
    secret_set_at: fields.secret_set_at,
    published: fields.published,
    granted: fields.granted,
    version: fields.version,
  }),
  unique: { field: 'name', comparisonForm },
  filters: {},
});

export type KeyFacts = ResourceOf<(typeof keyFacts)['fields']>;

type Strength = Pick<Tsigkey, 'algorithm' | 'secret_octets' | 'published'>;

/** Why a key is weak: its algorithm without `hmac-`, or what is wrong with its secret. */
export const WEAKNESSES = ['md5', 'sha1', 'short', 'published'] as const;

export function weaknessesOf({
  algorithm,
  secret_octets: octets,
  published,
}: Strength): (typeof WEAKNESSES)[number][] {
  const ofSecret = { short: isShort(algorithm, octets), published };
  return WEAKNESSES.filter((word) =>
    word === 'md5' || word === 'sha1' ? algorithm === `hmac-${word}` : ofSecret[word],
  );
}

export function isUnusable({
  name,
  secret_octets: octets,
}: Pick<Tsigkey, 'name' | 'secret_octets'>): boolean {
  return octets === 0 || wireProblems({ name }).length > 0;
}

export function marksOf(key: Strength & Pick<Tsigkey, 'name'>): Pick<Tsigkey, 'weak' | 'unusable'> {
  return { weak: weaknessesOf(key).length > 0, unusable: isUnusable(key) };
}

export const SCOPES = { POOL: pool, ZONE: zone } satisfies Record<string, ResourceType>;

/** The members of a key that identify its pool or zone. */
export type Target = Pick<Tsigkey, 'scope' | 'resource_id'>;

async function areCurrent(
  keys: readonly Pick<Tsigkey, 'id'>[],
  reader: IndexReader,
): Promise<boolean[]> {
  const ids = keys.map(({ id }) => id);
  const known = await reader.find(lifecycle, 'id', ids);
  const lineages = [...new Set(known.map((row) => row.lineage_id))];
  const rows = lineages.length === 0 ? [] : await reader.find(lifecycle, 'lineage', lineages);
  const current = new Set([...byLineage(rows).values()].map((row) => currentOf(row)?.id));
  const rotated = new Set(known.map(({ id }) => id));
  return ids.map((id) => !rotated.has(id) || current.has(id));
}

/** Returns the ids of the keys of the lineage in which a key has this name, or had it as the first. */
async function keysOfLineage(text: string, reader: Pick<IndexReader, 'find'>): Promise<string[]> {
  const name = comparisonForm(text);
  const [living] = await reader.find(tsigkey, 'name', [name]);
  const [retired] = living === undefined ? await reader.find(retiredKey, 'name', [name]) : [];
  const id = living?.id ?? retired?.id;
  const [row] = id === undefined ? [] : await reader.find(lifecycle, 'id', [id]);
  const [byHandle] = row === undefined ? await reader.find(lineage, 'handle', [name]) : [];
  const lineageId = row?.lineage_id ?? byHandle?.id;
  if (lineageId === undefined) return living === undefined ? [] : [living.id];
  return (await reader.find(lifecycle, 'lineage', [lineageId])).map(({ id }) => id);
}
