import { DatabaseSync } from '@photostructure/sqlite';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { formatMasterKey, masterKeyOf, parseMasterKeys } from '../../src/core/master-key.ts';
import {
  startServiceProcess,
  temporaryFolder,
  type ServiceProcess,
  runTsigil,
} from '../harness/service.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const BODY = { algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };
const OTHER = masterKeyOf(randomBytes(32));

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const keyFile = () => join(folder, 'var/master.key');

/** Returns the content of all files in the database folder except the master key. */
function filesOf(): string {
  return readdirSync(join(folder, 'var'))
    .filter((name) => name !== 'master.key')
    .map((name) => readFileSync(join(folder, 'var', name), 'latin1'))
    .join('\n');
}

/** Runs a service that cannot start. */
const serveInVain = (variables: Record<string, string> = {}) =>
  runTsigil(folder, { TSIGIL_LISTEN: '127.0.0.1:0', ...variables }, 'serve');

/** Starts a service, creates a key and stops it. Returns the key and the id of the master key. */
async function createService(): Promise<{ id: string; secret: string; masterKey: string }> {
  const service = await startServiceProcess(folder);
  const { body } = await service.post('/v2/tsigkeys', { ...BODY, name: 'k' });
  await service.stop('SIGTERM');
  return { id: body.id as string, secret: body.secret as string, masterKey: masterKeyId() };
}

function masterKeyId(): string {
  const parsed = parseMasterKeys(readFileSync(keyFile(), 'utf8'));
  return 'keys' in parsed ? (parsed.keys[0]?.id ?? '') : '';
}

async function secretOf(service: ServiceProcess, id: string): Promise<unknown> {
  return (await service.get(`/v2/tsigkeys/${id}`)).body.secret;
}

describe('the first start with SQLite', () => {
  test('creates a master key with mode 0600, and logs its id and file once', async () => {
    const service = await startServiceProcess(folder);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
    const line = service
      .output()
      .split('\n')
      .find((each) => each.includes('Created the master key'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      level: 'info',
      file: keyFile(),
      masterKey: masterKeyId(),
    });
    await service.stop('SIGTERM');
    expect(service.output()).not.toContain(readFileSync(keyFile(), 'utf8').trim());
    const again = await startServiceProcess(folder);
    expect(again.output()).not.toContain('master key');
    await again.stop('SIGTERM');
  });
});

test('no secret is in any file after keys are created and half of them are changed and deleted', async () => {
  const service = await startServiceProcess(folder);
  const count = 400;
  const secrets: string[] = [];
  const newSecret = () => {
    const secret = randomBytes(32).toString('base64');
    secrets.push(secret);
    return secret;
  };
  const keys = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const { body } = await service.post('/v2/tsigkeys', {
        ...BODY,
        name: `k${index}`,
        secret: newSecret(),
      });
      return body.id as string;
    }),
  );
  const half = keys.slice(0, count / 2);
  await Promise.all(half.map((id) => service.patch(`/v2/tsigkeys/${id}`, { secret: newSecret() })));
  await Promise.all(half.map((id) => service.delete(`/v2/tsigkeys/${id}`)));
  const expectNone = () => {
    const text = filesOf();
    const found = secrets.filter(
      (secret) =>
        text.includes(secret) || text.includes(Buffer.from(secret, 'base64').toString('latin1')),
    );
    expect(found).toEqual([]);
  };
  expectNone();
  await service.stop('SIGKILL');
  expectNone();
});

test.each([
  [
    'another key',
    () => writeFileSync(keyFile(), `${formatMasterKey(OTHER)}\n`),
    `'FILE' contains ${OTHER.id}.`,
  ],
  ['a missing file', () => rmSync(keyFile()), 'No master key is configured.'],
])(
  'a start with %s exits with 1, prints the id of the right key, and stores no key',
  async (_case, damage, message) => {
    const { masterKey } = await createService();
    damage();
    const content = () => (existsSync(keyFile()) ? readFileSync(keyFile(), 'utf8') : undefined);
    const before = content();
    const { status, stderr } = serveInVain();
    expect(stderr).toContain(`Secrets are encrypted with master key ${masterKey}. `);
    expect(stderr).toContain(message.replace('FILE', keyFile()));
    expect([status, content()]).toEqual([1, before]);
    const database = new DatabaseSync(join(folder, 'var/tsigil.db'), { readOnly: true });
    expect(database.prepare('SELECT count(*) AS count FROM data_keys').get()).toEqual({ count: 2 });
    database.close();
  },
);

test('a service starts on a backup from before a master key rotation if the master key file has the old key', async () => {
  const service = await startServiceProcess(folder);
  const { body } = await service.post('/v2/tsigkeys', { ...BODY, name: 'transfer' });
  const run = (...argv: string[]) => runTsigil(folder, {}, ...argv);
  const id = masterKeyId();
  const { stdout } = run('backup', '--to', 'old.db');
  expect(stdout).toBe(`The backup needs master key ${id}, but does not contain this key.\n`);
  expect(run('encryption', 'new-master-key', '--file', keyFile()).status).toBe(0);
  expect((await service.post('/v2/encryption/rotate-master-key', undefined)).status).toBe(200);
  await service.stop('SIGTERM');

  const restored = { TSIGIL_DATABASE_URL: 'sqlite:old.db' };
  const both = { ...restored, TSIGIL_ENCRYPTION_MASTER_KEY_FILE: keyFile() };
  const again = await startServiceProcess(folder, both);
  expect(await secretOf(again, body.id as string)).toBe(body.secret);
  await again.stop('SIGTERM');
  // If the master key file lacks the old key, the message names the old key.
  const [newest = ''] = readFileSync(keyFile(), 'utf8').split('\n');
  writeFileSync(keyFile(), `${newest}\n`);
  expect(serveInVain(both).stderr).toContain(`Secrets are encrypted with master key ${id}.`);
  const current = await startServiceProcess(folder);
  expect(await secretOf(current, body.id as string)).toBe(body.secret);
  await current.stop('SIGTERM');
});
