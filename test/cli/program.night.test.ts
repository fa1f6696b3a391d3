import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../harness/service.ts';
import { tsigil, type Ended } from './run.ts';

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

test('check-config creates no file', async () => {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  await tsigil(empty, {}, 'check-config');
  expect(existsSync(join(empty, 'var'))).toBe(false);
});

test('backup refuses an existing file and does not change it: exit code 1', async () => {
  await run('migrate');
  const taken = join(folder, 'taken.db');
  writeFileSync(taken, 'precious');
  chmodSync(taken, 0o644);
  const { status, out, err } = await run('backup', '--to', 'taken.db');
  expect([status, out]).toEqual([1, '']);
  expect(err).toMatch(/^tsigil: .*file already exists.*taken\.db.*\n$/);
  expect(readFileSync(taken, 'utf8')).toBe('precious');
});
