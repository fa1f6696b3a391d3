import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { cookieAt, SAME_ORIGIN, signIn } from '../harness/console.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startServiceProcess,
  temporaryFolder,
  type ServiceProcess,
  runTsigil,
} from '../harness/service.ts';
import { queryByAnotherProgram, startForeignProgram } from '../harness/sqlite-programs.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const ADMIN = 'restore-admin-0123456789-0123456789';

/** A folder with `backup.db` and the later database of a killed service, which has a WAL. */
let prepared: string;
/** A copy of `prepared` for one test. */
let folder: string;
/** The token that was revoked after the backup, and the one that was not. */
const tokens = { revoked: '', valid: '' };
/** The cookie of a session of the console that was ended after the backup, and of one that was not. */
const cookies = { ended: '', open: '' };
let service: ServiceProcess | undefined;

const database = () => join(folder, 'var/tsigil.db');
const start = async (at: string) => {
  service = await startServiceProcess(at, { TSIGIL_ADMIN_TOKEN: ADMIN });
  return service;
};

interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

function restore(argv: readonly string[], nodeArgv: readonly string[] = [], variables = {}): Ended {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [...nodeArgv, PROGRAM, 'restore', ...argv],
    { cwd: folder, env: cleanEnvironment(variables), encoding: 'utf8' },
  );
  return { status, signal, stdout, stderr };
}

const namesIn = (path: string) =>
  (
    queryByAnotherProgram(path, 'SELECT name FROM tsigkeys ORDER BY name') as { name: string }[]
  ).map(({ name }) => name);
const integrityOf = (path: string) => queryByAnotherProgram(path, 'PRAGMA integrity_check');
const WHOLE = [{ integrity_check: 'ok' }];
const asides = () =>
  readdirSync(join(folder, 'var')).filter((name) => /\.replaced-\w+$/.test(name));

const BEFORE = ['deleted', 'kept', 'moved', 'narrowed', 'renewed', 'replaced', 'widened'];
const AFTER = ['added', 'kept', 'moved', 'narrowed', 'renewed', 'replaced', 'widened'];
const WITHDRAWN = `  token revoked: deleted
  tsigkey deleted: deleted
  tsigkey moved: other scope, resource_id, grants
  tsigkey narrowed: other grants
  tsigkey renewed: other secret
  tsigkey replaced: other algorithm, secret
`;

/** Waits until the last record of the trail is sealed. */
const untilSealed = (running: ServiceProcess) =>
  vi.waitFor(
    async () => {
      const { body } = await running.get('/v2/audit?sort_dir=desc&limit=1');
      expect((body.records as { batch: number | null }[])[0]?.batch).toBeGreaterThan(0);
    },
    { timeout: 120_000, interval: 50 },
  );

