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

// test/sql/page-contract.ts tests every filter, order and marker on both databases.

const NAMES = ['bravo', 'Alpha', 'charlie', '_delta', 'alpha2'];
const SORT_KEYS = ['created_at', 'id', 'updated_at', 'name'];

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
  const namesOf = async (query: string) => (await list(query)).map(({ name }) => name);
  const linksOf = async (query: string) =>
    (await service.get(path + query)).body.links as { self: string; next?: string };
  const refuse = async (query: string, type: string) =>
    expectError(await service.get(path + query), 400, type);

  test('200 with all items in order of creation, followed by the links', async () => {
    const { body } = await service.get(path);
    expect(Object.keys(body)).toEqual([sample.collection, 'links']);
    expect(body[sample.collection]).toEqual(resources);
  });

  test.each([
    ['1', 1],
    ['03', 3],
    ['5', 5],
    ['1001', 5],
    ['9223372036854775807', 5],
    ['max', 5],
    ['m%61X', 5],
  ])('200 for limit=%s with %d items', async (limit, length) => {
    expect(await list(`?limit=${limit}`)).toEqual(resources.slice(0, length));
  });

  test.each(['=0', '=-1', '=1.5', '=', '', '=+3', '=%203', '=1e3', '=٣', '=9223372036854775808'])(
    '400 for limit%s, and for two limits',
    async (limit) => {
      for (const query of [`?limit${limit}`, `?limit=1&limit${limit}`])
        expect(await refuse(query, 'invalid_limit')).toBe(
          'limit should be an integer between 1 and 1000',
        );
    },
  );

  test('200 with the items after the marker, for every spelling of its id', async () => {
    const id = resources[1]?.id ?? '';
    for (const marker of [id, id.toUpperCase(), id.replaceAll('-', ''), `%7B${id}%7D`])
      expect(await list(`?marker=${marker}`)).toEqual(resources.slice(2));
    expect(await list(`?marker=${resources.at(-1)?.id}`)).toEqual([]);
  });

  test('400 for a marker that is no id, is repeated, or is not the id of an item of this list', async () => {
    for (const marker of ['', 'foo', `${UNKNOWN_ID}0`, `${UNKNOWN_ID}&marker=${UNKNOWN_ID}`])
      await refuse(`?marker=${marker}`, 'invalid_marker');
    expect(await refuse(`?marker=${UNKNOWN_ID}`, 'marker_not_found')).toContain(UNKNOWN_ID);
    const other = SAMPLES.find(({ collection }) => collection !== sample.collection) ?? sample;
    await refuse(`?marker=${(await create(service, other, 'elsewhere')).id}`, 'marker_not_found');
    const { id } = await create(service, sample, 'deleted');
    await service.delete(`${path}/${id}`);
    await refuse(`?marker=${id}`, 'marker_not_found');
  });

  test('200 sorted by name without regard to case, by id or by time of creation', async () => {
    const sorted = ['_delta', 'Alpha', 'alpha2', 'bravo', 'charlie'];
    expect(await namesOf('?sort_key=name&sort_dir=asc')).toEqual(sorted);
    expect(await namesOf('?sort_dir=desc&sort_key=name')).toEqual(sorted.toReversed());
    const ids = resources.map(({ id }) => id).toSorted();
    expect((await list('?sort_key=id')).map(({ id }) => id)).toEqual(ids);
    expect(await namesOf('?sort_dir=desc')).toEqual(NAMES.toReversed());
    for (const query of ['?sort_key=&sort_dir=', '?sort_key&sort_dir'])
      expect(await namesOf(query)).toEqual(NAMES);
  });

  test('400 for an unknown sort key or direction', async () => {
    for (const key of ['description', 'secret', 'NAME', 'name_key', 'toString', 'id&sort_key=id']) {
      const message = await refuse(`?sort_key=${key}`, 'invalid_sort_key');
      for (const allowed of SORT_KEYS) expect(message).toContain(allowed);
    }
    for (const direction of ['ASC', 'descending', 'asc&sort_dir=asc'])
      await refuse(`?sort_dir=${direction}`, 'invalid_sort_dir');
  });

  test.each([
    ['', ''],
    ['?&', ''],
    ['?sort_dir=asc&limit=2&name=a*', '?sort_dir=asc&limit=2&name=a%2A'],
    ['?name=a+b%20c', '?name=a+b+c'],
    ['?n%61me=a-b_c.d~e', '?name=a-b_c.d~e'],
    ["?name='()!", '?name=%27%28%29%21'],
    ['?name=a%26b=c%2B', '?name=a%26b%3Dc%2B'],
    ['?name', '?name='],
    ['?limit=3&all_tenants=1&all_projects=x', '?limit=3'],
  ])('200 for the query %s, which links.self has in canonical encoding', async (query, encoded) => {
    expect((await linksOf(query)).self).toBe(`${service.url}${path}${encoded}`);
  });

  test('200 with links.next only if the page is full, and with the marker last in it', async () => {
    for (const limit of ['1', '5']) expect(await linksOf(`?limit=${limit}`)).toHaveProperty('next');
    for (const query of ['?limit=6', '', '?limit=max', `?marker=${resources.at(-1)?.id}`])
      expect(await linksOf(query)).not.toHaveProperty('next');
    const [first, second, third] = resources.map(({ id }) => id);
    const { next } = await linksOf(`?limit=1&marker=${first}&sort_dir=asc&name=*`);
    expect(next).toBe(`${service.url}${path}?limit=1&sort_dir=asc&name=%2A&marker=${second}`);
    expect((await linksOf(next?.slice((service.url + path).length) ?? '')).next).toMatch(
      new RegExp(`&marker=${third}$`),
    );
  });

  test.each([
    ['?foo=1&page=2&foo=3', 'Invalid filters foo, page'],
    ['?id=x', 'Invalid filters id'],
    ['?secret=x', 'Invalid filters secret'],
    ['?NAME=x', 'Invalid filters NAME'],
    ['?__proto__=x', 'Invalid filters __proto__'],
    ['?name=a&name=a', 'Duplicate filters name'],
  ])('400 for %s', async (query, message) => {
    expect(await refuse(query, 'bad_request')).toBe(message);
  });

  test('400 for a query that is not text, and 401 first for a caller without the right', async () => {
    for (const query of ['?name=%', '?name=%zz', '?%ff=x', '?name=%ed%a0%80', '?name=a%00b'])
      await refuse(query, 'bad_request');
    const powerless = await clientFor(service, ['member']);
    for (const query of ['?limit=0', '?foo=1', '?marker=x', '?name=%ff'])
      expectError(await powerless.get(path + query), 401, 'access_denied');
  });
});

