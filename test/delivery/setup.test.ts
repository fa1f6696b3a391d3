import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { BRAND_NAMES } from '../../src/brands/brands.ts';
import { localProblems } from '../../src/delivery/reconciler/registration.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { DEFAULT_POOL } from '../harness/delivery.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

interface Setup {
  readonly steps: readonly { readonly title: string; readonly text: string }[];
  readonly later: string;
  readonly more_zones: number;
}

async function setupOf(members: object, query = ''): Promise<Setup> {
  const address = '192.0.2.53:5300';
  const given = Object.assign({ pool_id: DEFAULT_POOL, address }, members);
  const { body, status } = await service.post('/v2/nameservers', given);
  expect(status).toBe(201);
  const answer = await service.get(`/v2/nameservers/${String(body.id)}/setup${query}`);
  expect(answer.status).toBe(200);
  return answer.body as Setup;
}

test.each(BRAND_NAMES)('200 with an entry that the service accepts for %s', async (driver) => {
  const { steps } = await setupOf({ name: `by-service-${driver}`, driver });
  const [files, lines, entry] = steps;
  expect(files?.text).not.toContain('tsigil-agent');
  expect(lines?.title).toMatch(/^Add these lines to \/etc/);
  const { nameServers } = parse(entry?.text ?? '') as {
    nameServers: Parameters<typeof localProblems>[0];
  };
  expect(nameServers).toMatchObject([{ driver, pool: 'default', address: '192.0.2.53:5300' }]);
  expect(localProblems(nameServers)).toEqual([]);
});

test('200 with the token, the files and the start of an agent', async () => {
  const { steps } = await setupOf({ name: 'by-agent', driver: 'bind', delivery: 'agent' });
  expect(steps).toHaveLength(5);
  expect(steps[2]?.text).toContain(`url: ${service.url}`);
  expect(steps[3]?.text).toContain('--role nameserver-agent --nameserver by-agent');
});

test('200 with the entries of 20 zones, or with zones=all of all', async () => {
  for (let index = 10; index < 33; index += 1)
    await service.post('/v2/zones', { name: `z${index}.test.`, email: 'a@b.test' });
  const first = await setupOf({ name: 'first', driver: 'knot' });
  expect([first.more_zones, first.steps[1]?.text.match(/In the zone/g)?.length]).toEqual([3, 20]);
  const all = await setupOf({ name: 'all', driver: 'knot' }, '?zones=all');
  expect([all.more_zones, all.steps[1]?.text.match(/In the zone/g)?.length]).toEqual([0, 23]);
});

test('200 with --pool in the command for a later zone, unless the pool is the default', async () => {
  const pool = await service.post('/v2/pools', { name: "it's mine" });
  for (const driver of BRAND_NAMES) {
    const members = { name: `later-${driver}`, driver };
    expect((await setupOf(members)).later).toMatch(
      /^tsigil zone create example\.net\. --email \S+$/m,
    );
    const other = { ...members, name: `pooled-${driver}`, pool_id: pool.body.id };
    expect((await setupOf(other)).later).toMatch(
      /^tsigil zone create example\.net\. --email \S+ --pool 'it'\\''s mine'$/m,
    );
  }
});

test('400 for another choice of zones, 401 for a reader, 404 for an unknown name server', async () => {
  const { body } = await service.post('/v2/nameservers', {
    name: 'refusals',
    driver: 'knot',
    address: '192.0.2.53',
    pool_id: DEFAULT_POOL,
  });
  const path = `/v2/nameservers/${String(body.id)}/setup`;
  expect((await service.get(`${path}?zones=some`)).status).toBe(400);
  const { body: reader } = await service.post('/v2/tokens', { name: 'reader', roles: ['reader'] });
  const refused = await service.with(String(reader.token)).get(path);
  expect([refused.status, refused.body.type]).toEqual([401, 'access_denied']);
  const unknown = '2d1b0a1e-6f0d-4f2b-9c1a-000000000000';
  expect((await service.get(`/v2/nameservers/${unknown}/setup`)).status).toBe(404);
});