beforeAll(async () => {
  prepared = temporaryFolder();
  const running = await start(prepared);
  const post = async (path: string, body: object) => (await running.post(path, body)).body;
  const id = async (path: string, body: object) => String((await post(path, body)).id);
  const zone = await id('/v2/zones', { name: 'example.org.', email: 'a@example.org' });
  const other = await id('/v2/zones', { name: 'example.com.', email: 'a@example.com' });
  const transfers = (...zones: string[]) => ({ grants: [{ rights: ['transfer'], zones }] });
  const keys: Record<string, string> = {};
  for (const name of BEFORE)
    keys[name] = await id('/v2/tsigkeys', {
      name,
      algorithm: 'hmac-sha256',
      ...(name === 'widened'
        ? { scope: 'ZONE', resource_id: zone }
        : { scope: 'POOL', resource_id: POOL }),
      ...(name === 'moved' ? transfers(other) : {}),
    });
  const ids: Record<string, string> = {};
  for (const name of ['revoked', 'valid'] as const) {
    const created = await post('/v2/tokens', { name, roles: ['reader'] });
    tokens[name] = String(created.token);
    ids[name] = String(created.id);
  }
  const browsers = { ended: await signIn(running), open: await signIn(running) };
  for (const name of ['ended', 'open'] as const) cookies[name] = browsers[name].cookie;
  await untilSealed(running);
  expect(runTsigil(prepared, {}, 'backup', '--to', 'backup.db').status).toBe(0);
  await browsers.ended.call('DELETE', '/console/session');
  await running.delete(`/v2/tokens/${ids.revoked}`);
  await running.delete(`/v2/tsigkeys/${keys.deleted}`);
  const deleted = await id('/v2/zones', { name: 'example.net.', email: 'a@example.net' });
  await running.call('PUT', `/v2/tsigkeys/${keys.narrowed}/grants`, transfers(zone, deleted));
  await running.call('PUT', `/v2/tsigkeys/${keys.moved}/grants`, { grants: null });
  await running.patch(`/v2/tsigkeys/${keys.moved}`, { scope: 'ZONE', resource_id: zone });
  await running.patch(`/v2/tsigkeys/${keys.replaced}`, { algorithm: 'hmac-sha512', secret: null });
  const secret = 'dGhlIHNlY3JldCB0aGF0IHJlcGxhY2VkIHRoZSBsZWFrZWQgb25lISE=';
  await running.patch(`/v2/tsigkeys/${keys.replaced}`, { algorithm: 'hmac-sha512', secret });
  await running.patch(`/v2/tsigkeys/${keys.renewed}`, { secret });
  await running.patch(`/v2/tsigkeys/${keys.widened}`, { scope: 'POOL', resource_id: POOL });
  await running.post('/v2/tsigkeys', {
    name: 'added',
    algorithm: 'hmac-sha256',
    scope: 'POOL',
    resource_id: POOL,
  });
  await untilSealed(running);
  await running.stop('SIGKILL');
  expect(existsSync(join(prepared, 'var/tsigil.db-wal'))).toBe(true);
});

beforeEach(() => {
  folder = temporaryFolder();
  cpSync(prepared, folder, { recursive: true });
});
afterEach(async () => {
  await service?.stop('SIGKILL');
});

const tsigkeys = async (running: ServiceProcess) =>
  (
    (await running.get('/v2/tsigkeys?sort_key=name')).body.tsigkeys as Record<string, unknown>[]
  ).map(({ name, algorithm, scope }) => `${String(name)} ${String(algorithm)} ${String(scope)}`);

