import { beforeAll, describe, expect, test } from 'vitest';
import {
  create,
  expectError,
  itemsOf,
  SAMPLES,
  UNKNOWN_ID,
  type Resource,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const NAMES = ['bravo', 'Alpha', 'charlie', '_delta', 'alpha2'];

describe.each(SAMPLES)('$collection', (sample) => {
  const path = `/v2/${sample.collection}`;
  let service: TestService;
  let resources: Resource[];
  beforeAll(async () => {
    service = await startTestService();
    resources = [];
    for (const name of NAMES) resources.push(await create(service, sample, name));
  });

  const list = async (query: string) => itemsOf(await service.get(path + query), sample);
  const linksOf = async (query: string) =>
    (await service.get(path + query)).body.links as { self: string; next?: string };
  const refuse = async (query: string, type: string) =>
    expectError(await service.get(path + query), 400, type);

  test('200 with all items in order of creation, followed by the links', async () => {
    const { body } = await service.get(path);
    expect(Object.keys(body)).toEqual([sample.collection, 'links']);
    expect(body[sample.collection]).toEqual(resources);
  });

  test('200 with an empty list in a new service', async () => {
    const fresh = await startTestService();
    expect((await fresh.get(path)).text).toBe(
      `{"${sample.collection}":[],"links":{"self":"${fresh.url}${path}"}}`,
    );
  });

  describe('limit', () => {
    test.each([
      ['1', 1],
      ['3', 3],
      ['03', 3],
      ['5', 5],
      ['1000', 5],
      ['1001', 5],
      ['9223372036854775807', 5],
      ['max', 5],
      ['MAX', 5],
      ['m%61x', 5],
    ])('200 for limit=%s with %d items', async (limit, length) => {
      expect(await list(`?limit=${limit}`)).toEqual(resources.slice(0, length));
    });

    test.each([
      '0',
      '-1',
      'abc',
      '1.5',
      'None',
      '',
      '+3',
      '%203',
      '3%20',
      '1_0',
      '1e3',
      '0x5',
      '٣',
      '9223372036854775808',
      '99999999999999999999',
      'maximum',
      'null',
    ])('400 for limit=%s', async (limit) => {
      expect(await refuse(`?limit=${limit}`, 'invalid_limit')).toBe(
        'limit should be an integer between 1 and 1000',
      );
    });

    test.each(['?limit=1&limit=1', '?limit=1&limit=2', '?limit', '?limit=max&limit=max'])(
      '400 for %s',
      async (query) => {
        await refuse(query, 'invalid_limit');
      },
    );
  });

  describe('marker', () => {
    test('200 with the items after the marker, for every spelling of its id', async () => {
      const [, second] = resources;
      const id = second?.id ?? '';
      for (const marker of [id, id.toUpperCase(), id.replaceAll('-', ''), `%7B${id}%7D`]) {
        expect(await list(`?marker=${marker}`)).toEqual(resources.slice(2));
      }
    });

    test('200 with an empty list after the last item', async () => {
      const response = await service.get(`${path}?marker=${resources.at(-1)?.id}`);
      expect(itemsOf(response, sample)).toEqual([]);
      expect(response.body.links).not.toHaveProperty('next');
    });

    test.each(['', 'foo', '12345', `${UNKNOWN_ID}0`, 'null'])(
      '400 for marker=%s',
      async (marker) => {
        await refuse(`?marker=${marker}`, 'invalid_marker');
      },
    );

    test('400 for two markers', async () => {
      await refuse(`?marker=${UNKNOWN_ID}&marker=${UNKNOWN_ID}`, 'invalid_marker');
    });

    test('400 for an unknown marker, or the id of an item in another collection', async () => {
      expect(await refuse(`?marker=${UNKNOWN_ID}`, 'marker_not_found')).toContain(UNKNOWN_ID);
      const other = SAMPLES.find(({ collection }) => collection !== sample.collection) ?? sample;
      await refuse(`?marker=${(await create(service, other, 'elsewhere')).id}`, 'marker_not_found');
    });

    test('400 for the marker of a deleted item', async () => {
      const { id } = await create(service, sample, 'deleted');
      await service.delete(`${path}/${id}`);
      await refuse(`?marker=${id}`, 'marker_not_found');
    });
  });

  describe('sorting', () => {
    const namesOf = async (query: string) => (await list(query)).map(({ name }) => name);

    test('200 sorted by the comparison form of names, in code-point order', async () => {
      const sorted = ['_delta', 'Alpha', 'alpha2', 'bravo', 'charlie'];
      expect(await namesOf('?sort_key=name')).toEqual(sorted);
      expect(await namesOf('?sort_key=name&sort_dir=asc')).toEqual(sorted);
      expect(await namesOf('?sort_dir=desc&sort_key=name')).toEqual(sorted.toReversed());
    });

    test('200 sorted by id or by time of creation', async () => {
      const ids = resources.map(({ id }) => id).toSorted();
      expect((await list('?sort_key=id')).map(({ id }) => id)).toEqual(ids);
      expect((await list('?sort_key=id&sort_dir=desc')).map(({ id }) => id)).toEqual(
        ids.toReversed(),
      );
      expect(await namesOf('?sort_key=created_at')).toEqual(NAMES);
      expect(await namesOf('?sort_dir=desc')).toEqual(NAMES.toReversed());
    });

    test('200 in the default order for an empty sort_key or sort_dir', async () => {
      expect(await namesOf('?sort_key=&sort_dir=')).toEqual(NAMES);
      expect(await namesOf('?sort_key&sort_dir')).toEqual(NAMES);
    });

    test.each([
      'description',
      'algorithm',
      'secret',
      'NAME',
      'name_key',
      'created_at;',
      'toString',
      'id&sort_key=id',
    ])('400 for sort_key=%s', async (key) => {
      const message = await refuse(`?sort_key=${key}`, 'invalid_sort_key');
      for (const allowed of ['created_at', 'id', 'updated_at', 'name'])
        expect(message).toContain(allowed);
    });

    test.each(['ASC', 'DESC', 'up', 'descending', 'asc&sort_dir=asc'])(
      '400 for sort_dir=%s',
      async (direction) => {
        await refuse(`?sort_dir=${direction}`, 'invalid_sort_dir');
      },
    );
  });

  describe('links', () => {
    const self = async (query: string) =>
      (await linksOf(query)).self.replace(service.url + path, '');

    test.each([
      ['', ''],
      ['?', ''],
      ['?&', ''],
      ['?limit=3', '?limit=3'],
      ['?sort_dir=asc&limit=2&name=a*', '?sort_dir=asc&limit=2&name=a%2A'],
      ['?name=a%2a', '?name=a%2A'],
      ['?name=a+b%20c', '?name=a+b+c'],
      ['?n%61me=a-b_c.d~e', '?name=a-b_c.d~e'],
      ['?name=%D1%80', '?name=%D1%80'],
      ["?name='()!", '?name=%27%28%29%21'],
      ['?name=a%26b%3Dc%2B', '?name=a%26b%3Dc%2B'],
      ['?name=a=b', '?name=a%3Db'],
      ['?name', '?name='],
      ['?sort_key=&limit=max', '?sort_key=&limit=max'],
    ])(
      '200 for the query %s, and links.self contains the query in canonical encoding',
      async (query, encoded) => {
        expect(await self(query)).toBe(encoded);
      },
    );

    test.each([
      ['?all_projects=true', ''],
      ['?all_tenants=1&limit=3', '?limit=3'],
      ['?limit=9&edit_managed_records=yes', '?limit=9'],
      ['?all_projects=&all_projects=x', ''],
    ])(
      '200 for the query %s; links.self omits parameters of the request context',
      async (query, encoded) => {
        expect(await self(query)).toBe(encoded);
      },
    );

    test('200 with links.next only if the page is full', async () => {
      for (const [limit, full] of [
        [1, true],
        [4, true],
        [5, true],
        [6, false],
      ] as const) {
        expect(Object.keys(await linksOf(`?limit=${limit}`))).toEqual(
          full ? ['self', 'next'] : ['self'],
        );
      }
      expect(await linksOf('')).not.toHaveProperty('next');
      expect(await linksOf('?limit=max')).not.toHaveProperty('next');
    });

    test('200 with the marker last in links.next, even if it is not last in the request', async () => {
      const [first, second, third] = resources.map(({ id }) => id);
      const links = await linksOf(`?limit=1&marker=${first}&sort_dir=asc&all_projects=true&name=*`);
      expect(links.self).toBe(
        `${service.url}${path}?limit=1&marker=${first}&sort_dir=asc&name=%2A`,
      );
      expect(links.next).toBe(
        `${service.url}${path}?limit=1&sort_dir=asc&name=%2A&marker=${second}`,
      );
      expect((await linksOf(links.next?.slice((service.url + path).length) ?? '')).next).toMatch(
        new RegExp(`&marker=${third}$`),
      );
    });
  });

  describe('invalid parameters', () => {
    test.each([
      ['?foo=1', 'Invalid filters foo'],
      ['?foo=1&page=2&foo=3', 'Invalid filters foo, page'],
      ['?id=x', 'Invalid filters id'],
      ['?secret=x', 'Invalid filters secret'],
      ['?name_key=x', 'Invalid filters name_key'],
      ['?NAME=x', 'Invalid filters NAME'],
      ['?constructor=x', 'Invalid filters constructor'],
      ['?__proto__=x', 'Invalid filters __proto__'],
      ['?name=a&name=b', 'Duplicate filters name'],
      ['?name=a&name=a', 'Duplicate filters name'],
    ])('400 for %s', async (query, message) => {
      expect(await refuse(query, 'bad_request')).toBe(message);
    });

    test.each([
      '?name=%',
      '?name=%zz',
      '?name=%ff',
      '?%ff=x',
      '?name=%ed%a0%80',
      '?name=%c0%80',
      '?name=a%00b',
    ])('400 for invalid text: %s', async (query) => {
      await refuse(query, 'bad_request');
    });

    test('401, not 400, for an invalid query of a caller without the right', async () => {
      const powerless = await clientFor(service, ['member']);
      for (const query of ['?limit=0', '?foo=1', '?marker=x', '?name=%ff']) {
        expectError(await powerless.get(path + query), 401, 'access_denied');
      }
    });
  });
});

describe('with api.defaultLimit', () => {
  test('200 with the configured number of items by default, and more items for a larger limit', async () => {
    const service = await startTestService({ TSIGIL_API_DEFAULT_LIMIT: '2' });
    for (const name of NAMES) await service.post('/v2/tlds', { name });
    const { body } = await service.get('/v2/tlds');
    expect(body.tlds).toHaveLength(2);
    expect(body.links.next).toBe(`${service.url}/v2/tlds?marker=${body.tlds[1].id}`);
    for (const query of ['?limit=max', '?limit=5', '?limit=1000'])
      expect((await service.get(`/v2/tlds${query}`)).body.tlds).toHaveLength(5);
  });
});

test('200 with at most 1000 items, by default and for any larger limit', async () => {
  const service = await startTestService();
  const names = Array.from({ length: 1001 }, (_, index) => `name-${index}`);
  expect(
    (await service.post('/v2/tlds/bulk', { tlds: names.map((name) => ({ name })) })).status,
  ).toBe(200);
  for (const query of [
    '',
    '?limit=max',
    '?limit=1000',
    '?limit=1001',
    '?limit=9223372036854775807',
  ]) {
    const { body } = await service.get(`/v2/tlds${query}`);
    expect(body.tlds).toHaveLength(1000);
    const rest = await service.get(body.links.next.slice(service.url.length));
    expect(rest.body.tlds).toHaveLength(1);
    expect(rest.body.links).not.toHaveProperty('next');
  }
});
