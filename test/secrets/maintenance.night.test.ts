import { DatabaseSync } from '@photostructure/sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  startServiceProcess,
  temporaryFolder,
  type ServiceProcess,
  runTsigil,
} from '../harness/service.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const NAMES = ['one.example', 'two.example'] as const;

let folder: string;
let service: ServiceProcess;
let ids: string[];
beforeEach(async () => {
  folder = temporaryFolder();
  service = await startServiceProcess(folder);
  ids = [];
  for (const name of NAMES) {
    const body = { name, algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };
    ids.push((await service.post('/v2/tsigkeys', body)).body.id as string);
  }
});
afterEach(async () => {
  await service.stop('SIGKILL');
});

function run(...argv: string[]): { status: number | null; stdout: string; stderr: string } {
  return runTsigil(folder, {}, 'encryption', ...argv);
}

async function keys(): Promise<Record<string, unknown>[]> {
  const { body } = await service.get('/v2/tsigkeys?sort_key=name');
  return (body.tsigkeys as Record<string, unknown>[]).map((key) => ({ ...key, links: undefined }));
}

async function lost(): Promise<unknown> {
  return (await service.get('/v2/encryption')).body.lost;
}

describe('encryption reset', () => {
  test('removes every secret if the master key was lost, exports and lists none, and keeps the keys until they get new secrets', async () => {
    const before = await keys();
    await service.stop('SIGTERM');
    rmSync(join(folder, 'var/master.key'));
    const { status, stdout, stderr } = run('reset', '--yes');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Created master key [A-Z2-7]{8} in '/);
    for (const name of NAMES) expect(stdout).toContain(`Secret removed: ${name} (`);
    service = await startServiceProcess(folder);
    const after = await keys();
    expect(after.map(({ name }) => name)).toEqual(NAMES);
    expect((await service.get('/v2/tsigkeys?unusable=true')).body.tsigkeys).toHaveLength(2);
    for (const { id, secret } of after) {
      expect(secret).toBe('');
      const { body } = await service.get(`/v2/tsigkeys/${String(id)}/export?format=bind`);
      expect(body.type).toBe('not_exportable');
    }
    expect((await service.post('/v2/tsigkeys', { ...before[0], secret: '' })).status).toBe(400);
    expect(await lost()).toEqual(NAMES);
    // Renaming the key encrypts nothing.
    await service.patch(`/v2/tsigkeys/${ids[1]}`, { name: 'three.example' });
    await service.patch(`/v2/tsigkeys/${ids[0]}`, { secret: before[0]?.secret });
    expect(await lost()).toEqual(['three.example']);
  });

  test('ends the links and sessions of the console, so that none looks changed by another program', async () => {
    await service.post('/console/code', {});
    await service.stop('SIGTERM');
    rmSync(join(folder, 'var/master.key'));
    expect(run('reset', '--yes').status).toBe(0);
    service = await startServiceProcess(folder);
    expect((await service.post('/v2/encryption/verify', undefined)).body.forged).toEqual([]);
  });

  test('removes only the unreadable secret', async () => {
    const [kept] = await keys();
    await service.stop('SIGTERM');
    const database = new DatabaseSync(join(folder, 'var/tsigil.db'));
    // A prepared statement would keep the file open until the garbage collector runs.
    database.exec("UPDATE tsigkeys SET secret = '' WHERE name = 'two.example'");
    database.close();
    expect(run('reset', '--yes').stdout).toContain(`Secret removed: two.example (${ids[1]})`);
    service = await startServiceProcess(folder);
    expect((await keys())[0]).toEqual(kept);
    expect(await lost()).toEqual(['two.example']);
    await service.stop('SIGTERM');
    expect(run('reset', '--yes').stdout).toBe('Every secret is readable. Nothing was changed.\n');
  });
});

