import { randomUUID } from 'node:crypto';
import type { Store } from '../../src/core/ports.ts';
import { DEFAULT_POOL_ID } from '../../src/resources/pool.ts';
import { type Condition, type ListQuery, keyed, type Keyed } from '../../src/core/query.ts';
import { type Resource, type ResourceType } from '../../src/core/resource.ts';
import { tld } from '../../src/resources/tld.ts';
import { token } from '../../src/resources/token.ts';

/** The time of every event in these suites. */
export const NOW = '2026-01-02T03:04:05.000006';

/** The condition that matches every row except the default pool, which exists from the start. */
export const MADE_HERE: readonly Condition[] = [
  { field: 'id', test: '<>', value: DEFAULT_POOL_ID },
];

/** One valid row of each resource type, by collection. */
const SAMPLES: Readonly<Record<string, Partial<Resource>>> = {
  tlds: { name: 'Co.UK', description: 'Großbritannien 🇬🇧 "quoted" \\ \' % _' },
  tsigkeys: {
    name: 'Transfer-Key',
    algorithm: 'hmac-sha256',
    secret: 'c2VjcmV0',
    scope: 'POOL',
    resource_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
    secret_octets: 6,
    secret_set_at: NOW,
    published: false,
    weak: true,
    unusable: false,
    orphaned: false,
    granted: 'transfer',
    version: 1,
  },
  pools: {
    project_id: null,
    name: 'anycast',
    description: null,
    attributes: { tier: 'gold' },
    ns_records: [{ priority: 1, hostname: 'ns1.example.org.' }],
  },
  zones: {
    pool_id: DEFAULT_POOL_ID,
    project_id: 'project',
    name: 'Example.ORG.',
    email: 'hostmaster@example.org',
    description: null,
    ttl: 2_147_483_647,
    serial: 4_294_967_295,
    shared: false,
    status: 'ACTIVE',
    action: 'NONE',
    version: Number.MAX_SAFE_INTEGER,
    attributes: {},
    type: 'SECONDARY',
    masters: ['192.0.2.1', '[2001:db8::1]:5300'],
    transferred_at: null,
  },
  nameservers: {
    name: 'ns1',
    pool_id: DEFAULT_POOL_ID,
    driver: 'bind',
    address: '[2001:db8::1]:5300',
    rights: ['transfer', 'update'],
    delivery: 'service',
    paused: true,
    probe_zone: 'example.org.',
    description: null,
    state: 'failed',
    held: {
      added: 1,
      removed: 0,
      changed: 0,
      added_keys: ['a.example.'],
      removed_keys: [],
      changed_keys: [],
    },
    unknown_keys: ['b.example.'],
    key_references: [{ key: 'c.example', place: '/etc/bind/named.conf:1' }],
    evidence: null,
    keys_wanted: 3,
    keys_live: 2,
    applied_at: NOW,
    verified_at: null,
    pending_since: null,
    attempts: 4,
    next_attempt_at: NOW,
    error_code: 'unreachable',
    error: 'connection refused',
  },
  tokens: {
    name: 'terraform',
    roles: ['reader', 'a.b:c'],
    project_id: null,
    pools: null,
    zones: ['3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61'],
    keys: null,
    nameservers: null,
    addresses: ['192.0.2.0/24'],
    expires_at: null,
    last_used_at: null,
    created_by: 'keystone:ada',
    hash: 'f'.repeat(64),
  },
};

/** Returns a valid row of `type`, with `changes`. */
export function sampleOf(type: ResourceType, changes: Partial<Resource> = {}): Resource {
  const {
    id = randomUUID(),
    created_at = NOW,
    updated_at = null,
    ...fields
  } = { ...SAMPLES[type.collection], ...changes };
  return { id, ...fields, created_at, updated_at };
}

/** Returns a row with the name of the sample, but different values in the other unique fields. */
export function another(type: ResourceType, changes: Partial<Resource> = {}): Resource {
  return sampleOf(type, { ...(type === token ? { hash: 'e'.repeat(64) } : {}), ...changes });
}

/** Returns a TLD entry with this name. */
export function tldNamed(name: string, changes: Partial<Resource> = {}): Resource {
  return sampleOf(tld, { name, ...changes });
}

/** Returns rows as a writer stores them. */
export function keyedRows(type: ResourceType, rows: readonly Resource[]): Keyed<Resource>[] {
  return rows.map((row) => keyed(type, row));
}

/** Inserts all of `rows` or none. */
export function insert(store: Store, type: ResourceType, ...rows: Resource[]): Promise<void> {
  return store.write(async (writer) => {
    for (const row of keyedRows(type, rows)) await writer.insert(type, row);
  });
}

/**
 * Returns a query for the first page of all rows, with the maximum page size and with `changes`.
 */
export function everything(changes: Partial<ListQuery> = {}): ListQuery {
  return { limit: 1000, sortField: 'created_at', descending: false, conditions: [], ...changes };
}
