import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { recordSecret } from '../harness/evidence.ts';
import { POOL_ID, SECRET } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { runInside, type RunOptions } from './session.ts';
import { words } from './run.ts';

const folder = temporaryFolder();
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const KEY = ['--algorithm', 'hmac-sha256', '--scope', 'POOL', '--resource-id', POOL_ID];
const run = (runOptions: RunOptions, ...argv: string[]) =>
  runInside({ variables: service.variables, ...runOptions }, 'tsigkey', ...argv);

/** Returns the secret that the service has stored for a key. */
async function keptSecret(name: string): Promise<string | undefined> {
  return ((await service.get(`/v2/tsigkeys?name=${name}`)).body.tsigkeys as { secret: string }[])[0]
    ?.secret;
}

describe('setting a secret', () => {
  test('--secret - reads standard input, with or without a final line feed', async () => {
    for (const [index, input] of [SECRET, `${SECRET}\n`, `${SECRET}\r\n`].entries()) {
      const created = await run({ input }, ...words`create ${`piped-${index}`} --secret -`, ...KEY);
      expect(created.status).toBe(0);
      expect(await keptSecret(`piped-${index}`)).toBe(SECRET);
    }
  });

  test('create and set read a secret from --secret-file, and set also reads it from --secret -', async () => {
    const file = join(folder, 'secret');
    writeFileSync(file, `${SECRET}\n`);
    for (const [input, argv, secret] of [
      ['', [...words`create from-file --secret-file ${file}`, ...KEY], SECRET],
      ['bmV3IHNlY3JldA==', words`set from-file --secret -`, 'bmV3IHNlY3JldA=='],
      ['', words`set from-file --secret-file ${file}`, SECRET],
    ] as const) {
      expect((await run({ input }, ...argv)).status).toBe(0);
      expect(await keptSecret('from-file')).toBe(secret);
    }
  });

  test('a secret as an argument is refused and not printed, and no key is created: exit code 2', async () => {
    const secret = 'VGhpcyBpcyBpbiB0aGUgcHJvY2VzcyBsaXN0';
    recordSecret(secret);
    for (const flags of [['--secret', secret], [`--secret=${secret}`]]) {
      const { status, out, err } = await run({}, 'create', '--name', 'literal', ...KEY, ...flags);
      expect([status, out]).toEqual([2, '']);
      expect(err).toBe(
        'tsigil: The secret cannot be an argument: other users of this machine can read arguments\n' +
          'Use --secret - to read the secret from standard input, or --secret-file FILE.\n',
      );
    }
    expect(await keptSecret('literal')).toBeUndefined();
  });

  test.each([
    [
      'nothing on standard input',
      '',
      ['--secret', '-'],
      /^tsigil: Standard input does not contain a secret on one line\n$/,
    ],
    [
      'a missing file',
      '',
      ['--secret-file', '/nonexistent/secret'],
      /^tsigil: '\/nonexistent\/secret' cannot be read: no such file or folder\nCheck the path\.\n$/,
    ],
    [
      'both flags',
      SECRET,
      ['--secret', '-', '--secret-file', '/dev/null'],
      /cannot be used with option/,
    ],
  ])('exits with 2 for %s', async (_, input, flags, message) => {
    const { status, out, err } = await run({ input }, 'create', 'wrong', ...KEY, ...flags);
    expect([status, out]).toEqual([2, '']);
    expect(err).toMatch(message);
  });

  test('--secret - does not read a terminal, because a terminal would show the secret', async () => {
    const input = Object.assign(Readable.from([]), { isTTY: true });
    const { status, err } = await run({ input }, 'create', 'typed', ...KEY, '--secret', '-');
    expect([status, err]).toEqual([
      2,
      'tsigil: Cannot read the secret: standard input is a terminal\nPipe the secret to the command, or use --secret-file FILE.\n',
    ]);
  });
});

describe('printing secrets', () => {
  const secret = 'c2VjcmV0IHRoYXQgaXMgc2hvd24gb24gZGVtYW5k';
  beforeAll(async () => {
    await service.post('/v2/tsigkeys', {
      name: 'shown',
      algorithm: 'hmac-sha256',
      secret,
      scope: 'POOL',
      resource_id: POOL_ID,
    });
  });

  test.each([
    ['list', ['list', '--name', 'shown', '-c', 'name', '-c', 'secret']],
    ['show', ['show', 'shown']],
    ['set', ['set', 'shown', '--scope', 'POOL']],
  ])('%s hides the secret in every format, unless --reveal is set', async (_, argv) => {
    for (const format of ['table', 'json', 'yaml', 'csv', 'value']) {
      for (const columns of [undefined, 200]) {
        const runOptions = columns === undefined ? {} : { columns };
        const hidden = await run(runOptions, ...argv, '-f', format);
        expect([
          hidden.status,
          hidden.out.includes('(hidden)'),
          hidden.out.includes(secret),
        ]).toEqual([0, true, false]);
        const shown = await run(runOptions, ...argv, '-f', format, '--reveal');
        expect([shown.status, shown.out.includes('(hidden)'), shown.out.includes(secret)]).toEqual([
          0,
          false,
          true,
        ]);
      }
    }
  });

  test('create hides the secret too, and --reveal -f value -c secret prints only the secret', async () => {
    const create = (name: string, ...flags: string[]) =>
      run({ input: secret }, 'create', name, ...KEY, '--secret', '-', ...flags);
    const hidden = await create('hidden-at-first', ...words`-f json -c secret`);
    expect(JSON.parse(hidden.out)).toEqual({ secret: '(hidden)' });
    const shown = await create('shown-at-first', ...words`--reveal -f value -c secret`);
    expect(shown.out).toBe(`${secret}\n`);
  });
});