const grantsOf = async (running: ServiceProcess) => {
  const { tsigkeys: found } = (await running.get('/v2/tsigkeys')).body as {
    tsigkeys: { id: string; name: string }[];
  };
  const entries = found.map(async ({ id, name }) => {
    const { body } = await running.get(`/v2/tsigkeys/${id}/grants`);
    return [name, body.grants] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
};

const zoneId = async (running: ServiceProcess) => {
  const { body } = await running.get('/v2/zones?name=example.org.');
  return (body.zones as { id: string }[])[0]?.id;
};

describe('tsigil restore', () => {
  test('withdraws tokens and keys that were deleted or narrowed since the backup, and keeps the replaced database', async () => {
    chmodSync(database(), 0o400);
    const { status, stdout, stderr } = restore(['backup.db', '--yes']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(
      `Withdrawn since the backup, and not restored (--revive restores them):\n${WITHDRAWN}Created since the backup, and not in it:\n  tsigkey added\nRestored 'backup.db' to '`,
    );
    const [aside = ''] = asides();
    expect(stdout).toContain(`The replaced database is in '${join(folder, 'var', aside)}'.\n`);
    expect(statSync(database()).mode & 0o777).toBe(0o400);
    expect(readdirSync(join(folder, 'var')).sort()).toEqual(
      ['master.key', 'tsigil.db', 'tsigil.db-lock', aside].sort(),
    );
    expect(namesIn(join(folder, 'var', aside))).toEqual(AFTER);
    chmodSync(database(), 0o600);

    const running = await start(folder);
    expect(await tsigkeys(running)).toEqual([
      'kept hmac-sha256 POOL',
      'moved hmac-sha256 ZONE',
      'narrowed hmac-sha256 POOL',
      'renewed hmac-sha256 POOL',
      'replaced hmac-sha512 POOL',
      'widened hmac-sha256 ZONE',
    ]);
    expect(await grantsOf(running)).toEqual({
      kept: null,
      moved: null,
      narrowed: [{ rights: ['transfer'], zones: [await zoneId(running)] }],
      renewed: null,
      replaced: null,
      widened: null,
    });
    const status401 = (await running.with(tokens.revoked).get('/v2/zones')).status;
    expect([status401, (await running.with(tokens.valid).get('/v2/zones')).status]).toEqual([
      401, 200,
    ]);
    const { records } = (await running.get('/v2/audit?action=database:restore')).body as {
      records: { detail: Record<string, unknown> }[];
    };
    const ends = [join(folder, 'var', aside), join(prepared, 'backup.db')].map(
      (path) =>
        queryByAnotherProgram(
          path,
          'SELECT number, hash FROM audit_batches ORDER BY number DESC LIMIT 1',
        )[0],
    );
    expect(records.map(({ detail }) => [detail.replaced, detail.restored])).toEqual([ends]);
    expect(readFileSync(join(folder, 'backup.db'))).toEqual(
      readFileSync(join(prepared, 'backup.db')),
    );
  });

  test('with --revive, restores tokens and keys as they were, and says which', async () => {
    const { status, stdout } = restore(['backup.db', '--revive', '--yes']);
    expect(status).toBe(0);
    expect(stdout).toContain(
      `Withdrawn since the backup, and valid again because of --revive:\n${WITHDRAWN}`,
    );
    const running = await start(folder);
    expect(await tsigkeys(running)).toEqual(
      BEFORE.map((name) => `${name} hmac-sha256 ${name === 'widened' ? 'ZONE' : 'POOL'}`),
    );
    expect((await running.with(tokens.revoked).get('/v2/zones')).status).toBe(200);
  });

  test.each([[[]], [['--revive']]])('%j ends all sessions of the console', async (flags) => {
    expect(restore(['backup.db', '--yes', ...flags]).status).toBe(0);
    const running = await start(folder);
    const statusWith = async (cookie: string) => {
      const headers = { ...SAME_ORIGIN, cookie: cookieAt(running, cookie) };
      return (await running.call('GET', '/v2/zones', undefined, headers)).status;
    };
    expect([await statusWith(cookies.ended), await statusWith(cookies.open)]).toEqual([401, 401]);
    // The cookie would do for a session that exists.
    const { cookie } = await signIn(running);
    expect(await statusWith(cookie)).toBe(200);
  });

  test('restores the secrets of a backup that the replaced database has lost', async () => {
    const key = join(folder, 'var/master.key');
    const former = readFileSync(key, 'utf8');
    rmSync(key);
    expect(runTsigil(folder, {}, 'encryption', 'reset', '--yes').status).toBe(0);
    appendFileSync(key, former);
    expect(restore(['backup.db', '--yes']).stdout).not.toContain('secret');
    const { body } = await (await start(folder)).get('/v2/tsigkeys');
    const keys = body.tsigkeys as { secret: string }[];
    expect(keys.filter(({ secret }) => secret === '')).toEqual([]);
  });

  test('asks before it replaces a database, and changes nothing without a confirmation', () => {
    const { status, stdout, stderr } = restore(['backup.db']);
    expect(status).toBe(2);
    expect(stdout).toContain(WITHDRAWN);
    expect(stderr).toContain('Nothing was changed.\nUse --yes to go ahead.');
    expect(namesIn(database())).toEqual(AFTER);
    expect(asides()).toEqual([]);
  });

  test('without a database, restores the backup as it is and does not ask', async () => {
    for (const suffix of ['', '-wal', '-shm', '-lock'])
      rmSync(`${database()}${suffix}`, { force: true });
    expect(restore(['backup.db'])).toMatchObject({ status: 0, stderr: '' });
    expect(statSync(database()).mode & 0o777).toBe(0o600);
    expect((await tsigkeys(await start(folder))).length).toBe(BEFORE.length);
  });

  test('follows a symbolic link to the database', () => {
    const elsewhere = join(folder, 'elsewhere.db');
    for (const suffix of ['', '-wal', '-shm'])
      if (existsSync(`${database()}${suffix}`)) {
        copyFileSync(`${database()}${suffix}`, `${elsewhere}${suffix}`);
        rmSync(`${database()}${suffix}`);
      }
    symlinkSync(elsewhere, database());
    expect(restore(['backup.db', '--yes']).status).toBe(0);
    expect(namesIn(elsewhere)).toEqual(AFTER.slice(1));
  });

  test.runIf(process.getuid?.() === 0)('keeps the owner of the database', () => {
    rmSync(`${database()}-lock`);
    for (const suffix of ['', '-wal', '-shm'])
      spawnSync('chown', ['65534:65534', `${database()}${suffix}`]);
    expect(restore(['backup.db', '--yes']).status).toBe(0);
    for (const path of [database(), `${database()}-lock`])
      expect([statSync(path).uid, statSync(path).gid]).toEqual([65_534, 65_534]);
  });
});

describe('tsigil restore refuses, and changes nothing,', () => {
  afterEach(() => {
    expect(asides()).toEqual([]);
    expect(readdirSync(join(folder, 'var')).filter((name) => name.includes('.re'))).toEqual([]);
  });

  test('while a service uses the database', async () => {
    const running = await start(folder);
    const { status, stderr } = restore(['backup.db', '--yes']);
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('Another process is using the database'),
    ]);
    expect((await tsigkeys(running)).length).toBe(AFTER.length);
  });

  test.each<[string, (path: string) => void | Promise<void>, string]>([
    ['a missing backup', (path) => rmSync(path), 'does not exist'],
    ['a truncated backup', (path) => truncateSync(path, statSync(path).size / 2), 'damaged'],
    [
      'a backup with a damaged index',
      (path) => {
        const found = "SELECT rootpage FROM sqlite_schema WHERE name = 'unique_tsigkey_name'";
        const [{ rootpage }] = queryByAnotherProgram(path, found) as [{ rootpage: number }];
        const bytes = readFileSync(path);
        const at = bytes.indexOf('deleted', (rootpage - 1) * 4096);
        expect(at).toBeLessThan(rootpage * 4096);
        writeFileSync(path, bytes.fill('x', at, at + 1));
      },
      'damaged',
    ],
    [
      'a backup of a newer version',
      async (path) =>
        (
          await startForeignProgram(
            path,
            "INSERT INTO schema_migrations (number, applied_at) VALUES (99, '')",
          )
        ).release(),
      'has schema 99',
    ],
  ])('for %s', async (_, damage, problem) => {
    await damage(join(folder, 'backup.db'));
    const { status, stderr } = restore(['backup.db', '--yes', '--revive']);
    expect([status, stderr]).toEqual([1, expect.stringContaining(problem)]);
    expect(namesIn(database())).toEqual(AFTER);
  });

  test('if the master key does not fit the backup', () => {
    rmSync(join(folder, 'var/master.key'));
    const { status, stderr } = restore(['backup.db', '--yes', '--revive']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/Secrets are encrypted with master key [A-Z2-7]{8}/);
    expect(namesIn(database())).toEqual(AFTER);
  });
});

describe('tsigil restore needs --revive', () => {
  test('for a backup of another database', async () => {
    const other = await start(folder);
    await other.stop('SIGTERM');
    const otherFolder = temporaryFolder();
    copyFileSync(join(folder, 'var/master.key'), join(otherFolder, 'master.key'));
    const separate = await startServiceProcess(otherFolder, {
      TSIGIL_DATABASE_URL: 'sqlite:tsigil.db',
      TSIGIL_ADMIN_TOKEN: ADMIN,
    });
    await separate.stop('SIGTERM');
    copyFileSync(join(otherFolder, 'tsigil.db'), join(folder, 'other.db'));
    rmSync(otherFolder, { recursive: true });
    const { status, stderr } = restore(['other.db', '--yes']);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/not an earlier state of .*they would be valid again.*--revive/s),
    ]);
    expect(namesIn(database())).toEqual(AFTER);
    expect(restore(['other.db', '--yes', '--revive']).status).toBe(0);
    expect(namesIn(database())).toEqual([]);
    const [aside = ''] = asides();
    // The way back: the replaced database is newer than what the restore put in its place.
    expect(restore([join('var', aside), '--yes', '--revive'])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(namesIn(database())).toEqual(AFTER);
  });

  test('if the replaced database is damaged, and keeps it with its WAL', () => {
    const wal = Buffer.from('no WAL\n'.repeat(1000));
    writeFileSync(`${database()}-wal`, wal);
    writeFileSync(database(), 'no database\n'.repeat(1000));
    expect(restore(['backup.db', '--yes'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('not a SQLite database') as string,
    });
    expect(restore(['backup.db', '--yes', '--revive']).status).toBe(0);
    const [aside = ''] = asides();
    expect(readFileSync(join(folder, 'var', `${aside}-wal`))).toEqual(wal);
    expect(existsSync(`${database()}-wal`)).toBe(false);
    expect([namesIn(database()), integrityOf(database())]).toEqual([BEFORE, WHOLE]);
  });
});

