import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { createDatabase } from '../harness/postgres.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor, createZone, primary, zonesOf } from '../harness/zones.ts';

/** A list with a pattern that matches no row and that is slow to compare with a row. */
const SLOW = `/v2/zones?description=*${'a'.repeat(79)}b*`;
const ROWS = 200_000;

let url: string;
let admin: pg.Client;
beforeAll(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'scans');
  const service = await startTestService({ TSIGIL_DATABASE_URL: url });
  await createZone(service, primary('first.example.'));
  await service.close();
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`INSERT INTO zones (id, pool_id, project_id, name, name_key, tree_key, email, description, ttl, serial, shared, status, action, version, attributes, type, masters, created_at)
    SELECT gen_random_uuid()::text, pool_id, 'many', n || '.example.', n || '.example', 'example.' || n || '.', email, repeat('a', 160), ttl, serial, shared, status, action, version,
      attributes, type, masters, created_at FROM zones, generate_series(1, ${ROWS}) AS n WHERE zones.name = 'first.example.'`);
  await admin.query('ANALYZE zones');
});
afterAll(() => admin.end());

async function withService<T>(
  connections: number,
  work: (service: TestService, many: Client, other: Client) => Promise<T>,
): Promise<T> {
  const service = await startTestService({
    TSIGIL_DATABASE_URL: url,
    TSIGIL_DATABASE_POOL_MAX_CONNECTIONS: String(connections),
    TSIGIL_API_SCAN_TIMEOUT_SECONDS: '2',
  });
  try {
    return await work(
      service,
      await clientFor(service, ['member'], 'many'),
      await clientFor(service, ['member'], 'other'),
    );
  } finally {
    await service.close();
  }
}

describe.each([10, 2])(
  'with %d connections, while one caller requests forty slow lists',
  (connections) => {
    test('200 for another caller before the end of these lists, and 503 with a remedy for lists above the time limit', async () => {
      await withService(connections, async (service, many, other) => {
        const zone = await createZone(other, primary(`mine-${connections}.example.`));
        let done = 0;
        const slow = Array.from({ length: 40 }, () =>
          many.get(SLOW, { 'x-auth-all-projects': 'false' }).finally(() => (done += 1)),
        );
        for (let round = 0; round < 10; round += 1) {
          expect((await other.get(`/v2/zones/${zone.id}`)).status).toBe(200);
          expect((await other.get('/v2/zones?limit=5')).status).toBe(200);
          const changed = await other.patch(`/v2/zones/${zone.id}`, { ttl: 300 + round });
          expect(changed.status).toBe(200);
          if (round === 0) expect(done).toBeLessThan(slow.length);
        }

        const responses = await Promise.all(slow);
        const refused = responses.filter(({ status }) => status !== 200);
        expect(refused.length).toBeGreaterThan(0);
        for (const { status, body, headers } of refused) {
          expect([status, body.type]).toEqual([503, 'service_unavailable']);
          expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
          expect(body.message).toMatch(
            /took longer than 2 s\. Filter by an exact name|a query took too long/,
          );
        }
        await other.delete(`/v2/zones/${zone.id}`);
        expect((await service.get('/readyz')).status).toBe(200);
      });
    });
  },
);

test('200 with one connection for all requests', async () => {
  await withService(1, async (_service, many, other) => {
    const [slow, quick] = await Promise.all([
      many.get('/v2/zones?description=b*'),
      other.get('/v2/zones'),
    ]);
    expect([zonesOf(slow), zonesOf(quick)]).toEqual([[], []]);
    expect((await many.get('/v2/zones?limit=2')).body.metadata).toEqual({ total_count: ROWS });
  });
});
