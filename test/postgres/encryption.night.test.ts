import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addMasterKey, createMasterKeyFile } from '../../src/secrets/store/master-keys.ts';
import { contentBelow, createDatabase, queryPostgres } from '../harness/postgres.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';

const ADMIN = 'an-administrator-token-for-all-processes';

let folder: string;
let url: string;
let services: TestService[];
beforeEach(async () => {
  folder = temporaryFolder();
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `encryption-${Date.now()}`);
  services = [];
});
afterEach(async () => {
  for (const service of services) await service.close();
});

async function start(
  variables: Record<string, string> = {},
  encryptionIntervalMs = 200,
): Promise<TestService> {
  const service = await startTestService(
    { TSIGIL_DATABASE_URL: url, TSIGIL_ADMIN_TOKEN: ADMIN, ...variables },
    { folder, encryptionIntervalMs },
  );
  services.push(service);
  return service;
}

/** Rotates the data key, as soon as the last rotation is complete. */
async function rotate(service: TestService): Promise<void> {
  const response = () => service.post('/v2/encryption/rotate', undefined);
  await expect.poll(async () => (await response()).status).toBe(200);
}

async function run(variables: Record<string, string>, ...words: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    cwd: folder,
    env: cleanEnvironment({ TSIGIL_DATABASE_URL: url, ...variables }),
    timeout: 60_000,
  });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { status, stdout, stderr };
}

const query = (statement: string) => queryPostgres(url, statement);

test('no request fails while four processes write and the data and master keys rotate; the last data key encrypts every secret', async () => {
  const file = join(folder, 'own.key');
  createMasterKeyFile(file);
  for (let count = 0; count < 4; count += 1)
    await start({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file });
  const [first] = services;
  if (first === undefined) throw new Error('No service was started');
  const secrets = new Map<string, string>();
  let isDone = false;
  const failures: number[] = [];
  const writers = services.map(async (service, number) => {
    for (let round = 0; !isDone || round < 5; round += 1) {
      const created = await service.post('/v2/tsigkeys', {
        ...KEY_MEMBERS,
        name: `k${number}-${round}.example`,
      });
      if (created.status !== 201) failures.push(created.status);
      const id = created.body.id as string;
      secrets.set(id, created.body.secret as string);
      for (const each of services) {
        const response = await each.get(`/v2/tsigkeys/${id}`);
        if (response.status !== 200 || response.body.secret !== secrets.get(id))
          failures.push(response.status);
      }
    }
  });
  const rotations = 10;
  for (let round = 0; round < rotations; round += 1) {
    await rotate(first);
    addMasterKey(file);
    expect((await first.post('/v2/encryption/rotate-master-key', undefined)).status).toBe(200);
  }
  isDone = true;
  await Promise.all(writers);
  expect(failures).toEqual([]);
  await expect
    .poll(() => query('SELECT DISTINCT secret_key FROM tsigkeys'))
    .toEqual([{ secret_key: 2 + rotations }]); // the first data key, the audit key, the rotations
  expect((await first.post('/v2/encryption/verify', undefined)).body.unreadable_count).toBe(0);
}, 120_000);

test('a process keeps all secrets after a rotation to a master key that it lacks, and uses the key once its file has it', async () => {
  const [one, other] = [join(folder, 'one.key'), join(folder, 'other.key')];
  createMasterKeyFile(one);
  copyFileSync(one, other);
  const first = await start({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: one });
  const late = await start({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: other });
  const { id } = addMasterKey(one);
  const { body } = await first.post('/v2/encryption/rotate-master-key', undefined);
  expect(body.data_keys).toMatchObject([{ master_key: id }]);
  const created = await late.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: 'late.example' });
  expect(created.status).toBe(201);
  const refused = await late.post('/v2/encryption/rotate', undefined);
  expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(id)]);
  copyFileSync(one, other);
  await rotate(late);
  const path = `/v2/tsigkeys/${created.body.id}`;
  await expect
    .poll(() => query('SELECT DISTINCT secret_key FROM tsigkeys'))
    .toEqual([{ secret_key: 3 }]);
  for (const each of [first, late])
    expect((await each.get(path)).body.secret).toBe(created.body.secret);
});

test('201 from a process that has not noticed that its data key was replaced and deleted', async () => {
  const file = join(folder, 'own.key');
  createMasterKeyFile(file);
  const first = await start({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file });
  const late = await start({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file }, 60_000);
  await rotate(first);
  await expect
    .poll(() => query('SELECT number FROM data_keys ORDER BY 1'))
    .toEqual([{ number: 2 }, { number: 3 }]);
  const names = ['one.example', 'two.example', 'three.example'];
  const made = names.map((name) => late.post('/v2/tsigkeys', { ...KEY_MEMBERS, name }));
  expect((await Promise.all(made)).map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(await query('SELECT DISTINCT secret_key FROM tsigkeys')).toEqual([{ secret_key: 3 }]);
});

test(
  'no secret is in any row, and after a scrub no secret is in the files of PostgreSQL',
  { timeout: 240_000 },
  async () => {
    const clear: string[] = [];
    const before = await start({ TSIGIL_ENCRYPTION_REQUIRED: 'false' });
    for (let index = 0; index < 60; index += 1) {
      const { body } = await before.post('/v2/tsigkeys', {
        ...KEY_MEMBERS,
        name: `k${index}.example`,
      });
      clear.push(body.secret as string);
    }
    expect((await before.get('/v2/encryption')).body.clear_text).toBe(60);
    await query('ANALYZE tsigkeys'); // copies samples of the secrets to the statistics
    await before.close();
    services = [];
    const file = join(folder, 'own.key');
    createMasterKeyFile(file);
    const variables = { TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file };
    expect((await run(variables, 'encryption', 'accept', '--yes')).status).toBe(0);
    const after = await start(variables);
    expect((await after.get('/v2/encryption')).body.clear_text).toBe(0);
    const encrypted: string[] = [];
    for (let index = 0; index < 20; index += 1) {
      const { body } = await after.post('/v2/tsigkeys', {
        ...KEY_MEMBERS,
        name: `e${index}.example`,
      });
      encrypted.push(body.secret as string);
    }
    const [row] = await query("SELECT current_setting('data_directory') AS folder");
    const [own] = await query(
      "SELECT 'base/' || oid AS path FROM pg_database WHERE datname = current_database()",
    );
    const filesBelow = async (path: string): Promise<Buffer> => {
      await query('CHECKPOINT');
      return contentBelow(join(String(row?.folder), path));
    };
    const found = (content: Buffer, secrets: string[]) =>
      secrets.filter(
        (secret) => content.includes(secret) || content.includes(Buffer.from(secret, 'base64')),
      );
    expect(found(await filesBelow(String(own?.path)), clear)).not.toEqual([]);
    const { status, stderr } = await run(variables, 'encryption', 'scrub', '--yes');
    expect([status, stderr]).toEqual([0, '']);
    expect(found(await filesBelow(String(own?.path)), clear)).toEqual([]);
    for (const path of [String(own?.path), 'pg_wal'])
      expect(found(await filesBelow(path), encrypted)).toEqual([]);
    const rows = JSON.stringify(await query('SELECT to_json(tsigkeys) AS row FROM tsigkeys'));
    expect(found(Buffer.from(rows), [...clear, ...encrypted])).toEqual([]);
  },
);
