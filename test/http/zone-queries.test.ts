import { beforeAll, describe, expect, test } from 'vitest';
import { expectError, POOL_ID, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor, createZone, primary } from '../harness/zones.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('the name servers of a zone', () => {
  test('200 with the NS records of the pool in the same order', async () => {
    const records = [
      { priority: 20, hostname: 'ns2.example.org.' },
      { priority: 10, hostname: 'ns1.example.org.' },
    ];
    const pool = (await service.post('/v2/pools', { name: 'served', ns_records: records })).body;
    const zone = await createZone(service, primary('served.example.', { pool_id: pool.id }));
    const response = await service.get(`/v2/zones/${zone.id}/nameservers`);
    expect([response.status, response.body]).toEqual([200, { nameservers: records }]);
    const [first] = records;
    await service.patch(`/v2/pools/${pool.id}`, { ns_records: [first] });
    expect((await service.get(`/v2/zones/${zone.id}/nameservers`)).body).toEqual({
      nameservers: [first],
    });
  });

  test('200 without name servers if the pool has none', async () => {
    const zone = await createZone(service, primary('bare.example.', { pool_id: POOL_ID }));
    expect((await service.get(`/v2/zones/${zone.id}/nameservers`)).body).toEqual({
      nameservers: [],
    });
  });

  test('200 for readers of the project, 404 for the zone of another project', async () => {
    const zone = await createZone(service, primary('private.example.'));
    const path = `/v2/zones/${zone.id}/nameservers`;
    const [own, foreign] = [
      await clientFor(service, ['reader'], 'admin'),
      await clientFor(service, ['member'], 'red'),
    ];
    expect((await own.get(path)).status).toBe(200);
    expectError(await foreign.get(path), 404, 'zone_not_found');
    expectError(await service.get(`/v2/zones/${UNKNOWN_ID}/nameservers`), 404, 'zone_not_found');
  });
});

describe('the limits', () => {
  const withoutLimit = {
    max_zones: -1,
    max_zone_recordsets: 0,
    max_zone_records: 0,
    max_recordset_records: 0,
    min_ttl: null,
    max_zone_name_length: 255,
    max_recordset_name_length: 255,
    max_page_limit: 1000,
  };

  test('200 with every limit, even for readers', async () => {
    expect((await service.get('/v2/limits')).body).toEqual(withoutLimit);
    const reader = await clientFor(service, ['reader'], 'red');
    expect((await reader.get('/v2/limits')).body).toEqual(withoutLimit);
  });

  test('200 with the quota of zones as max_zones, and 413 above the quota', async () => {
    const limited = await startTestService({ TSIGIL_ZONES_PER_PROJECT: '1' });
    expect((await limited.get('/v2/limits')).body).toEqual({ ...withoutLimit, max_zones: 1 });
    await createZone(limited, primary('first.example.'));
    const second = await limited.post('/v2/zones', primary('second.example.'));
    expectError(second, 413, 'over_quota');
  });

  test('201 for a zone name of max_zone_name_length - 1 characters, 400 for one more', async () => {
    const nameOf = (length: number) =>
      `${`${'a'.repeat(49)}.`.repeat(5)}${'b'.repeat(length - 251)}.`;
    expect(nameOf(254)).toHaveLength(254);
    await createZone(service, primary(nameOf(254)));
    expectError(await service.post('/v2/zones', primary(nameOf(255))), 400, 'invalid_object');
  });
});
