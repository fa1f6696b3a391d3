import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { expectError, KEY_MEMBERS } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';

let folder: string;
let service: TestService;
let ids: string[];
beforeEach(async () => {
  folder = temporaryFolder();
  await start();
  ids = [];
  for (const name of ['one', 'two', 'three']) {
    const { body } = await service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name });
    ids.push(body.id as string);
  }
});

async function start(): Promise<void> {
  const database = `sqlite:${join(folder, 'tsigil.db')}`;
  service = await startTestService({ TSIGIL_DATABASE_URL: database }, { folder });
}

/** Stops the service, changes its database, and starts it again. */
async function tamper(statement: string, ...parameters: (string | number)[]): Promise<void> {
  await service.close();
  const database = new DatabaseSync(join(folder, 'tsigil.db'));
  database.prepare(statement).run(...parameters);
  database.close();
  await start();
}

const FLIP =
  "substr(secret, 1, 30) || (CASE substr(secret, 31, 1) WHEN 'A' THEN 'B' ELSE 'A' END) || substr(secret, 32)";

describe('a secret whose ciphertext', () => {
  test.each([
    ['was changed', `UPDATE tsigkeys SET secret = ${FLIP} WHERE name = 'one'`],
    [
      'has a shorter tag',
      "UPDATE tsigkeys SET secret = substr(secret, 1, length(secret) - 4) WHERE name = 'one'",
    ],
    ['is empty', "UPDATE tsigkeys SET secret = '' WHERE name = 'one'"],
    [
      'belongs to another row',
      "UPDATE tsigkeys SET secret = (SELECT secret FROM tsigkeys WHERE name = 'two') WHERE name = 'one'",
    ],
    [
      'is not encrypted',
      "UPDATE tsigkeys SET secret = 'c2VjcmV0', secret_key = NULL WHERE name = 'one'",
    ],
  ])('%s: 503 for get, list and export, with the id in the log only', async (_case, statement) => {
    await tamper(statement);
    for (const path of [
      `/v2/tsigkeys/${ids[0]}`,
      '/v2/tsigkeys',
      `/v2/tsigkeys/${ids[0]}/export?format=bind`,
    ]) {
      const response = await service.get(path);
      expectError(response, 503, 'unreadable_secret');
      expect(response.text).not.toContain(ids[0]);
    }
    const failures = service.log.filter((line) => line.includes('cannot be decrypted'));
    expect(failures).toHaveLength(3);
    for (const line of failures) expect(line).toContain(`tsigkeys '${ids[0]}'`);
    expect((await service.get(`/v2/tsigkeys/${ids[1]}`)).status).toBe(200);
    expect((await service.get('/v2/tsigkeys?name=two')).body.tsigkeys).toHaveLength(1);
  });
});

describe('a key with an unreadable secret', () => {
  beforeEach(() => tamper(`UPDATE tsigkeys SET secret = ${FLIP} WHERE name = 'one'`));

  test('503 for a change of another member, and nothing changes', async () => {
    expectError(
      await service.patch(`/v2/tsigkeys/${ids[0]}`, { name: 'new' }),
      503,
      'unreadable_secret',
    );
    expect((await service.get('/v2/tsigkeys?name=new')).body.tsigkeys).toEqual([]);
  });

  test('200 for a new secret, and the secret is then readable', async () => {
    const secret = 'bmV3IHNlY3JldA==';
    const changed = await service.patch(`/v2/tsigkeys/${ids[0]}`, { secret });
    expect([changed.status, changed.body.secret]).toEqual([200, secret]);
    const listed = (await service.get('/v2/tsigkeys?sort_key=created_at')).body.tsigkeys as {
      secret: string;
    }[];
    expect(listed.map((key) => key.secret)[0]).toBe(secret);
  });

  test('204 for a deletion', async () => {
    expect((await service.delete(`/v2/tsigkeys/${ids[0]}`)).status).toBe(204);
    expect((await service.get('/v2/tsigkeys')).body.tsigkeys).toHaveLength(2);
  });

  test('200 without secrets for the header Tsigil-Hide-Secrets', async () => {
    const hide = { 'tsigil-hide-secrets': 'true' };
    const one = await service.get(`/v2/tsigkeys/${ids[0]}`, hide);
    expect([one.status, one.body.name, 'secret' in one.body]).toEqual([200, 'one', false]);
    const { body } = await service.get('/v2/tsigkeys?name=*', hide);
    const keys = body.tsigkeys as Record<string, unknown>[];
    expect(keys.map((key) => 'secret' in key)).toEqual([false, false, false]);
    const shown = await service.get(`/v2/tsigkeys/${ids[1]}`, { 'tsigil-hide-secrets': 'false' });
    expect(shown.body.secret).toEqual(expect.any(String));
  });

  test('200 for the filters name, orphaned and unusable, because their responses need no secret', async () => {
    for (const filter of ['orphaned', 'unusable'])
      expect((await service.get(`/v2/tsigkeys?${filter}=true`)).status).toBe(200);
    expect(
      (await service.get('/v2/tsigkeys?name=three&orphaned=false')).body.tsigkeys,
    ).toHaveLength(1);
  });
});
