import { beforeAll, expect, test } from 'vitest';
import type { AuditRecord } from '../../src/core/audit-record.ts';
import { expectError } from '../harness/samples.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { seed, withDatabase } from '../harness/trail.ts';

// More than the buffers of a connection hold, so that a stream that no one reads does not end.
const RECORDS = 8000;
/** About 3 kB of JSON: a record of a bulk request can have 6.6 kB. */
const detail = { names: Array.from({ length: 100 }, (_, index) => `é${index}`.padEnd(28, 'x')) };
const PAGE_BYTES = 1024 ** 2;
const OWN = 'resource_type=seeded';

let folder: string;
let service: TestService;
beforeAll(async () => {
  folder = temporaryFolder();
  const url = await testDatabase(folder);
  await withDatabase(url, (database) => seed(database, RECORDS, 2000, { changes: { detail } }));
  service = await startTestService(
    { TSIGIL_DATABASE_URL: url },
    { folder, auditIntervalMs: 600_000 }, // later records stay unsealed
  );
  for (let index = 0; index < 400; index += 1)
    await service.post('/v2/tlds', { name: `t${index}`, description: 'é'.repeat(160) });
}, 120_000);

test.each(['asc', 'desc'])(
  '200 with every record once, in pages of at most 1 MiB, %s',
  async (order) => {
    const seqs: number[] = [];
    let pages = 0;
    for (
      let path: string | undefined = `/v2/audit?limit=1000&sort_dir=${order}`;
      path !== undefined;
      pages += 1
    ) {
      const { status, text, body } = await service.get(path);
      expect(status).toBe(200);
      expect(Buffer.byteLength(text)).toBeLessThan(PAGE_BYTES + 1000);
      const { records, links } = body as { records: AuditRecord[]; links: { next?: string } };
      expect(records.length).toBeGreaterThan(0);
      seqs.push(...records.map(({ seq }) => seq));
      path = links.next?.slice(service.url.length);
    }
    expect(new Set(seqs).size).toBe(seqs.length);
    expect(seqs.length).toBeGreaterThanOrEqual(order === 'asc' ? RECORDS : RECORDS + 400);
    expect(pages).toBeGreaterThan(20);
  },
);

/** Begins a stream as this caller, and reads nothing. */
async function stream(token: string) {
  const controller = new AbortController();
  const response = await fetch(`${service.url}/v2/audit?${OWN}`, {
    headers: { accept: 'application/x-ndjson', 'x-auth-token': token },
    signal: controller.signal,
  });
  return { response, end: () => controller.abort() };
}

test('429 for the second stream of a caller and for the third of all, until a stream ends', async () => {
  const token = async (name: string) =>
    (await service.post('/v2/tokens', { name, roles: ['auditor'] })).body.token as string;
  const [one, two, three] = [await token('one'), await token('two'), await token('three')];
  const held = [await stream(one), await stream(two)];
  expect(held.map(({ response }) => response.status)).toEqual([200, 200]);
  for (const caller of [one, three])
    for (const path of ['/v2/audit', '/v2/audit/verify']) {
      const refused = await service.with(caller).get(path, { accept: 'application/x-ndjson' });
      expectError(refused, 429, 'too_many_requests');
      expect(refused.headers.get('retry-after')).toBe('10');
    }
  expect((await service.with(one).get('/v2/audit?limit=5')).status).toBe(200);
  for (const { end } of held) end();
  for (const caller of [one, three])
    await expect
      .poll(async () => (await service.with(caller).get('/v2/audit/verify')).status)
      .toBe(200);
});
