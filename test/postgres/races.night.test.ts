import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createClock } from '../../src/clock.ts';
import { CONFIGURED_ID, type Caller } from '../../src/core/caller.ts';
import { ServiceError } from '../../src/core/errors.ts';
import type { Resource } from '../../src/core/resource.ts';
import type { Settings } from '../../src/core/settings.ts';
import type { Dependencies } from '../../src/resources/operations/change.ts';
import {
  createResource,
  deleteResource,
  updateResource,
} from '../../src/resources/operations/collection.ts';
import { changeTlds } from '../../src/tlds/actions.ts';
import { DEFAULT_POOL_ID, pool } from '../../src/resources/pool.ts';
import { tld } from '../../src/resources/tld.ts';
import { token } from '../../src/resources/token.ts';
import { tsigkey } from '../../src/resources/tsigkey.ts';
import { zone } from '../../src/resources/zone.ts';
import { newSlicer } from '../../src/net/slices.ts';
import { migrate } from '../../src/sql/migrate.ts';
import { openPostgres } from '../../src/sql/postgres/open.ts';
import { createStore } from '../../src/database/store.ts';
import { dependenciesOn, SETTINGS } from '../harness/dependencies.ts';
import { createDatabase } from '../harness/postgres.ts';
import { primary } from '../harness/zones.ts';

/** The operations of the API on the shared database, without HTTP. */
type Service = ReturnType<typeof serviceOn>;

/**
 * One race: the preparation, the two changes in their order, and the outcome of the second change.
 */
interface Race {
  readonly settings?: Partial<Settings>;
  before?(service: Service): Promise<unknown>;
  first(service: Service): Promise<unknown>;
  second(service: Service): Promise<unknown>;
  /** The code of the error, or the expected members of the result. */
  readonly outcome: string | object;
}

const RACE_SETTINGS: Settings = { ...SETTINGS, requireResource: true, otherAdministrators: false };
const LIMITS = {
  maxConnections: 4,
  statementTimeoutSeconds: 60,
  scanTimeoutSeconds: 60,
};

const clock = createClock();
const ids = new Map<string, string>();
let url: string;
let observer: pg.Client;

beforeEach(async () => {
  ids.clear();
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `races-${randomUUID()}`);
  observer = new pg.Client({ connectionString: url });
  await observer.connect();
});
afterAll(() => observer.end());

async function openService(settings: Settings): Promise<{ service: Service; held: Held }> {
  const database = await openPostgres(
    url.replace(/^postgres:/, ''),
    { committed: () => undefined },
    LIMITS,
  );
  await migrate(database, clock());
  const store = createStore(database);
  onTestFinished(() => store.close());
  const dependencies = dependenciesOn(store, { clock, settings });
  return { service: serviceOn(dependencies), held: holding(dependencies) };
}

/** A service whose changes wait before their commit until `release` is called. */
interface Held {
  readonly service: Service;
  /** Fulfilled once a change waits. */
  readonly waits: Promise<void>;
  release(): void;
}

function holding(dependencies: Dependencies): Held {
  const { store } = dependencies;
  let reached = (): void => undefined;
  let release = (): void => undefined;
  const waits = new Promise<void>((resolve) => (reached = resolve));
  const gate = new Promise<void>((resolve) => (release = resolve));
  const write: typeof store.write = (work) =>
    store.write(async (writer) => {
      const result = await work(writer);
      reached();
      await gate;
      return result;
    });
  return {
    service: serviceOn({ ...dependencies, store: { ...store, write } }),
    waits,
    release,
  };
}

function serviceOn(dependencies: Dependencies) {
  const as = (projectId: string) => {
    const caller: Caller = {
      id: ids.get(projectId) ?? CONFIGURED_ID,
      name: projectId,
      roles: ['admin'],
      projectId,
      allProjects: true,
    };
    return { caller };
  };
  const idOf = (name: string) => ids.get(name) ?? name;
  const create = async (type: typeof tld, projectId: string, body: Record<string, unknown>) => {
    const created = await createResource(dependencies, type, as(projectId), body);
    ids.set(String(created.name), created.id);
    return created;
  };
  const any = (type: unknown) => type as typeof tld;
  return {
    create: (type: unknown, body: Record<string, unknown>) => create(any(type), 'red', body),
    createZone: (name: string, projectId = 'red', more = {}) =>
      create(any(zone), projectId, primary(name, more)),
    update: (type: unknown, name: string, body: object) =>
      updateResource(dependencies, any(type), as('red'), idOf(name), body),
    delete: (type: unknown, name: string) =>
      deleteResource(dependencies, any(type), as('red'), idOf(name)),
    bulk: async (tlds: object[], replace = false) => {
      const request = { tlds, replace, dry_run: false } as const;
      const { results, removed } = await changeTlds(dependencies, as('red'), request, newSlicer());
      return { results, removed: removed.map(({ name }) => name) };
    },
    get: (type: unknown, name: string): Promise<Resource | undefined> =>
      dependencies.store.get(any(type), idOf(name)),
  };
}