test.each(SORT_KEYS.flatMap((key) => [`${key}&sort_dir=asc`, `${key}&sort_dir=desc`]))(
  '200 on several pages with every unchanged item exactly once, while others create and delete items: sort_key=%s',
  async (order) => {
    const service = await startTestService();
    const make = async (name: string) =>
      (await service.post('/v2/tlds', { name })).body.id as string;
    for (let index = 0; index < 23; index += 1) {
      const id = await make(`entry-${(index * 7) % 23}`);
      // entries without a change have no updated_at
      if (index % 3 === 0) await service.patch(`/v2/tlds/${id}`, {});
    }
    const read = async (path: string) => {
      const { tlds, links } = (await service.get(path)).body as {
        tlds: Resource[];
        links: { next?: string };
      };
      return { ids: tlds.map(({ id }) => id), next: links.next?.slice(service.url.length) };
    };
    const before = (await read(`/v2/tlds?sort_key=${order}`)).ids;
    const passing: string[] = [];
    const seen: string[] = [];
    let next: string | undefined = `/v2/tlds?sort_key=${order}&limit=4`;
    for (let page = 1; next !== undefined; page += 1) {
      const { ids, next: following } = await read(next);
      seen.push(...ids);
      next = following;
      if (page > 10) continue;
      for (const prefix of ['a', 'entry-1', 'z']) passing.push(await make(`${prefix}-${page}-p`));
      // The service refuses the marker of a deleted item.
      for (const id of passing.splice(0, 2))
        if (id !== ids.at(-1)) await service.delete(`/v2/tlds/${id}`);
    }
    expect(seen.filter((id) => before.includes(id))).toEqual(before);
    expect(new Set(seen).size).toBe(seen.length);
  },
);

test('200 with api.defaultLimit items by default, and more items for a larger limit', async () => {
  const service = await startTestService({ TSIGIL_API_DEFAULT_LIMIT: '2' });
  for (const name of NAMES) await service.post('/v2/tlds', { name });
  const { body } = await service.get('/v2/tlds');
  expect(body.tlds).toHaveLength(2);
  expect(body.links.next).toBe(`${service.url}/v2/tlds?marker=${body.tlds[1].id}`);
  for (const query of ['?limit=max', '?limit=5'])
    expect((await service.get(`/v2/tlds${query}`)).body.tlds).toHaveLength(5);
});

test('200 with at most 1000 items, by default and for any larger limit', async () => {
  const service = await startTestService();
  const tlds = Array.from({ length: 1001 }, (_, index) => ({ name: `name-${index}` }));
  expect((await service.post('/v2/tlds/bulk', { tlds })).status).toBe(200);
  for (const query of ['', '?limit=max', '?limit=1001']) {
    const { body } = await service.get(`/v2/tlds${query}`);
    expect(body.tlds).toHaveLength(1000);
    const rest = await service.get(body.links.next.slice(service.url.length));
    expect([rest.body.tlds.length, rest.body.links.next]).toEqual([1, undefined]);
  }
});
