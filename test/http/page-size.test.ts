import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { countFitting, isLonger } from '../../src/http/long-responses.ts';
import type { ApiResponse } from '../harness/client.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { randomCases } from '../harness/sizes.ts';
import { createZone, primary, zonesOf, type Zone } from '../harness/zones.ts';

const MAX_BYTES = 16_384;

let service: TestService;
let zones: Zone[];
beforeAll(async () => {
  service = await startTestService({}, { byteLimits: { maxPageBytes: MAX_BYTES } });
  // Creates zones with 0 to 99 attributes, not sorted by size. One third of the zones contain
  // multi-byte characters, and one third contain backslashes.
  const attributesOf = (index: number) =>
    Object.fromEntries(
      Array.from({ length: (index * 37) % 100 }, (_, number) => [
        `name-${number}`,
        ['é😀"', 'plain', '\\'][index % 3]?.repeat(10) ?? '',
      ]),
    );
  zones = [];
  for (let index = 0; index < 60; index += 1) {
    zones.push(
      await createZone(
        service,
        primary(`zone-${(index * 7) % 60}.example.`, {
          attributes: attributesOf(index),
          ttl: index % 5,
        }),
      ),
    );
  }
});

const sizeOf = (items: readonly unknown[]) => Buffer.byteLength(JSON.stringify(items));

/** Follows `links.next` from the first page to the last. */
async function walk(query: string): Promise<{ pages: Zone[][]; totals: unknown[] }> {
  const pages: Zone[][] = [];
  const totals: unknown[] = [];
  let next: string | undefined = `/v2/zones?${query}`;
  while (next !== undefined) {
    const response: ApiResponse = await service.get(next);
    pages.push(zonesOf(response));
    totals.push((response.body as { metadata?: { total_count: number } }).metadata?.total_count);
    next = (response.body as { links: { next?: string } }).links.next?.slice(service.url.length);
  }
  return { pages, totals };
}

test('200 with each zone on exactly one page, and as many zones on each page as the size limit allows', async () => {
  const queries = fc.record({
    limit: fc.constantFrom(1, 2, 7, 59, 60, 1000),
    sortKey: fc.constantFrom('created_at', 'name', 'id', 'updated_at', 'ttl'),
    direction: fc.constantFrom('asc', 'desc'),
    filter: fc.constantFrom(
      '',
      '&status=ACTIVE',
      '&name=zone-*',
      '&name=*e*1*',
      '&outside_tlds=false',
    ),
  });
  await fc.assert(
    fc.asyncProperty(queries, async ({ limit, sortKey, direction, filter }) => {
      const { pages, totals } = await walk(
        `limit=${limit}&sort_key=${sortKey}&sort_dir=${direction}${filter}`,
      );
      const expected = filter.includes('1') ? zones.filter(({ name }) => /1/.test(name)) : zones;
      const all = pages.flat();
      expect(all.map(({ id }) => id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
      for (const [index, page] of pages.entries()) {
        if (page.length > 1) expect(sizeOf(page)).toBeLessThanOrEqual(MAX_BYTES);
        const following = pages[index + 1]?.[0];
        if (following !== undefined && page.length < limit)
          expect(sizeOf([...page, following])).toBeGreaterThan(MAX_BYTES);
      }
      for (const total of totals)
        expect(total).toBe(filter.includes('outside') ? undefined : expected.length);
    }),
    { numRuns: randomCases(25) },
  );
});

test('200 with a single zone if this zone is larger than the size limit of a page', async () => {
  const attributes = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`${index}`.padEnd(50, 'ä'), '😀'.repeat(50)]),
  );
  const large = await createZone(service, primary('large.example.', { attributes }));
  expect(sizeOf([large])).toBeGreaterThan(MAX_BYTES);
  expect(zonesOf(await service.get('/v2/zones?name=large.example.'))).toEqual([large]);
  const { pages } = await walk('name=large*');
  expect(pages.flat()).toEqual([large]);
  await service.delete(`/v2/zones/${large.id}`);
});

test('the size of a page is the number of bytes of its JSON in UTF-8', () => {
  const items = fc.array(fc.record({ name: fc.string({ unit: 'binary' }), number: fc.nat() }), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(items, fc.nat(1000), (list, maxBytes) => {
      const count = countFitting(
        list.map((item) => JSON.stringify(item)),
        maxBytes,
      );
      expect(isLonger(JSON.stringify(list), maxBytes)).toBe(sizeOf(list) > maxBytes);
      if (count < list.length) expect(sizeOf(list.slice(0, count + 1))).toBeGreaterThan(maxBytes);
      expect(count === Math.min(1, list.length) || sizeOf(list.slice(0, count)) <= maxBytes).toBe(
        true,
      );
    }),
    { numRuns: randomCases(100) },
  );
});
