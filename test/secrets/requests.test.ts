import { DatabaseSync } from '@photostructure/sqlite';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { addMasterKey, createMasterKeyFile } from '../../src/secrets/store/master-keys.ts';
import { expectError, KEY_MEMBERS } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { verification } from '../harness/trail.ts';

interface Status {
  master_keys: string[];
  data_keys: { number: number; master_key: string; secrets: number }[];
  clear_text: number;
  unreadable: number;
}

let folder: string;
let service: TestService;
let masterKey: string;
let secrets: Map<string, string>;
beforeEach(async () => {
  folder = temporaryFolder();
  masterKey = createMasterKeyFile(join(folder, 'own.key')).id;
  await start();
  secrets = new Map();
  for (let index = 0; index < 20; index += 1) {
    const { body } = await service.post('/v2/tsigkeys', {
      ...KEY_MEMBERS,
      name: `k${index}.example`,
    });
    secrets.set(body.id as string, body.secret as string);
  }
});

async function start(): Promise<void> {
  service = await startTestService(
    { TSIGIL_ENCRYPTION_MASTER_KEY_FILE: join(folder, 'own.key') },
    { folder, encryptionIntervalMs: 200, auditIntervalMs: 20 },
  );
}

async function status(): Promise<Status> {
  return (await service.get('/v2/encryption')).body;
}

/** Waits until `wanted` returns true for the status, and returns the status. */
async function until(wanted: (status: Status) => boolean): Promise<Status> {
  return expect
    .poll(status, { interval: 20 })
    .toSatisfy(wanted)
    .then(() => status());
}

/** Rotates the data key, as soon as the last rotation is complete. */
async function rotate(): Promise<void> {
  const response = () => service.post('/v2/encryption/rotate', undefined);
  await expect.poll(async () => (await response()).status).toBe(200);
}

async function expectSameSecrets(): Promise<void> {
  const listed = (await service.get('/v2/tsigkeys')).body.tsigkeys as {
    id: string;
    secret: string;
  }[];
  expect(new Map(listed.map(({ id, secret }) => [id, secret]))).toEqual(secrets);
}

