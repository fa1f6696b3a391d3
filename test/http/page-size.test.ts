import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSlicer } from '../../src/core/scheduling/slicer.ts';
import { countFitting, isLonger, writeLongJson } from '../../src/http/long-responses.ts';
import { startTestService } from '../harness/service.ts';
import { randomCases } from '../harness/sizes.ts';
import { createZone, primary, zonesOf, type Zone } from '../harness/zones.ts';

const MAX_BYTES = 16_384;

const sizeOf = (items: readonly unknown[]) => Buffer.byteLength(JSON.stringify(items));

test('200 with each zone on exactly one page, and as many zones on each page as its size allows, at least one', async () => {
  const service = await startTestService({}, { byteLimits: { maxPageBytes: MAX_BYTES } });
  const zones: Zone[] = [];
  for (let index = 0; index < 20; index += 1) {
    const value = ['é😀"', 'plain', '\\'][index % 3]?.repeat(10) ?? '';
    const names = Array.from({ length: (index * 37) % 101 }, (_, number) => `${number}`.padEnd(50));
    const attributes = Object.fromEntries(names.map((name) => [name, value]));
    zones.push(await createZone(service, primary(`zone-${index}.example.`, { attributes })));
  }
  expect(zones.some((zone) => sizeOf([zone]) > MAX_BYTES)).toBe(false);
  const padding = Array.from({ length: 100 }, (_, index) => [
    `${index}`.padEnd(50, 'ä'),
    '😀'.repeat(50),
  ]);
  const large = primary('large.example.', { attributes: Object.fromEntries(padding) });
  zones.push(await createZone(service, large));

  const pages: Zone[][] = [];
  for (let next: string | undefined = '/v2/zones?limit=1000'; next !== undefined;) {
    const response = await service.get(next);
    pages.push(zonesOf(response));
    expect(response.body.metadata).toEqual({ total_count: zones.length });
    next = response.body.links.next?.slice(service.url.length);
  }
  expect(pages.flat()).toEqual(zones);
  expect(pages.length).toBeGreaterThan(2);
  for (const [index, page] of pages.entries()) {
    if (page.length > 1) expect(sizeOf(page)).toBeLessThanOrEqual(MAX_BYTES);
    const following = pages[index + 1]?.[0];
    if (following !== undefined) expect(sizeOf([...page, following])).toBeGreaterThan(MAX_BYTES);
  }
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

test('a long response is the same JSON as JSON.stringify writes, for any lists', async () => {
  const items = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(items, items, async (one, other) => {
      const lists = { one: [...one, { long: 'é'.repeat(70_000) }], other };
      const bytes = await writeLongJson(
        createSlicer(() => 0),
        { count: one.length, one: lists.one.values(), other },
      );
      expect(bytes.toString()).toBe(JSON.stringify({ count: one.length, ...lists }));
    }),
    { numRuns: randomCases(30) },
  );
});
