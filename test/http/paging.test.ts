import { beforeAll, describe, expect, test } from 'vitest';
import { create, itemsOf, SAMPLES, type Resource } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const SORT_KEYS = ['created_at', 'id', 'updated_at', 'name'] as const;
const ORDERS = SORT_KEYS.flatMap((key) => [
  `sort_key=${key}&sort_dir=asc`,
  `sort_key=${key}&sort_dir=desc`,
]);

describe.each(SAMPLES)('$collection', (sample) => {
  const path = `/v2/${sample.collection}`;
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
    for (let index = 0; index < 23; index += 1) {
      const { id } = await create(service, sample, `entry-${(index * 7) % 23}`);
      // entries without a change have no updated_at
      if (index % 3 === 0) await service.patch(`${path}/${id}`, {});
    }
  });

  /** Follows links.next from the first page to the last. Calls `between` after each page. */
  async function walk(
    query: string,
    between: (page: Resource[]) => Promise<unknown> = async () => undefined,
  ): Promise<Resource[]> {
    const seen: Resource[] = [];
    let next: string | undefined = `${service.url}${path}?${query}`;
    while (next !== undefined) {
      const response = await service.get(next.slice(service.url.length));
      const page = itemsOf(response, sample);
      seen.push(...page);
      next = response.body.links.next;
      await between(page);
    }
    return seen;
  }

  const all = async (order: string) => itemsOf(await service.get(`${path}?${order}`), sample);

  test.each(ORDERS)(
    '200 with the same items on several pages as on one page, for every page size: %s',
    async (order) => {
      const whole = await all(order);
      expect(whole).toHaveLength(23);
      for (const limit of [1, 2, 5, 22, 23, 24])
        expect(await walk(`${order}&limit=${limit}`)).toEqual(whole);
    },
  );

  test.each(ORDERS)(
    '200 sorted by value and then by id, with null before other values: %s',
    async (order) => {
      const key = SORT_KEYS.find((name) => order.includes(`=${name}&`)) ?? 'id';
      const sorted = (await all(order)).map((item) => `${item[key] ?? ''} ${item.id}`);
      expect(sorted).toEqual(
        order.endsWith('asc') ? sorted.toSorted() : sorted.toSorted().toReversed(),
      );
    },
  );

  test('200 with the matching items on several pages', async () => {
    const whole = await all('name=entry-1*&sort_key=name');
    expect(whole).toHaveLength(11);
    expect(await walk('name=entry-1*&sort_key=name&limit=3')).toEqual(whole);
  });

  test.each(ORDERS)(
    '200 with every unchanged item exactly once while callers create and delete other items: %s',
    async (order) => {
      const stays = (await all(order)).map(({ id }) => id);
      const passing: Resource[] = [];
      let pages = 0;
      const seen = await walk(`${order}&limit=4`, async (page) => {
        if ((pages += 1) > 10) return;
        // Creates items before and after the end of the page. Does not delete the marker, because
        // the service refuses the marker of a deleted item.
        for (const prefix of ['a', 'entry-1', 'z'])
          passing.push(await create(service, sample, `${prefix}-${pages}-passing`));
        for (const { id } of passing.splice(0, 2))
          if (id !== page.at(-1)?.id) await service.delete(`${path}/${id}`);
      });
      const ids = seen.map(({ id }) => id);
      expect(ids.filter((id) => stays.includes(id))).toEqual(stays);
      expect(new Set(ids).size).toBe(ids.length);
      for (const { id, name } of await all('name=*passing'))
        expect((await service.delete(`${path}/${id}`)).status, name).toBe(204);
    },
  );
});

test('200 in code-point order for names that UTF-16 sorts differently', async () => {
  const service = await startTestService();
  const [, keys] = SAMPLES;
  if (keys === undefined) throw new Error('There are no samples');
  const names = ['a', 'Z', 'é', '\u{ff5e}', '\u{1f511}'];
  for (const name of names.toReversed()) await create(service, keys, name);
  expect(
    itemsOf(await service.get('/v2/tsigkeys?sort_key=name'), keys).map(({ name }) => name),
  ).toEqual(names);
});
