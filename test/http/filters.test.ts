import { beforeAll, describe, expect, test } from 'vitest';
import { itemsOf, POOL_ID, TLDS, TSIGKEYS, type Sample } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const OTHER_ID = '11111111-2222-4333-8444-555555555555';
const LONG = 'l'.repeat(255);
let service: TestService;

/** Returns the names in the list for this query. */
async function namesFor(sample: Sample, query: string): Promise<string[]> {
  return itemsOf(await service.get(`/v2/${sample.collection}?${query}`), sample).map(
    ({ name }) => name,
  );
}

describe('tlds', () => {
  beforeAll(async () => {
    service = await startTestService();
    const entries = [
      ['com', 'Commercial'],
      ['co.uk', 'UK 100%'],
      ['Coop', ''],
      ['org', null],
      ['_tcp', 'a*b'],
      ['x-tcp', 'Аbc'],
    ] as const;
    for (const [name, description] of entries)
      await service.post('/v2/tlds', { name, description });
  });

  test.each([
    ['name=COM', ['com']],
    ['name=CO*', ['com', 'co.uk', 'Coop']],
    ['name=%2A', ['com', 'co.uk', 'Coop', 'org', '_tcp', 'x-tcp']],
    ['name=', []],
    ['name=com.', []],
    // Only the asterisk is a wildcard.
    ['name=c%25*', []],
    ['name=_tcp', ['_tcp']],
    ["name='%20OR%20''='", []],
    ['description=commercial*', []],
    ['description=Com*', ['com']],
    ['description=', ['Coop']],
    ['description=*', ['com', 'co.uk', 'Coop', '_tcp', 'x-tcp']],
    ['description=%D0%90*', ['x-tcp']],
    ['name=co*&description=UK*', ['co.uk']],
  ])('200 for %s', async (query, names) => {
    expect(await namesFor(TLDS, query)).toEqual(names);
  });
});

describe('tsigkeys', () => {
  beforeAll(async () => {
    service = await startTestService();
    const keys = [
      { name: 'Key', algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL_ID },
      { name: 'key2', algorithm: 'hmac-sha512', scope: 'ZONE', resource_id: OTHER_ID },
      { name: 'two words.', algorithm: 'hmac-sha512', scope: 'POOL', resource_id: OTHER_ID },
      { name: '100%_[a]?\\', algorithm: 'hmac-md5', scope: 'POOL', resource_id: POOL_ID },
      { name: 'ключ', algorithm: 'hmac-sha1', scope: 'ZONE', resource_id: POOL_ID },
      { name: LONG, algorithm: 'hmac-sha1', scope: 'ZONE', resource_id: POOL_ID },
    ];
    for (const key of keys) await service.post('/v2/tsigkeys', key);
  });

  test.each([
    ['name=KEY.', ['Key']],
    ['name=KEY*', ['Key', 'key2']],
    ['name=two+words', ['two words.']],
    ['name=100%25_[a]?\\*', ['100%_[a]?\\']],
    ['name=%D0%9A*', ['ключ']],
    ['scope=pool', ['Key', 'two words.', '100%_[a]?\\']],
    ['scope=zo*', ['key2', 'ключ', LONG]],
    ['algorithm=HMAC-SHA512', ['key2', 'two words.']],
    ['algorithm=hmac-sha*&scope=POOL', ['Key', 'two words.']],
    [`resource_id=${OTHER_ID}&scope=ZONE`, ['key2']],
    [`resource_id=${OTHER_ID.slice(0, 8)}*`, ['key2', 'two words.']],
    [`name=${'*l'.repeat(255)}`, [LONG]],
    [`name=${'*l'.repeat(256)}`, []],
  ])('200 for %s', async (query, names) => {
    expect(await namesFor(TSIGKEYS, query)).toEqual(names);
  });
});
