import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import { cleanEnvironment, PROGRAM, startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

const TOKEN = 'copy-token-0123456789-0123456789abcdef';
const folder = temporaryFolder();
const sqlite = `sqlite:${join(folder, 'source.db')}`;
let postgres: string;
let ownToken: string;

beforeAll(async () => {
  postgres = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'copy');
  await withService(sqlite, async (service) => {
    for (let index = 0; index < 520; index += 1)
      await service.post('/v2/tlds', { name: `tld${index}`, description: index % 2 === 0 ? 'Ünïcode 😀' : null });
    const { body: pool } = await service.post('/v2/pools', { name: 'second', ns_records: [{ priority: 1, hostname: 'ns1.example.org.' }] });
    await service.post('/v2/zones', { name: 'example.tld1.', email: 'a@example.org', pool_id: pool.id, attributes: { a: 'b' } });
    const { body: key } = await service.post('/v2/tsigkeys', { name: 'k', algorithm: 'hmac-sha512', scope: 'POOL', resource_id: pool.id });
    await service.patch(`/v2/tsigkeys/${key.id}`, { name: 'k2' });
    ownToken = (await service.post('/v2/tokens', { name: 'mine', roles: ['admin'], expires_at: '2999-01-01T00:00:00' })).body.token;
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function withService<T>(database: string, work: (service: ServiceProcess) => Promise<T>): Promise<T> {
  const service = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: database, TSIGIL_ADMIN_TOKEN: TOKEN });
  try {
    return await work(service);
  } finally {
    await service.stop('SIGTERM');
  }
}

/** Everything that callers can see, without the links, which depend on the port. */
function everything(database: string): Promise<unknown> {
  return withService(database, async (service) => {
    const lists = ['tlds', 'tsigkeys', 'pools', 'zones', 'tokens'].map(async (collection) => {
      const { body } = await service.get(`/v2/${collection}?sort_key=id&all_projects=true`);
      return (body[collection] as object[]).map((resource) => ({ ...resource, links: undefined }));
    });
    return Promise.all(lists);
  });
}

function migrate(from: string, to: string): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [PROGRAM, 'migrate', '--from', from, '--to', to], { cwd: folder, env: cleanEnvironment() });
}

test('copies everything to PostgreSQL and back, also a second time, and tokens stay valid', async () => {
  const original = await everything(sqlite);
  const { stdout } = await migrate(sqlite, postgres);
  expect(stdout).toBe(['tlds: 520', 'tsigkeys: 1', 'pools: 2', 'zones: 1', 'tokens: 1'].map((line) => `${line} copied and compared\n`).join(''));
  expect(await everything(postgres)).toEqual(original);
  expect((await migrate(sqlite, postgres)).stdout).toBe(stdout);
  expect(await everything(postgres)).toEqual(original);
  await withService(postgres, async (service) => expect((await service.with(ownToken).get('/v2/tlds')).status).toBe(200));

  const back = `sqlite:${join(folder, 'back.db')}`;
  await migrate(postgres, back);
  expect(await everything(back)).toEqual(original);
});

test('refuses a target with other content and does not change it', async () => {
  const target = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'copy-target');
  await withService(target, (service) => service.post('/v2/tlds', { name: 'stranger' }));
  await expect(migrate(sqlite, target)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/holds tlds that the source does not.*nothing was copied/) as string,
  });
  await withService(target, async (service) => expect((await service.get('/v2/tlds')).body.tlds).toHaveLength(1));
});

test('refuses a source that a service is using', async () => {
  const target = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'copy-busy');
  await withService(sqlite, async () => {
    await expect(migrate(sqlite, target)).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/Another process is using/) as string });
  });
});
