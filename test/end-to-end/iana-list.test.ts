import tlds from 'tlds';
import { beforeAll, expect, test } from 'vitest';
import { toAsciiName } from '../../src/domain/text/dns-name.ts';
import { startTestService, type TestService } from '../harness/service.ts';

/** The names in the IANA list, as A-labels. */
const NAMES = tlds
  .map((name) => (/^[a-z0-9-]+$/.test(name) ? name : (toAsciiName(name) ?? '')))
  .sort();

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

test('the API stores the whole IANA list and returns it unchanged in pages', async () => {
  expect(NAMES.length).toBeGreaterThan(1400);
  expect(new Set(NAMES).size).toBe(NAMES.length);

  const statuses = await inTurns(
    NAMES,
    20,
    async (name) => (await service.post('/v2/tlds', { name })).status,
  );
  expect(new Set(statuses)).toEqual(new Set([201]));

  const read: string[] = [];
  let pages = 0;
  let path: string | undefined = '/v2/tlds?limit=100&sort_key=name';
  while (path !== undefined) {
    const { body } = await service.get(path);
    read.push(...body.tlds.map((tld: { name: string }) => tld.name));
    path = body.links.next?.slice(service.url.length);
    pages += 1;
  }
  expect(read).toEqual(NAMES);
  expect(pages).toBe(Math.floor(NAMES.length / 100) + 1);

  const everything = await service.get('/v2/tlds?limit=max');
  expect(everything.body.tlds).toHaveLength(1000);
  const found = await service.get('/v2/tlds?name=xn--*');
  expect(found.body.tlds.map((tld: { name: string }) => tld.name).sort()).toEqual(
    NAMES.filter((name) => name.startsWith('xn--')),
  );
});

/**
 * Runs `work` on every item, with at most `width` items at a time. Returns the results in the order
 * of `items`.
 */
async function inTurns<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
