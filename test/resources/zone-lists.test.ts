import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { expectError } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import {
  clientFor,
  createTlds,
  createZone,
  primary,
  secondary,
  zoneNamesOf,
  zonesOf,
  type Zone,
} from '../harness/zones.ts';

const ALL = { 'x-auth-all-projects': 'True' };

let service: TestService;
let red: Client;
let blue: Client;
let zones: Zone[];
beforeAll(async () => {
  service = await startTestService();
  red = await clientFor(service, ['member'], 'red');
  blue = await clientFor(service, ['member'], 'blue');
  zones = [
    await createZone(
      red,
      primary('b.example.', { ttl: 20, description: 'web', email: 'a@b.example' }),
    ),
    await createZone(blue, primary('A.example.', { ttl: 10 })),
    await createZone(red, secondary('c.example.')),
    await createZone(blue, primary('d.test.', { ttl: 20, description: 'web site' })),
    await createZone(red, primary('e.test.', { ttl: 0 })),
  ];
});

/** Returns the names of the matching zones in all projects, in the order of the list. */
async function names(query: string): Promise<string[]> {
  return zoneNamesOf(await service.get(`/v2/zones?${query}`, ALL));
}

describe('filters', () => {
  test.each([
    ['name=a.EXAMPLE', ['A.example.']],
    ['name=*.test.', ['d.test.', 'e.test.']],
    ['name=', []],
    ['type=SECONDARY', ['c.example.']],
    ['type=primary', ['b.example.', 'A.example.', 'd.test.', 'e.test.']],
    ['email=hostmaster@*', ['A.example.', 'c.example.', 'd.test.', 'e.test.']],
    ['status=ERROR', []],
    ['description=web*', ['b.example.', 'd.test.']],
    ['ttl=0', ['e.test.']],
    ['ttl=abc', []],
    ['ttl=99999999999999999999', []],
    ['ttl=20&description=web*&name=*test*', ['d.test.']],
  ])('200 with the zones for the query %s', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
    const { body } = await service.get(`/v2/zones?${query}`, ALL);
    expect(body.metadata).toEqual({ total_count: expected.length });
  });

  test.each(['project_id=red', 'serial=1', 'pool_id=x', 'name_key=x', 'all_projects_=1'])(
    '400 for %s, because it is not a filter',
    async (query) => {
      expectError(await service.get(`/v2/zones?${query}`), 400, 'bad_request');
    },
  );
});

describe('sorting and paging', () => {
  test.each([
    ['tenant_id', ['A.example.', 'd.test.', 'b.example.', 'c.example.', 'e.test.']],
    ['ttl', ['e.test.', 'A.example.', 'b.example.', 'd.test.', 'c.example.']],
    ['serial', ['c.example.', 'b.example.', 'A.example.', 'd.test.', 'e.test.']],
  ])('200 sorted by %s, also on several pages', async (key, expected) => {
    const member = key === 'tenant_id' ? 'project_id' : key;
    const valueOf = (name: string) => zones.find((zone) => zone.name === name)?.[member];
    const paged: string[] = [];
    let path: string | undefined = `/v2/zones?sort_key=${key}&limit=2`;
    while (path !== undefined) {
      const response = await service.get(path, ALL);
      paged.push(...zoneNamesOf(response));
      expect(response.body.metadata).toEqual({ total_count: 5 });
      path = response.body.links.next?.slice(service.url.length);
    }
    expect(paged.map(valueOf)).toEqual(expected.map(valueOf));
    expect((await names(`sort_key=${key}&sort_dir=desc`)).reverse()).toEqual(paged);
  });

  test('400 for an invalid sort key', async () => {
    for (const key of ['project_id', 'email', 'type', 'tree_key', 'toString']) {
      expectError(await service.get(`/v2/zones?sort_key=${key}`), 400, 'invalid_sort_key');
    }
  });

  test('400 for the zone of another project as the marker, as for an unknown id', async () => {
    const own = await red.get(`/v2/zones?marker=${zones[0]?.id}`);
    expect(zoneNamesOf(own)).toEqual(['c.example.', 'e.test.']);
    expectError(await red.get(`/v2/zones?marker=${zones[1]?.id}`), 400, 'marker_not_found');
  });
});

describe('total count', () => {
  test('200 with the count of matching zones that the caller may see, on every page', async () => {
    const count = async (client: Client, query: string) =>
      (await client.get(`/v2/zones${query}`)).body.metadata;
    expect(await count(red, '')).toEqual({ total_count: 3 });
    expect(await count(red, '?limit=1')).toEqual({ total_count: 3 });
    expect(await count(red, `?limit=1&marker=${zones[0]?.id}`)).toEqual({ total_count: 3 });
    expect(await count(red, '?name=*.example.')).toEqual({ total_count: 2 });
    expect(await count(service, '')).toEqual({ total_count: 0 });
  });

  test('200 without the count for OpenStack-DNS-Hide-Counts', async () => {
    for (const [value, metadata] of [
      ['True', undefined],
      ['1', undefined],
      ['false', { total_count: 3 }],
      ['', { total_count: 3 }],
    ] as const) {
      const response = await red.get('/v2/zones', { 'OpenStack-DNS-Hide-Counts': value });
      expect(zonesOf(response)).toHaveLength(3);
      expect(response.body.metadata).toEqual(metadata);
    }
  });
});

describe('outside_tlds', () => {
  const outside = (query = '') => names(`outside_tlds=true${query}`);
  const inside = () => names('outside_tlds=false');

  test('200 with the zones of all projects that the TLD rule would refuse with the current entries', async () => {
    const everything = zones.map(({ name }) => name);
    expect([await outside(), await inside()]).toEqual([[], everything]);

    const ids = await createTlds(service, 'EXAMPLE');
    expect([await outside(), await inside()]).toEqual([
      ['d.test.', 'e.test.'],
      ['b.example.', 'A.example.', 'c.example.'],
    ]);
    expect(zoneNamesOf(await service.get('/v2/zones?outside_tlds=true'))).toEqual([
      'd.test.',
      'e.test.',
    ]);
    expect(await outside('&name=e*')).toEqual(['e.test.']);
    const { metadata } = (await service.get('/v2/zones?outside_tlds=true')).body;
    expect(metadata).toBeUndefined();

    for (const [name, id] of await createTlds(service, 'test', 'a.example')) ids.set(name, id);
    expect(await outside()).toEqual(['A.example.']);
    await service.patch(`/v2/tlds/${ids.get('test')}`, { name: 'org' });
    expect(await outside()).toEqual(['A.example.', 'd.test.', 'e.test.']);

    for (const id of ids.values()) await service.delete(`/v2/tlds/${id}`);
    expect([await outside(), await inside()]).toEqual([[], everything]);
  });

  test.each(['', 'maybe', '1', 'TRUE', 'true&outside_tlds=true'])(
    '400 for outside_tlds=%s',
    async (value) => {
      expectError(await service.get(`/v2/zones?outside_tlds=${value}`), 400, 'bad_request');
    },
  );
});