describe('encryption accept', () => {
  /** Issues a token, and removes its MAC as a service without a master key would store it. */
  async function issueUnsigned(): Promise<{ id: string; token: string }> {
    const members = { name: 'ci-job', roles: ['reader'], project_id: 'web' };
    const { body } = await service.post('/v2/tokens', members);
    await service.stop('SIGTERM');
    const database = new DatabaseSync(join(folder, 'var/tsigil.db'));
    database.exec('UPDATE tokens SET mac = NULL');
    database.close();
    return body;
  }

  const whoami = async (bearer: string) => (await service.with(bearer).get('/v2/whoami')).status;

  test('shows the tokens that the service refuses, and accepts them after a confirmation', async () => {
    const { id, token } = await issueUnsigned();
    service = await startServiceProcess(folder);
    expect(await whoami(token)).toBe(401);
    expect(service.output()).toContain('"tokens":1');
    await service.stop('SIGTERM');
    const refused = run('accept');
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('Use --yes')]);
    expect(refused.stderr).toContain(`Token ci-job (${id}): roles reader`);
    const { status, stdout, stderr } = run('accept', '--yes');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(
      `ci-job (${id}): roles reader, project web, expires never, no limits, created `,
    );
    expect(run('accept', '--yes').stdout).toContain('Nothing was changed');
    service = await startServiceProcess(folder);
    expect(await whoami(token)).toBe(200);
    const { body } = await service.get('/v2/audit?action=encryption:accept');
    expect(body.records).toMatchObject([{ actor_kind: 'local', detail: { names: ['ci-job'] } }]);
  });

  test('ends the sessions of the console, and does not count them as tokens', async () => {
    await service.post('/console/code', {});
    await service.stop('SIGTERM');
    const database = new DatabaseSync(join(folder, 'var/tsigil.db'));
    database.exec('UPDATE sessions SET mac = NULL');
    database.close();
    service = await startServiceProcess(folder);
    const refused = await service.post('/v2/encryption/verify', undefined);
    expect(refused.body).toMatchObject({ credentials_checked: 0, forged_count: 1 });
    await service.stop('SIGTERM');
    expect(run('accept', '--yes').stdout).toBe('0 secrets encrypted, 0 tokens signed\n');
    service = await startServiceProcess(folder);
    expect((await service.post('/v2/encryption/verify', undefined)).body.forged).toEqual([]);
  });

  test('no restart and no copy takes over a secret that another program stored in clear text', async () => {
    const forge = async (...further: string[]) => {
      await service.stop('SIGTERM');
      const database = new DatabaseSync(join(folder, 'var/tsigil.db'));
      const secret = `secret = '${Buffer.alloc(32, 'A').toString('base64')}'`;
      database.exec(`UPDATE tsigkeys SET ${secret}, secret_key = NULL WHERE id = '${ids[0]}'`);
      for (const statement of further) database.exec(statement);
      database.close();
    };
    await forge();
    const copied = runTsigil(
      folder,
      {},
      'copy-database',
      '--from',
      'sqlite:var/tsigil.db',
      '--to',
      'sqlite:copy.db',
    );
    expect([copied.status, copied.stderr]).toEqual([1, expect.stringContaining(NAMES[0])]);
    service = await startServiceProcess(folder);
    expect((await service.get(`/v2/tsigkeys/${ids[0]}`)).status).toBe(503);
    expect(service.output()).toContain('tsigil encryption accept');
    await forge(
      'PRAGMA foreign_keys = OFF',
      'DELETE FROM data_keys',
      'UPDATE audit_head SET mac = NULL, key_number = NULL, first_mac = NULL, purged = 2',
      'UPDATE audit_batches SET mac = NULL, key_number = NULL',
    );
    await expect(startServiceProcess(folder)).rejects.toThrow('restore a backup');
  });

  test('a database whose data key was deleted or changed is not served; reset replaces its secrets', async () => {
    await service.stop('SIGTERM');
    const change = (statement: string) => {
      const database = new DatabaseSync(join(folder, 'var/tsigil.db'));
      database.exec(`PRAGMA foreign_keys = OFF; ${statement}`);
      database.close();
    };
    change("UPDATE data_keys SET wrapped = 'AAAA' || substr(wrapped, 5) WHERE purpose = 'secrets'");
    await expect(startServiceProcess(folder)).rejects.toThrow('another program changed it');
    change("DELETE FROM data_keys WHERE purpose = 'secrets'");
    await expect(startServiceProcess(folder)).rejects.toThrow('tsigil encryption reset');
    const { status, stdout } = run('reset', '--yes');
    expect([status, stdout]).toEqual([0, expect.stringContaining(NAMES[0])]);
    service = await startServiceProcess(folder);
    expect((await service.get('/v2/encryption')).body.lost_count).toBe(ids.length);
  });

  test('no rotation of keys makes a refused token valid', async () => {
    const { id, token } = await issueUnsigned();
    service = await startServiceProcess(folder);
    await service.post('/v2/encryption/rotate', undefined);
    expect(run('new-master-key', '--file', 'var/master.key').status).toBe(0);
    expect((await service.post('/v2/encryption/rotate-master-key', undefined)).status).toBe(200);
    expect(await whoami(token)).toBe(401);
    const { body } = await service.post('/v2/encryption/verify', undefined);
    expect(body.forged).toEqual([{ collection: 'tokens', id }]);
  });
});
