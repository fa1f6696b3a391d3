import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exportKey, exportKeys } from '../../src/keys/export/export-formats.ts';
import { SECRET, TSIGKEYS, UNKNOWN_ID, create, type Resource } from '../harness/samples.ts';
import { startTestService, type TestService, temporaryFolder } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';
import { words } from '../cli/run.ts';

let service: TestService;
let key: Resource;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  key = await create(service, TSIGKEYS, 'Transfer.example.');
});
beforeEach(() => {
  folder = temporaryFolder();
});

const tsigil = (...argv: string[]) => runInside(service, ...argv);
const written = (format: string) =>
  exportKey(format, { name: 'transfer.example', algorithm: 'hmac-sha256', secret: SECRET }).text;

test('exits with 0 and writes a key to standard output, by name, by id, and with -o -', async () => {
  for (const argv of [['Transfer.example.'], [key.id], [key.id, '-o', '-']])
    expect(await tsigil('tsigkey', 'export', '--format', 'bind', ...argv)).toEqual({
      status: 0,
      out: written('bind'),
      err: '',
    });
});

describe('files', () => {
  const path = () => join(folder, 'transfer.key');
  const exported = (...argv: string[]) =>
    tsigil('tsigkey', 'export', key.id, '--format', 'bind', '-o', path(), ...argv);

  test('exits with 0, creates the file with mode 0600, and prints nothing', async () => {
    expect(await exported()).toEqual({ status: 0, out: '', err: '' });
    expect(readFileSync(path(), 'utf8')).toBe(written('bind'));
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  test('exits with 2 if the file exists, and does not change the file', async () => {
    writeFileSync(path(), 'precious');
    const { status, err } = await exported();
    expect([status, readFileSync(path(), 'utf8')]).toEqual([2, 'precious']);
    expect(err).toContain('already exists. It was not changed.');
    expect(err).toContain('--overwrite');
  });

  test('exits with 0 and replaces the file with a file of mode 0600 if --overwrite is set', async () => {
    writeFileSync(path(), 'precious', { mode: 0o644 });
    expect((await exported('--overwrite')).status).toBe(0);
    expect(readFileSync(path(), 'utf8')).toBe(written('bind'));
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['transfer.key']);
  });

  test('exits with 2 if --overwrite names a pipe, and does not replace the pipe', async () => {
    spawnSync('mkfifo', [path()]);
    const { status, err } = await exported('--overwrite');
    expect([status, err]).toEqual([2, expect.stringContaining('it is not a regular file')]);
    expect(statSync(path()).isFIFO()).toBe(true);
    expect(readdirSync(folder)).toEqual(['transfer.key']);
  });

  test('exits with 1 for a key that the consumer cannot use, and creates no file', async () => {
    const odd = await create(service, TSIGKEYS, 'two words');
    const { status, out, err } = await tsigil(
      ...words`tsigkey export ${odd.id} --format bind -o ${path()}`,
    );
    expect([status, out, existsSync(path())]).toEqual([1, '', false]);
    expect(err).toContain('the name must be a domain name');
  });
});

describe('several keys', () => {
  const KEY = { algorithm: 'hmac-sha256', secret: SECRET };
  let own: TestService;
  beforeAll(async () => {
    own = await startTestService();
    const [poolId] = await Promise.all(
      ['edge', 'empty'].map(async (name) => {
        const ns_records = [{ hostname: 'ns1.example.org.', priority: 1 }];
        const { body } = await own.post('/v2/pools', { name, ns_records });
        return (body as { id: string }).id;
      }),
    );
    for (const [name, rest] of [
      ['c.example.', {}],
      ['B.example', { algorithm: 'hmac-md5' }],
      ['a.example', { scope: 'POOL', resource_id: poolId }],
      ['d.example', { scope: 'ZONE', resource_id: UNKNOWN_ID }],
    ] as const) {
      const { status } = await own.post('/v2/tsigkeys', { ...TSIGKEYS.body(name), ...rest });
      expect(status).toBe(201);
    }
  });
  const run = (...argv: string[]) => runInside(own, 'tsigkey', 'export', ...argv);
  const named = (...names: string[]) => names.map((name) => ({ name, ...KEY }));

  test('exits with 0 and writes the named keys, each once, in the order of names', async () => {
    expect(await run('c.example', 'a.example', 'C.example.', '--format', 'bind')).toEqual({
      status: 0,
      out: exportKeys('bind', named('a.example', 'c.example')),
      err: '',
    });
  });

  test('with --pool, exits with 0 and writes the keys that apply to every zone of the pool', async () => {
    const { status, out } = await run('--pool', 'edge', '--format', 'bind');
    expect([status, out]).toEqual([0, exportKeys('bind', named('a.example'))]);
  });

  test('with --all, exits with 0 and writes all keys, with a warning for each weak algorithm', async () => {
    const { status, out, err } = await run('--all', '--format', 'knot');
    const [a, b, ...rest] = named('a.example', 'b.example', 'c.example', 'd.example');
    const keys = [a, { ...b, algorithm: 'hmac-md5' }, ...rest] as typeof rest;
    expect([status, out]).toEqual([0, exportKeys('knot', keys)]);
    expect(err).toBe('B.example: hmac-md5 must not be used (RFC 8945 section 6)\n');
  });

  test('exits with 1, reports a key that the consumer cannot use, and writes the other keys', async () => {
    const { status, out, err } = await run('--all', '--format', 'coredns');
    expect([status, out]).toEqual([
      1,
      exportKeys('coredns', named('a.example', 'c.example', 'd.example')),
    ]);
    expect(err).toContain('B.example: not exported: CoreDNS');
    expect(err).toContain('cannot use hmac-md5. Use one of: hmac-sha1');
    expect(err).toContain('3 of 4 keys exported, 1 not exported');
    expect(err).not.toContain(SECRET);
  });

  test('exits with 2 for a format of one key without --output-dir, and writes nothing', async () => {
    const path = join(folder, 'keys');
    for (const selection of [['a.example', 'c.example'], ['--all'], ['--pool', 'edge']]) {
      const { status, out, err } = await run(...selection, '--format', 'lego', '-o', path);
      expect([status, out, existsSync(path)]).toEqual([2, '', false]);
      expect(err).toContain('can contain only one key');
      expect(err).toContain('--output-dir');
    }
  });

  test('with --output-dir, exits with 0 and writes a file with mode 0600 for each key', async () => {
    const target = join(folder, 'new/keys');
    const argv = ['a.example', 'c.example', '--format', 'lego', '--output-dir', target];
    expect(await run(...argv)).toEqual({ status: 0, out: '', err: '' });
    const files = named('a.example', 'c.example').map((each) => exportKey('lego', each));
    expect(readdirSync(target).sort()).toEqual(files.map(({ fileName }) => fileName));
    for (const { fileName, text } of files) {
      expect(readFileSync(join(target, fileName), 'utf8')).toBe(text);
      expect(statSync(join(target, fileName)).mode & 0o777).toBe(0o600);
    }
  });

  test('exits with 2 if one of the files in --output-dir exists, and writes no file', async () => {
    writeFileSync(join(folder, 'c.example.env'), 'precious');
    const argv = ['a.example', 'c.example', '--format', 'lego', '--output-dir', folder];
    const { status, err } = await run(...argv);
    expect([status, readdirSync(folder)]).toEqual([2, ['c.example.env']]);
    expect(err).toContain("c.example.env' already exists. It was not changed.");
    expect((await run(...argv, '--overwrite')).status).toBe(0);
    expect(readdirSync(folder)).toEqual(['a.example.env', 'c.example.env']);
    expect(readFileSync(join(folder, 'c.example.env'), 'utf8')).toContain(SECRET);
  });

  test('exits with 2 if two names are so long that their files in --output-dir would have the same name', async () => {
    const long = ['x', 'y'].map((end) =>
      [63, 63, 63, 50]
        .map((length) => 'l'.repeat(length))
        .join('.')
        .concat(end),
    );
    for (const name of long) await own.post('/v2/tsigkeys', TSIGKEYS.body(name));
    const argv = ['--format', 'lego', '--output-dir', folder, '--overwrite'];
    const { status, err } = await run(...long, ...argv);
    expect([status, readdirSync(folder)]).toEqual([2, []]);
    expect(err).toContain('Two keys have the same file name');
    for (const name of long) expect((await own.get(`/v2/tsigkeys?name=${name}`)).status).toBe(200);
  });

  test('exits with 1 if the pool has no keys, and does not change the file', async () => {
    const path = join(folder, 'keys.conf');
    writeFileSync(path, 'precious');
    const { status, err } = await run(...words`--pool empty --format bind -o ${path} --overwrite`);
    expect([status, readFileSync(path, 'utf8')]).toEqual([1, 'precious']);
    expect(err).toContain("no key applies to every zone of the pool 'empty'");
  });

  test.each([
    [['--format', 'bind'], 'ids or names, --pool or --all'],
    [['--pool', 'edge', '--all', '--format', 'bind'], 'cannot be used with'],
    [['--all', '--format', 'yaml'], 'Allowed choices are bind, knot'],
    [['--all'], "tsigil: missing required option '--format <format>'"],
    [['--all', '--format', 'bind', '-o', 'x', '--output-dir', 'y'], 'cannot be used with'],
  ])('exits with 2 for tsigkey export %j', async (argv, message) => {
    const { status, out, err } = await run(...argv);
    expect([status, out]).toEqual([2, '']);
    expect(err).toContain(message);
  });
});