/** Returns whether a transaction of this database waits for another transaction. */
async function isWaiting(): Promise<boolean> {
  const { rowCount } = await observer.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return (rowCount ?? 0) > 0;
}

const key = (name: string) => ({
  name,
  algorithm: 'hmac-sha256',
  scope: 'ZONE',
  resource_id: ids.get('example.com.'),
});
const granted = () => ({
  ...key('new'),
  scope: 'POOL',
  resource_id: DEFAULT_POOL_ID,
  grants: [{ rights: ['transfer'], zones: [ids.get('example.com.')] }],
});
const COM = (service: Service) => service.create(tld, { name: 'com' });
const POOL = (service: Service) => service.create(pool, { name: 'second' });
const ZONE = (service: Service) => service.createZone('example.com.');
const inPool = () => ({ pool_id: ids.get('second') ?? DEFAULT_POOL_ID });
const admin = (name: string) => ({ name, roles: ['admin'] });

const RACES: Record<string, Race> = {
  'a zone above a new zone of another project': {
    first: (one) => one.createZone('a.b.example.com.', 'red'),
    second: (other) => other.createZone('example.com.', 'blue'),
    outcome: 'illegal_parent',
  },
  'a zone below a new zone of another project': {
    first: (one) => one.createZone('example.com.', 'red'),
    second: (other) => other.createZone('a.b.example.com.', 'blue'),
    outcome: 'illegal_child',
  },
  'a zone with the name of a new zone of another project in another pool': {
    before: POOL,
    first: (one) => one.createZone('example.com.', 'red'),
    second: (other) => other.createZone('EXAMPLE.com.', 'blue', inPool()),
    outcome: 'duplicate',
  },
  'a zone below a zone that another project deletes': {
    before: ZONE,
    first: (one) => one.delete(zone, 'example.com.'),
    second: (other) => other.createZone('a.example.com.', 'blue'),
    outcome: { name: 'a.example.com.' },
  },
  'the deletion of a zone below which a zone is created': {
    before: ZONE,
    first: (one) => one.createZone('a.example.com.'),
    second: (other) => other.delete(zone, 'example.com.'),
    outcome: 'zone_has_sub_zone',
  },
  'a zone under a suffix that becomes a TLD entry': {
    settings: { tldRule: 'any-suffix' },
    before: (service) => service.create(tld, { name: 'org' }),
    first: (one) => one.create(tld, { name: 'co.uk' }),
    second: (other) => other.createZone('a.b.co.uk.'),
    outcome: { name: 'a.b.co.uk.' },
  },
  'a zone under a TLD entry that a list removes': {
    before: COM,
    first: (one) => one.bulk([{ name: 'org' }], true),
    second: ZONE,
    outcome: 'invalid_zone_name',
  },
  'the last zone of a quota': {
    settings: { zonesPerProject: 1 },
    first: (one) => one.createZone('example.com.'),
    second: (other) => other.createZone('example.org.'),
    outcome: 'over_quota',
  },
  'a zone in a pool that is deleted': {
    before: POOL,
    first: (one) => one.delete(pool, 'second'),
    second: (other) => other.createZone('example.com.', 'red', inPool()),
    outcome: 'no_valid_pool_found',
  },
  'the deletion of a pool in which a zone is created': {
    before: POOL,
    first: (one) => one.createZone('example.com.', 'red', inPool()),
    second: (other) => other.delete(pool, 'second'),
    outcome: 'invalid_operation',
  },
  'a key for a zone that is deleted': {
    before: ZONE,
    first: (one) => one.delete(zone, 'example.com.'),
    second: (other) => other.create(tsigkey, key('new')),
    outcome: 'invalid_tsigkey',
  },
  'an update of a key to a zone that is deleted': {
    before: async (service) => {
      await ZONE(service);
      const { scope, resource_id } = { scope: 'POOL', resource_id: DEFAULT_POOL_ID };
      await service.create(tsigkey, { ...key('old'), scope, resource_id });
    },
    first: (one) => one.delete(zone, 'example.com.'),
    second: (other) => {
      const { scope, resource_id } = key('old');
      return other.update(tsigkey, 'old', { scope, resource_id });
    },
    outcome: 'invalid_tsigkey',
  },
  'a key for a pool that is deleted': {
    before: POOL,
    first: (one) => one.delete(pool, 'second'),
    second: (other) =>
      other.create(tsigkey, { ...key('new'), scope: 'POOL', resource_id: ids.get('second') }),
    outcome: 'invalid_tsigkey',
  },
  'grants in a zone that is deleted': {
    before: ZONE,
    first: (one) => one.delete(zone, 'example.com.'),
    second: (other) => other.create(tsigkey, granted()),
    outcome: 'invalid_object',
  },
  'the deletion of a zone that new grants name': {
    before: ZONE,
    first: (one) => one.create(tsigkey, granted()),
    second: (other) => other.delete(zone, 'example.com.'),
    outcome: { name: 'example.com.' },
  },
  'the deletion of the last administrator token': {
    before: async (service) => {
      await service.create(token, admin('one'));
      await service.create(token, admin('two'));
    },
    first: (one) => one.delete(token, 'one'),
    second: (other) => other.delete(token, 'two'),
    outcome: 'last_administrator',
  },
  'a token that a deleted token creates': {
    before: async (service) => {
      await service.create(token, admin('red'));
      ids.set('deleted', ids.get('red') ?? '');
      await service.create(token, admin('other'));
    },
    first: (one) => one.delete(token, 'deleted'),
    second: (other) => other.create(token, admin('new')),
    outcome: 'unauthenticated',
  },
  'an update of a zone that is updated': {
    before: ZONE,
    first: (one) => one.update(zone, 'example.com.', { description: 'first' }),
    second: (other) => other.update(zone, 'example.com.', { ttl: 60 }),
    outcome: { description: 'first', ttl: 60, version: 3 },
  },
  'an update of a zone that is deleted': {
    before: ZONE,
    first: (one) => one.delete(zone, 'example.com.'),
    second: (other) => other.update(zone, 'example.com.', { ttl: 60 }),
    outcome: 'resource_not_found',
  },
  'the deletion of a zone that is deleted': {
    before: ZONE,
    first: (one) => one.delete(zone, 'example.com.'),
    second: (other) => other.delete(zone, 'example.com.'),
    outcome: 'resource_not_found',
  },
  'a list with a TLD entry that is updated': {
    before: COM,
    first: (one) => one.update(tld, 'com', { description: 'first' }),
    second: (other) => other.bulk([{ name: 'com', description: 'second' }]),
    outcome: { results: [{ outcome: 'updated', previous: { description: 'first' } }] },
  },
  'a list that replaces a TLD entry that is created': {
    first: COM,
    second: (other) => other.bulk([{ name: 'org' }], true),
    outcome: { removed: ['com'] },
  },
  'an update of a TLD entry that a list updates': {
    before: COM,
    first: (one) => one.bulk([{ name: 'com', description: 'first' }]),
    second: (other) => other.update(tld, 'com', { name: 'org' }),
    outcome: { name: 'org', description: 'first' },
  },
};

describe('a change that begins before the commit of another change has the same outcome as after this commit', () => {
  test.each(Object.entries(RACES))('%s', async (_what, race) => {
    const settings = { ...RACE_SETTINGS, ...race.settings };
    const [one, other] = [await openService(settings), await openService(settings)];
    await race.before?.(one.service);
    const first = race.first(one.held.service);
    await Promise.race([one.held.waits, first]);
    let settled = false;
    const second = race
      .second(other.service)
      .catch((error: unknown) => {
        if (error instanceof ServiceError) return error.code;
        throw error;
      })
      .finally(() => (settled = true));
    await expect.poll(async () => settled || (await isWaiting()), { interval: 5 }).toBe(true);
    one.held.release();
    await first;
    const outcome = await second;
    if (typeof race.outcome === 'string') expect(outcome).toBe(race.outcome);
    else expect(outcome).toMatchObject(race.outcome);
  });
});
