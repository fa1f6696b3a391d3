import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noteRestore } from '../../src/audit/store/head.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { addRecords, entry, seal, seed, withDatabase } from '../harness/trail.ts';
import { runInside, type RunOptions } from '../cli/session.ts';

const HOSTILE = 'x\n<109>1 forged|a=b]"\\\u001b[2J\u2028y';

let folder: string;
let url: string;
let service: TestService | undefined;
beforeEach(async () => {
  folder = temporaryFolder();
  url = await testDatabase(folder);
});
afterEach(async () => {
  service = undefined;
});

/** Runs `tsigil audit` with a service on the database. The first call starts the service. */
async function run(options: RunOptions, ...argv: string[]) {
  service ??= await startTestService({ TSIGIL_DATABASE_URL: url }, { folder });
  return runInside({ ...options, variables: service.variables }, 'audit', ...argv);
}

describe('tsigil audit verify', () => {
  test('compares the checkpoints in a log with the batches, and exits with 1 if a checkpoint does not match', async () => {
    const file = join(folder, 'log');
    const hashes = await withDatabase(url, async (database) => {
      await seed(database, 20, 5);
      const rows = await database.reads.all('SELECT hash FROM audit_batches ORDER BY number', []);
      return rows.map(({ hash }) => String(hash));
    });
    const lines = [
      '{"level":"info","msg":"request"}',
      `Nov 21 09:30:01 host tsigil[7]: {"level":"info","batch":2,"hash":"${hashes[1]}"}`,
      `3 ${hashes[2]}`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    expect(await run({}, 'verify', '--checkpoints', file)).toMatchObject({
      status: 0,
      out: expect.stringContaining('2 of 2 checkpoints match') as string,
    });
    writeFileSync(file, `${lines.join('\n')}\n999 ${hashes[0]}\n`);
    const missing = await run({}, 'verify', '--checkpoints', file);
    expect([missing.status, missing.err.includes('The first bad batch is 999')]).toEqual([1, true]);
    writeFileSync(file, `1 ${hashes[3]}\n`);
    const other = await run({}, 'verify', '--checkpoints', file);
    expect([other.status, other.err.includes('The first bad batch is 1\n')]).toEqual([1, true]);
    writeFileSync(file, 'nothing\n');
    expect((await run({}, 'verify', '--checkpoints', file)).status).toBe(2);
  });
});

test('tsigil audit verify --checkpoints lists the checkpoints that a restore took back', async () => {
  const file = join(folder, 'log');
  await withDatabase(url, async (database) => {
    await seed(database, 20, 5);
    const replaced = { number: 7, hash: 'a'.repeat(64) };
    const at = '2026-11-21T10:00:00.000000';
    await database.write((sql) => noteRestore(sql, undefined, at, replaced));
    await seed(database, 5, 5); // batch 5 exists in the replaced trail and in the new one
    const { hash } = (await database.reads.one(
      'SELECT hash FROM audit_batches WHERE number = 4',
      [],
    )) as { hash: string };
    writeFileSync(file, `4 ${hash}\n5 ${'b'.repeat(64)}\n7 ${replaced.hash}\n`);
  });
  const { status, out } = await run({}, 'verify', '--checkpoints', file);
  expect(status, out).toBe(0);
  expect(out).toContain('Batch 4, 2026-11-21T10:00:00.000000: A backup that ends with this batch');
  expect(out).toContain('2 checkpoints were rolled back by the restore of 2026-11-21T10:00:00');
  expect(out).toContain('1 of 3 checkpoints match');
  writeFileSync(file, `4 ${'c'.repeat(64)}\n`);
  expect((await run({}, 'verify', '--checkpoints', file)).status).toBe(1);
});

test('tsigil audit verify exits with 5 if a key was lost', async () => {
  await withDatabase(url, async (database) => {
    await seed(database, 20, 5, { key: { number: 9, hmac: () => 'a lost key' } });
  });
  service = await startTestService({ TSIGIL_DATABASE_URL: url }, { folder });
  const { status, err } = await run({}, 'verify');
  expect([status, err]).toEqual([5, expect.stringContaining('could not be checked')]);
});

describe('tsigil audit list and export', () => {
  beforeEach(() =>
    withDatabase(url, async (database) => {
      await seed(database, 12, 5);
      await addRecords(database, [entry(HOSTILE, { actor_name: HOSTILE, resource_id: 'hostile' })]);
      await seal(database);
    }),
  );

  test('list prints the time, actor, action, resource and outcome of each of the newest records, in the order of time', async () => {
    const { status, out } = await run({}, 'list', '--resource-type', 'seeded', '--limit', '3');
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(status).toBe(0);
    expect(rows[0]).toEqual(['time', 'actor', 'action', 'resource', 'outcome', 'changes']);
    expect(rows.map((row) => row[3])).toEqual(['resource', '10', '11', expect.any(String)]);
    expect(rows[2]).toEqual([
      '2026-11-21T09:30:00',
      'terraform',
      'tlds:create',
      '11',
      'success',
      '',
    ]);
    expect(rows).toHaveLength(4);
  });

  test('list --key and --actor find by name what happened to a key that was deleted, and by a token that was revoked', async () => {
    await run({}, 'list');
    const { post, patch, delete: remove } = service as TestService;
    const { body: ci } = await post('/v2/tokens', { name: 'CI', roles: ['admin'] });
    const as = (service as TestService).with(String(ci.token));
    const key = { name: 'Gone.example.', algorithm: 'hmac-sha256', pool: 'default' };
    const { body } = await as.post('/v2/tsigkeys', key);
    const path = `/v2/tsigkeys/${String(body.id)}`;
    await patch(path, { algorithm: 'hmac-sha512' });
    for (const format of ['bind', 'knot'])
      await (service as TestService).get(`${path}/export?format=${format}`);
    await remove(path);
    await remove(`/v2/tokens/${String(ci.id)}`);
    const listed = async (...flags: string[]) => {
      const { out } = await run({}, 'list', ...flags, '-f', 'json');
      const records = JSON.parse(out) as { action: string }[];
      return records.map(({ action }) => action).filter((action) => !action.endsWith(':get'));
    };
    const expected = [
      'tsigkeys:create',
      'tsigkeys:update',
      'tsigkeys:export',
      'tsigkeys:export',
      'tsigkeys:delete',
    ];
    await expect.poll(() => listed('--key', 'gone.EXAMPLE')).toEqual(expected);
    expect(await listed('--actor', 'ci')).toEqual(['tsigkeys:create']);
    expect(await listed('--key', 'gone')).toEqual([]);
    const { out } = await run({}, 'list', '--key', 'gone.example');
    expect(out).toMatch(
      /\ttsigkeys:update\tGone\.example\.\tsuccess\talgorithm: hmac-sha256 -> hmac-sha512(?:;.*)?\n/,
    );
    expect(out).toMatch(/\ttsigkeys:export\tGone\.example\.\tsuccess\tformat: bind;/);
    expect(out).toMatch(/\ttsigkeys:export\tGone\.example\.\tsuccess\tformat: knot;/);
  });

  test('a name cannot forge a line or control the terminal', async () => {
    const flags = ['--resource-id', 'hostile'];
    const outputs = [
      (await run({ columns: 200 }, 'list', ...flags)).out,
      (await run({}, 'list', '--long', '-f', 'json', ...flags)).out,
      (await run({}, 'export', ...flags)).out,
    ];
    expect(outputs.at(-1)?.split('\n')).toHaveLength(2);
    for (const out of outputs) {
      expect(out.replaceAll('\u001b[1m', '').replaceAll('\u001b[22m', '')).not.toContain('\u001b');
      expect(out).not.toContain('\n<109>1 forged');
    }
  });

  test('export writes every record once, oldest first, to a file with mode 0600', async () => {
    const file = join(folder, 'audit.jsonl');
    const flags = ['--resource-type', 'seeded', '-o', file];
    expect((await run({}, 'export', ...flags)).status).toBe(0);
    const names = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { resource_name: string }).resource_name);
    expect(names).toEqual([...Array.from({ length: 12 }, (_, index) => String(index)), HOSTILE]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run({}, 'export', ...flags)).status).toBe(2);
    expect((await run({}, 'export', ...flags, '--overwrite')).status).toBe(0);
  });
});
