import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { tsigil, type Ended } from './run.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';

let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});

const run = (...argv: string[]): Promise<Ended> => tsigil(folder, {}, ...argv);

describe('help', () => {
  test('tsigil, tsigil --help and tsigil help print the same text to standard output: exit code 0', async () => {
    const alone = await run();
    expect([alone.status, alone.err]).toEqual([0, '']);
    expect(alone.out).toMatch(/^Usage: tsigil \[options\] \[command\] .*tsigil help COMMAND\)\n/);
    for (const command of ['serve', 'check-config', 'backup', 'token'])
      expect(alone.out).toMatch(new RegExp(`^ {2}${command}\\b.+`, 'm'));
    expect(await run('--help')).toEqual(alone);
    expect(await run('help')).toEqual(alone);
  });

  test('tsigil help accepts names and aliases of subcommands', async () => {
    const verify = await run('tsigkey', 'verify', '--help');
    expect(verify.out).toMatch(/^Usage: tsigil tsigkey verify /);
    expect(await run('help', 'tsigkey', 'verify')).toEqual(verify);
    expect(await run('help', 'tld', 'ls')).toEqual(await run('tld', 'list', '--help'));
    const { status, err } = await run('help', 'tsigkey', 'verfy');
    expect([status, err]).toEqual([
      2,
      "tsigil: unknown command 'verfy'\n(Did you mean verify?)\nRun the command with --help to see its usage.\n",
    ]);
  });

  test('--version prints the version in package.json', async () => {
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
    ) as { version: string };
    expect(await run('--version')).toEqual({ status: 0, out: `${version}\n`, err: '' });
  });
});

describe('usage errors', () => {
  test.each([
    [['nosuch'], /unknown command 'nosuch'/],
    [['serve', '--nosuch'], /unknown option '--nosuch'/],
    [['token'], /Usage: tsigil token/],
    [
      ['token', 'create'],
      /^tsigil: missing required argument 'name'; missing required option '--role <role\.\.\.>'\n/,
    ],
    [
      ['tsigkey', 'export'],
      /^tsigil: missing required argument 'tsigkey'; missing required option '--format <format>'; set --format to one of: bind, knot, .*\n/,
    ],
    [
      ['token', 'create', '--nmae', 'a'],
      /^tsigil: unknown option '--nmae'\n\(Did you mean --name\?\)\n/,
    ],
    [
      ['tld', 'list', '--nam=secret'],
      /^tsigil: unknown option '--nam'\n\(Did you mean --name\?\)\n/,
    ],
    [['token', 'list', '-f', 'xml'], /Allowed choices are table, json, yaml, csv, value/],
  ])('tsigil %j prints an error on standard error: exit code 2', async (argv, message) => {
    const { status, out, err } = await run(...argv);
    expect([status, out]).toEqual([2, '']);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/^ +at /m);
  });
});

describe('--debug', () => {
  const list = (...argv: string[]) =>
    tsigil(
      folder,
      { TSIGIL_URL: 'http://127.0.0.1:1', TSIGIL_TOKEN: 'a-token-to-be-kept-secret' },
      ...argv,
    );

  test('--debug adds the stack and the cause to an error, but no token', async () => {
    expect((await list('token', 'list')).err).not.toMatch(/^ +at /m);
    for (const argv of [
      ['--debug', 'token', 'list'],
      ['token', 'list', '--debug'],
    ]) {
      const { status, err } = await list(...argv);
      expect(status).toBe(3);
      expect(err).toMatch(/^ +at /m);
      expect(err).toContain('[cause]');
      expect(err).not.toContain('a-token-to-be-kept-secret');
    }
  });
});

describe('check-config', () => {
  test('prints the effective configuration from the file and the environment, with secrets hidden', async () => {
    writeFileSync(
      join(folder, 'tsigil.yaml'),
      'listen: 127.0.0.1:8053\napi:\n  defaultLimit: 50\n',
    );
    const token = 'an-administrator-token-in-the-environment';
    const { status, out, err } = await tsigil(
      folder,
      { TSIGIL_CONFIG: 'tsigil.yaml', TSIGIL_ADMIN_TOKEN: token, TSIGIL_API_DEFAULT_LIMIT: '60' },
      'check-config',
    );
    expect([status, err]).toEqual([0, '']);
    expect(out).toMatch(/^listen: 127\.0\.0\.1:8053$/m);
    expect(out).toMatch(/^ {2}defaultLimit: 60$/m);
    expect(out).toMatch(/^adminToken: \(hidden\)$/m);
    expect(out).not.toContain(token);
    expect((await run('check-config', '--config', 'tsigil.yaml')).out).toMatch(
      /^ {2}defaultLimit: 50$/m,
    );
  });

  test('creates no file', async () => {
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    await tsigil(empty, {}, 'check-config');
    expect(existsSync(join(empty, 'var'))).toBe(false);
  });
});

describe('backup', () => {
  test('creates a complete copy with mode 0600 while the service runs, and a service can start from the copy', async () => {
    const service = await startServiceProcess(folder);
    const names = Array.from({ length: 200 }, (_, index) => `tld-${index}`);
    await Promise.all(names.map((name) => service.post('/v2/tlds', { name })));
    const key = {
      name: 'k',
      ...KEY_MEMBERS,
    };
    const { body: kept } = await service.post('/v2/tsigkeys', key);
    expect(await run('backup', '--to', 'copy.db')).toEqual({
      status: 0,
      out: expect.stringMatching(
        /^The backup needs master key [A-Z2-7]{8}, but does not contain this key\.\n$/,
      ) as string,
      err: '',
    });
    await service.post('/v2/tlds', { name: 'later' });
    await service.stop('SIGTERM');

    const copy = join(folder, 'copy.db');
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const database = new DatabaseSync(copy, { readOnly: true });
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    database.close();

    const restored = join(folder, 'restored');
    mkdirSync(join(restored, 'var'), { recursive: true });
    cpSync(copy, join(restored, 'var/tsigil.db'));
    cpSync(join(folder, 'var/master.key'), join(restored, 'var/master.key'));
    const again = await startServiceProcess(restored);
    const listed = (await again.get('/v2/tlds')).body.tlds as { name: string }[];
    expect(listed.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect((await again.get(`/v2/tsigkeys/${String(kept.id)}`)).body.secret).toBe(kept.secret);
    await again.stop('SIGTERM');
  });

  test('refuses an existing file and does not change it: exit code 1', async () => {
    const taken = join(folder, 'taken.db');
    writeFileSync(taken, 'precious');
    chmodSync(taken, 0o644);
    const { status, out, err } = await run('backup', '--to', 'taken.db');
    expect([status, out]).toEqual([1, '']);
    expect(err).toMatch(/^tsigil: .*file already exists.*taken\.db.*\n$/);
    expect(readFileSync(taken, 'utf8')).toBe('precious');
  });
});