describe('/v2/encryption', () => {
  test('200 with the master keys, the data keys and the number of secrets of each data key', async () => {
    expect(await status()).toMatchObject({
      master_keys: [masterKey],
      data_keys: [{ number: 1, master_key: masterKey, secrets: 20 }],
      clear_text: 0,
      lost_count: 0,
      lost: [],
      unreadable: 0,
    });
  });

  test('200 for a rotation of the data key, and the new key then encrypts every secret', async () => {
    expect((await service.post('/v2/encryption/rotate', undefined)).status).toBe(200);
    const after = await until(({ data_keys: keys }) => keys.length === 1);
    expect(after.data_keys).toMatchObject([{ number: 3, secrets: 20 }]);
    await expectSameSecrets();
    await service.close();
    await start();
    await expectSameSecrets();
  });

  test('409 for a second rotation until the first is complete, and never three data keys', async () => {
    const wrapped = [service.post('/v2/encryption/rotate', undefined)];
    wrapped.push(service.post('/v2/encryption/rotate', undefined));
    const [one, two] = (await Promise.all(wrapped)).toSorted((a, b) => a.status - b.status);
    expect([one?.status, two?.status, two?.body.type]).toEqual([200, 409, 'rotation_in_progress']);
    await rotate();
    expect((await status()).data_keys.length).toBeLessThanOrEqual(2);
  });

  test('200 for rotations of the data key and the master key, after which the service starts without the old one, and no secret, mark or MAC changes', async () => {
    const secret = Buffer.from('the same secret before and after').toString('base64');
    const marks: unknown[] = [];
    const mark = async (name: string) => {
      const { id } = (await service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name, secret })).body;
      secrets.set(id as string, secret);
      const { body } = await service.get(`/v2/audit?resource_id=${id}&action=tsigkeys:create`);
      const [record] = body.records as { detail: { changes: { secret: unknown[] } } }[];
      marks.push(record?.detail.changes.secret[1]);
    };
    const restart = async () => {
      await service.close(); // the stopping service seals the remaining records
      await start();
    };
    await mark('before.example');
    await restart();
    expect((await service.post('/v2/encryption/rotate', undefined)).status).toBe(200);
    await until(({ data_keys: keys }) => keys[0]?.number === 3);
    await mark('after-the-data-key.example');
    const { id: next } = addMasterKey(join(folder, 'own.key'));
    const rotated = await service.post('/v2/encryption/rotate-master-key', undefined);
    expect(rotated.body).toMatchObject({
      master_keys: [next, masterKey],
      data_keys: [{ number: 3, master_key: next }],
    });
    await mark('after-the-master-key.example');
    const [line] = readFileSync(join(folder, 'own.key'), 'utf8').split('\n');
    writeFileSync(join(folder, 'own.key'), `${line}\n`);
    await restart();
    await mark('without-the-old-master-key.example');
    await restart();
    await expectSameSecrets();
    expect(marks).toEqual(Array(4).fill(expect.stringMatching(/^hmac:[\w-]{12}$/)));
    expect(new Set(marks).size).toBe(1);
    const parts = await verification(service);
    for (const part of parts)
      expect(part).toMatchObject({ problems: [], without_mac: 0, unchecked: 0 });
    expect(parts.at(-1)?.head?.number).toBeGreaterThanOrEqual(3);
  });

  test('400 for a rotation with a file that lacks the current master key, which stays in use, and the log has one line about it', async () => {
    const own = readFileSync(join(folder, 'own.key'));
    rmSync(join(folder, 'own.key'));
    const { id: other } = createMasterKeyFile(join(folder, 'own.key'));
    const response = await service.post('/v2/encryption/rotate-master-key', undefined);
    const message = expectError(response, 400, 'bad_request');
    expect(message).toContain(`master key ${masterKey}`);
    expect(message).toContain(other);
    const linesAbout = () =>
      service.log.filter((line) => line.includes('uses the former master keys')).length;
    await expect.poll(linesAbout, { timeout: 120_000 }).toBe(1);
    const { body } = await service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: 'new.example' });
    secrets.set(body.id as string, body.secret as string);
    expect(await status()).toMatchObject({ clear_text: 0, master_keys: [masterKey] });
    expectError(await service.post('/v2/encryption/rotate', undefined), 400, 'bad_request');
    expect((await service.post('/v2/encryption/verify', undefined)).body.unreadable_count).toBe(0);
    await service.close();
    writeFileSync(join(folder, 'own.key'), own);
    await start();
    await expectSameSecrets();
  });

  test('200 for a verification that lists the ids of unreadable secrets, and the metrics count these secrets', async () => {
    const good = await service.post('/v2/encryption/verify', undefined);
    expect(good.body).toMatchObject({ checked: 20, unreadable_count: 0, unreadable: [] });
    if (process.env.TEST_DATABASE === 'postgres') return;
    await service.close();
    const database = new DatabaseSync(join(folder, 'tsigil.db'));
    database.exec("UPDATE tsigkeys SET secret = 'AAAA' WHERE name = 'k3.example'");
    database.close();
    await start();
    const [id] = [...secrets.keys()].slice(3);
    const bad = await service.post('/v2/encryption/verify', undefined);
    expect(bad.body).toMatchObject({
      checked: 20,
      unreadable_count: 1,
      unreadable: [{ collection: 'tsigkeys', id }],
    });
    const metrics = (await service.get('/metrics')).text;
    expect(metrics).toMatch(/^tsigil_secrets_unreadable 1$/m);
    expect(metrics).toMatch(/^tsigil_secrets_in_clear 0$/m);
    expect(metrics).toMatch(/^tsigil_data_key_age_seconds \d/m);
  });

  test('no change is lost during ten rotations of the data key', async () => {
    for (let round = 0; round < 10; round += 1) {
      const changes = [...secrets.keys()].map(async (id, index) => {
        const secret = Buffer.from(`round ${round} key ${index} `).toString('base64');
        expect((await service.patch(`/v2/tsigkeys/${id}`, { secret })).status).toBe(200);
        secrets.set(id, secret);
      });
      await rotate();
      await Promise.all(changes);
    }
    await until(({ data_keys: keys }) => keys.length === 1);
    await expectSameSecrets();
  });
});
