import { isIP } from 'node:net';
import { ALGORITHM_NAMES } from '../dns/algorithms.ts';
import {
  anyText,
  boolean,
  enumeration,
  integer,
  list,
  nullable,
  timestamp,
  uuid,
  type Kind,
  type ValueOf,
} from '../core/field.ts';
import { described, object, withDefault } from '../core/object.ts';
import { defineFields, defineResource, type ResourceOf } from '../core/resource.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import { GRANTS } from './grants.ts';
import { hiddenField, keyVersion, line } from '../core/shared-fields.ts';

/**
 * What the service stores about keys that replace each other. These types have no routes: callers
 * see them only through the actions of rotation. A key that was never rotated has no row.
 */

const hidden = { set: 'hidden', example: null } as const;

function kept<T>(kind: Kind<T>, value: T, description: string) {
  return { ...kind, ...hidden, description, onCreate: { default: value } } as const;
}

/** The address of a consumer in the canonical form (RFC 5952), in which logs show it. */
const ADDRESS: Kind<string> = {
  schema: { type: 'string', maxLength: 45 },
  parse(value) {
    const version = typeof value === 'string' ? isIP(value) : 0;
    if (typeof value !== 'string' || version === 0 || value.includes('%'))
      return { problem: 'must be an IPv4 or IPv6 address', validator: 'format' };
    return { value: version === 4 ? value : new URL(`http://[${value}]`).hostname.slice(1, -1) };
  },
};

export const CONSUMER = object({
  name: described(line(255), 'The name of the consumer.'),
  address: described(
    withDefault(nullable(ADDRESS), null),
    'Its IPv4 or IPv6 address, as the logs of name servers show it. Null: it is seen by no log, and must be confirmed.',
  ),
  contact: described(withDefault(nullable(line(255)), null), 'Whom to ask about it, or null.'),
});

export type Consumer = ValueOf<typeof CONSUMER>;

const MAX_CONSUMERS = 100;

export const CONSUMERS = list(CONSUMER, 0, MAX_CONSUMERS);

const lineageFields = defineFields({
  handle: hiddenField(line(255), 'The name of the first key, which never changes.'),
  owner: kept(nullable(line(255)), null, 'Who answers for the keys.'),
  purpose: kept(nullable(line(255)), null, 'What the keys are for.'),
  consumers: kept(CONSUMERS, [], 'Who uses the keys.'),
});

export type Lineage = ResourceOf<typeof lineageFields>;

export const lineage = defineResource({
  collection: 'tsigkey_lineages',
  noun: 'lineage',
  title: 'Lineage',
  words: { one: 'lineage', many: 'lineages' },
  description: 'The row of keys that replace each other.',
  operations: [],
  fields: lineageFields,
  unique: { field: 'handle', comparisonForm },
  filters: {},
});

/** The states of a key in its lineage, in their order. */
export const LIFECYCLE_STATES = [
  'active',
  'spreading',
  'switching',
  'draining',
  'retired',
] as const;

/** Why a rotation cannot go on by itself. */
export const WAITING_REASONS = [
  'not_verified',
  'unconfirmed',
  'unknown_consumers',
  'in_use',
  'referenced',
  'manual',
] as const;
export type WaitingReason = (typeof WAITING_REASONS)[number];

export const RETIREMENTS = ['automatic', 'manual'] as const;

