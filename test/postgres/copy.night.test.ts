import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startServiceProcess,
  temporaryFolder,
  TEST_MASTER_KEY,
  type ServiceProcess,
} from '../harness/service.ts';

const KEY = { TSIGIL_ENCRYPTION_MASTER_KEY: TEST_MASTER_KEY };
const TOKEN = 'copy-token-0123456789-0123456789abcdef';
const folder = temporaryFolder();
const sqlite = `sqlite:${join(folder, 'source.db')}`;
let postgres: string;
let ownToken: string;

beforeAll(async () => {
  postgres = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'copy');
  await withService(sqlite, async (service) => {
    for (let index = 0; index < 520; index += 1)
      await service.post('/v2/tlds', {
        name: `tld${index}`,
        description: index % 2 === 0 ? 'Ünïcode 😀' : null,
      });
    const { body: pool } = await service.post('/v2/pools', {
      name: 'second',
      ns_records: [{ priority: 1, hostname: 'ns1.example.org.' }],
    });
    const { body: zone } = await service.post('/v2/zones', {
      name: 'example.tld1.',
      email: 'a@example.org',
      pool_id: pool.id,
      attributes: { a: 'b' },
    });
    const { body: key } = await service.post('/v2/tsigkeys', {
      name: 'k',
      algorithm: 'hmac-sha512',
      scope: 'POOL',
      resource_id: pool.id,
    });
    await service.patch(`/v2/tsigkeys/${key.id}`, { name: 'k2' });
    const grants = [{ rights: ['transfer'], zones: [zone.id] }];
    expect((await service.call('PUT', `/v2/tsigkeys/${key.id}/grants`, { grants })).status).toBe(
      200,
    );
    ownToken = (
      await service.post('/v2/tokens', {
        name: 'mine',
        roles: ['admin'],
        expires_at: '2999-01-01T00:00:00',
      })
    ).body.token;
  });
});

async function withService<T>(
  database: string,
  work: (service: ServiceProcess) => Promise<T>,
  variables: Record<string, string> = {},
): Promise<T> {
  const service = await startServiceProcess(
    folder,
    {
      TSIGIL_DATABASE_URL: database,
      TSIGIL_ADMIN_TOKEN: TOKEN,
      ...variables,
    },
    undefined,
    ['--again'],
  );
  try {
    return await work(service);
  } finally {
    await service.stop('SIGTERM');
  }
}

/** Returns all resources that callers can see. Omits the links, which depend on the port. */
function everything(database: string, variables?: Record<string, string>): Promise<unknown> {
  const read = async (service: ServiceProcess) => {
    const lists = ['tlds', 'tsigkeys', 'pools', 'zones', 'tokens'].map(async (collection) => {
      const { body } = await service.get(`/v2/${collection}?sort_key=id&all_projects=true`);
      return (body[collection] as object[]).map((resource) => ({ ...resource, links: undefined }));
    });
    const all = await Promise.all(lists);
    const [, keys = []] = all as unknown as { id: string }[][];
    const grants = keys.map(
      async ({ id }) => (await service.get(`/v2/tsigkeys/${id}/grants`)).text,
    );
    return [...all, await Promise.all(grants)];
  };
  return withService(database, read, variables);
}

function copy(
  from: string,
  to: string,
  variables: Record<string, string> = KEY,
): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(
    process.execPath,
    [PROGRAM, 'copy-database', '--again', '--from', from, '--to', to],
    { cwd: folder, env: cleanEnvironment(variables) },
  );
}

test('copies everything to PostgreSQL twice, and back to SQLite; tokens are valid in the copy', async () => {
  const original = await everything(sqlite);
  const { stdout } = await copy(sqlite, postgres);
  expect(stdout).toBe(
    [
      'tlds: 520',
      'tsigkeys: 1',
      'pools: 2',
      'zones: 1',
      'nameservers: 0',
      'tokens: 1',
      'deliveries: 0',
    ]
      .map((line) => `${line} copied and compared\n`)
      .join(''),
  );
  expect(await everything(postgres)).toEqual(original);
  expect((await copy(sqlite, postgres)).stdout).toBe(stdout);
  expect(await everything(postgres)).toEqual(original);
  await withService(postgres, async (service) =>
    expect((await service.with(ownToken).get('/v2/tlds')).status).toBe(200),
  );

  const back = `sqlite:${join(folder, 'back.db')}`;
  const used = await everything(postgres); // includes the last use of the token
  await copy(postgres, back);
  expect(await everything(back, KEY)).toEqual(used);
});

test('refuses a PostgreSQL source or target that a service is using, and then a service on the source', async () => {
  const server = process.env.TEST_POSTGRES_URL ?? '';
  const [source, target] = [
    await createDatabase(server, 'copy-used-source'),
    await createDatabase(server, 'copy-used-target'),
  ];
  const used = {
    code: 1,
    stderr: expect.stringMatching(
      /^tsigil: A process on .*. uses the database\. Stop the service and repeat the command\n$/,
    ) as string,
  };
  await withService(source, async (service) => {
    await service.post('/v2/tlds', { name: 'example' });
    await expect(copy(source, target)).rejects.toMatchObject(used);
  });
  await withService(target, () => expect(copy(source, target)).rejects.toMatchObject(used));
  await copy(source, target);
  await expect(
    startServiceProcess(folder, { TSIGIL_DATABASE_URL: source, TSIGIL_ADMIN_TOKEN: TOKEN }),
  ).rejects.toThrow(/was copied to '.*copy-used-target.*' at .* run: tsigil serve --again/);
});

test('needs only read access to the tables of a PostgreSQL source, and creates nothing in it; copies what no key protects only if encryption is not required', async () => {
  const source = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'copy-read-only');
  const { stderr } = await copy(sqlite, source, { TSIGIL_ENCRYPTION_REQUIRED: 'false' });
  expect(stderr).toContain('stores secrets in clear text');
  const client = new pg.Client({ connectionString: source });
  await client.connect();
  await client.query('DROP ROLE IF EXISTS reader_of_copies');
  await client.query('CREATE ROLE reader_of_copies LOGIN');
  await client.query('GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_copies');
  const target = `sqlite:${join(folder, 'from-reader.db')}`;
  const reader = source.replace('postgres@', 'reader_of_copies@');
  await expect(copy(reader, target)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('set encryption.required to false') as string,
  });
  const copied = await copy(reader, target, { ...KEY, TSIGIL_ENCRYPTION_REQUIRED: 'false' });
  expect(copied.stdout).toContain('tlds: 520 copied and compared');
  expect(copied.stderr).toContain('nothing proves that its service stored its tokens');
  expect(copied.stderr).toContain('the source is not marked as copied');
  await withService(
    target,
    async (service) => expect((await service.with(ownToken).get('/v2/tlds')).status).toBe(200),
    KEY,
  );
  await client.query('DROP OWNED BY reader_of_copies');
  await client.query('DROP ROLE reader_of_copies');
  await client.end();
});