test('after kill -9 before each step on files, the old or the new database is whole', () => {
  const hook = join(folder, 'kill-at.cjs');
  writeFileSync(
    hook,
    `const fs = require('node:fs');
    let left = Number(process.env.KILL_AT);
    for (const name of ['mkdtempSync', 'fsyncSync', 'fchmodSync', 'linkSync', 'renameSync', 'rmSync']) {
      const run = fs[name];
      fs[name] = (...argv) => {
        left -= 1;
        if (left === 0) process.kill(process.pid, 'SIGKILL');
        return run(...argv);
      };
    }
    require('node:module').syncBuiltinESMExports();`,
  );
  const states: string[] = [];
  for (let step = 1; states.at(-1) !== 'done'; step += 1) {
    expect(step).toBeLessThan(40);
    const { status, signal } = restore(['backup.db', '--yes'], ['--require', hook], {
      KILL_AT: String(step),
    });
    expect([status === 0, signal === 'SIGKILL']).toContain(true);
    expect(integrityOf(database())).toEqual(WHOLE);
    const names = namesIn(database());
    const isNew = !names.includes('added');
    expect(names).toEqual(isNew ? AFTER.slice(1) : AFTER);
    for (const aside of asides()) expect(namesIn(join(folder, 'var', aside))).toEqual(AFTER);
    const stopped = isNew ? 'new' : 'old';
    states.push(status === 0 ? 'done' : stopped);
    if (!isNew) continue;
    // The next attempt begins with the old database again.
    for (const each of readdirSync(join(folder, 'var')))
      rmSync(join(folder, 'var', each), { recursive: true });
    cpSync(join(prepared, 'var'), join(folder, 'var'), { recursive: true });
  }
  expect(new Set(states)).toEqual(new Set(['old', 'new', 'done']));
  // The last, complete run has removed what the killed ones left.
  expect(restore(['backup.db', '--yes']).status).toBe(0);
  expect(asides()).toHaveLength(1);
  expect(readdirSync(join(folder, 'var')).filter((name) => name.includes('.restore-'))).toEqual([]);
}, 300_000);