const lifecycleFields = defineFields({
  lineage_id: hiddenField(uuid(), 'The id of the lineage.'),
  position: hiddenField(integer(1), 'The place in the lineage, from 1.'),
  state: kept(enumeration(LIFECYCLE_STATES), 'active', 'The state of the key.'),
  successor_id: kept(nullable(uuid()), null, 'The id of the key that replaces this one.'),
  overlap_seconds: kept(nullable(integer(0)), null, 'How long both keys work.'),
  retire: kept(nullable(enumeration(RETIREMENTS)), null, 'How the key is retired, if stated.'),
  started_at: kept(nullable(timestamp()), null, 'The time of the rotation.'),
  verified_at: kept(nullable(timestamp()), null, 'When every name server had the successor.'),
  retire_at: kept(nullable(timestamp()), null, 'The earliest time of retirement.'),
  confirmed: kept(
    list(anyText(), 0, MAX_CONSUMERS),
    [],
    'The names of the consumers that use the successor.',
  ),
  confirmed_all: kept(boolean(), false, 'Whether all consumers use the successor.'),
  waiting_reason: kept(nullable(enumeration(WAITING_REASONS)), null, 'Why the rotation waits.'),
  waiting_for: kept(list(anyText(), 0, 1000), [], 'What the rotation waits for.'),
  waiting_since: kept(nullable(timestamp()), null, 'Since when the rotation waits.'),
  expires_at: kept(nullable(timestamp()), null, 'When the key should be replaced.'),
  tripped_at: kept(nullable(timestamp()), null, 'When the first use after retirement was found.'),
  due_at: kept(nullable(timestamp()), null, 'When the job must look at the key next.'),
});

export type Lifecycle = ResourceOf<typeof lifecycleFields>;

/** The state of one key in its lineage, with the id of the key. */
export const lifecycle = defineResource({
  collection: 'tsigkey_lifecycles',
  noun: 'lifecycle',
  title: 'Lifecycle',
  words: { one: 'lifecycle', many: 'lifecycles' },
  description: 'The state of one key in its lineage.',
  operations: [],
  fields: lifecycleFields,
  lookups: { lineage: { field: 'lineage_id' }, successor: { field: 'successor_id' } },
  filters: {},
});

/**
 * Returns the key of a lineage to use now: it moves to a successor only when this one is verified
 * everywhere. `rows` are in the order of their positions.
 */
export function currentOf<T extends Pick<Lifecycle, 'state'>>(rows: readonly T[]): T | undefined {
  return rows.find(({ state }) => state === 'active' || state === 'spreading');
}

/** Returns the rows of each lineage in the order of their positions. */
export function byLineage(rows: readonly Lifecycle[]): Map<string, Lifecycle[]> {
  const lineages = new Map<string, Lifecycle[]>();
  for (const row of rows.toSorted((one, other) => one.position - other.position)) {
    const own = lineages.get(row.lineage_id) ?? [];
    lineages.set(row.lineage_id, own);
    own.push(row);
  }
  return lineages;
}

const retiredFields = defineFields({
  name: hiddenField(line(255), 'The name of the key.'),
  algorithm: hiddenField(enumeration(ALGORITHM_NAMES), 'The algorithm of the key.'),
  secret: { ...hiddenField(line(255), 'The secret of the key.'), secret: true },
  scope: hiddenField(enumeration(['POOL', 'ZONE']), 'The scope of the key.'),
  resource_id: hiddenField(uuid(), 'The pool or zone of the key.'),
  secret_octets: kept(integer(0, 255), 0, 'The length of the secret in octets.'),
  secret_set_at: kept(timestamp(), '', 'The time when the key got its secret.'),
  published: kept(boolean(), false, 'Whether the secret is in a manual or an example.'),
  version: keyVersion,
  grants: kept(GRANTS, null, 'The grants of the key.'),
  retired_at: hiddenField(timestamp(), 'The time of retirement.'),
  purge_at: hiddenField(timestamp(), 'The time when the secret is destroyed.'),
});

export type RetiredKey = ResourceOf<typeof retiredFields>;

/** A key that was retired and can be restored, with its id and its own timestamps. */
export const retiredKey = defineResource({
  collection: 'retired_tsigkeys',
  noun: 'retired_tsigkey',
  title: 'Retired TsigKey',
  words: { one: 'retired TSIG key', many: 'retired TSIG keys' },
  description: 'A key that was retired and can be restored.',
  operations: [],
  fields: retiredFields,
  unique: { field: 'name', comparisonForm },
  filters: {},
});
