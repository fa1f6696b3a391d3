import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { recordSecret } from '../harness/evidence.ts';
import {
  PROGRAM,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';
import { runProgram, tsigil, type Ended, words } from '../cli/run.ts';
import { serve } from '../harness/connections.ts';

const TOKEN = /^tsigil_[\w-]{43}$/;
const COLUMNS = [
  'id',
  'name',
  'roles',
  'project_id',
  'pools',
  'zones',
  'keys',
  'nameservers',
  'addresses',
  'expires_at',
  'last_used_at',
  'created_by',
  'created_at',
];

const folder = temporaryFolder();
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const run = (...argv: string[]): Promise<Ended> => tsigil(folder, service.variables, ...argv);

/** Returns a unique name for a token. */
const newName = (): string => `t-${randomUUID()}`;

async function create(...argv: string[]): Promise<Ended> {
  return run('token', 'create', '--name', newName(), '--role', 'reader', ...argv);
}

async function tokenNamed(name: string): Promise<Record<string, unknown> | undefined> {
  const { body } = await service.get(`/v2/tokens?name=${encodeURIComponent(name)}`);
  return (body.tokens as Record<string, unknown>[])[0];
}

describe('token create', () => {
  test('-f value prints only the token, and the token is valid', async () => {
    const { status, out, err } = await run(
      ...words`token create --name ${newName()} --role admin -f value`,
    );
    expect([status, err]).toEqual([0, '']);
    expect(out.trimEnd()).toMatch(TOKEN);
    expect(out).toBe(`${out.trimEnd()}\n`);
    expect((await service.with(out.trimEnd()).get('/v2/tlds')).status).toBe(200);
  });

  test('creates the requested token and prints all its members', async () => {
    const name = newName();
    const flags = words`--role reader --role member --project p1 --expires 2030-01-31T12:00:00 -f
          json`;
    const { status, out } = await run('token', 'create', '--name', name, ...flags);
    expect(status).toBe(0);
    const shown = JSON.parse(out) as Record<string, unknown>;
    expect(Object.keys(shown)).toEqual([...COLUMNS, 'token']);
    expect(shown).toMatchObject({
      name,
      roles: ['reader', 'member'],
      project_id: 'p1',
      expires_at: '2030-01-31T12:00:00.000000',
    });
    expect(shown.token).toMatch(TOKEN);
    expect(await tokenNamed(name)).toMatchObject({
      id: shown.id,
      roles: ['reader', 'member'],
      project_id: 'p1',
    });
  });

  test.each([
    ['90d', 90 * 86_400],
    ['30m', 30 * 60],
  ])('--expires %s sets an expiry relative to the current time', async (expires, seconds) => {
    const before = Date.now();
    const { out } = await create('--expires', expires, '-f', 'json', '-c', 'expires_at');
    const timestamp =
      Date.parse(`${(JSON.parse(out) as { expires_at: string }).expires_at}Z`) - seconds * 1000;
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(Date.now());
  });

  test.each(['0d', 'soon', '90', '2030-02-30T00:00:00'])(
    '--expires %j is a usage error: exit code 2',
    async (expires) => {
      const { status, out, err } = await create(`--expires=${expires}`);
      expect([status, out]).toEqual([2, '']);
      expect(err).toMatch(
        /^tsigil: Invalid (?:expiry|time) '.*'(?:: .*)?\. Use a (?:longer|timestamp) .*\n$/,
      );
    },
  );

  test('refuses a misspelt column before it creates a token', async () => {
    const name = newName();
    const { status, out, err } = await run(
      ...words`token create --name ${name} --role reader -c tokne`,
    );
    expect([status, out]).toEqual([2, '']);
    expect(err).toBe(
      `tsigil: Unknown column 'tokne'. Use one of: ${[...COLUMNS, 'token'].join(', ')}.\n`,
    );
    expect(await tokenNamed(name)).toBeUndefined();
  });
});

test('token show prints a token by name, without the token itself', async () => {
  const name = newName();
  await service.post('/v2/tokens', { name, roles: ['reader'] });
  const { status, out } = await run('token', 'show', name, '-f', 'json');
  expect([status, Object.keys(JSON.parse(out) as object)]).toEqual([0, COLUMNS]);
});

test('exits without an error if the reader of its output closes the pipe', async () => {
  const command = `'${process.execPath}' '${PROGRAM}' token list -f json | true`;
  expect(await runProgram(folder, service.variables, 'sh', '-c', command)).toEqual({
    status: 0,
    out: '',
    err: '',
  });
});

describe('token revoke', () => {
  test('revokes tokens by name and by id, and the service refuses them at once', async () => {
    const [one, two] = [newName(), newName()];
    const first = (
      await run('token', 'create', '--name', one, '--role', 'admin', '-f', 'value')
    ).out.trim();
    await run('token', 'create', '--name', two, '--role', 'reader');
    const [firstId, secondId] = [
      (await tokenNamed(one))?.id as string,
      (await tokenNamed(two))?.id as string,
    ];
    const { status, out, err } = await run('token', 'revoke', one, secondId);
    expect([status, out, err]).toEqual([
      0,
      `Revoked token '${one}' (id ${firstId}).\nRevoked token '${two}' (id ${secondId}).\n`,
      '',
    ]);
    expect((await service.with(first).get('/v2/tlds')).status).toBe(401);
    expect([await tokenNamed(one), await tokenNamed(two)]).toEqual([undefined, undefined]);
  });

  test('revokes nothing if one of the tokens does not exist', async () => {
    const name = newName();
    await service.post('/v2/tokens', { name, roles: ['reader'] });
    expect((await run('token', 'revoke', name, 'nobody')).status).toBe(1);
    expect(await tokenNamed(name)).toBeDefined();
  });
});

describe('service URL and token', () => {
  const list = (changes: Record<string, string>, ...argv: string[]) =>
    tsigil(folder, { ...service.variables, ...changes }, 'token', 'list', ...argv);

  test('--token-file reads the token from a file and overrides TSIGIL_TOKEN; --url overrides TSIGIL_URL', async () => {
    const file = join(folder, 'a.token');
    writeFileSync(file, `${service.token}\n`);
    const { status } = await list(
      { TSIGIL_TOKEN: 'wrong', TSIGIL_URL: 'http://127.0.0.1:1' },
      '--token-file',
      file,
      '--url',
      `${service.url}/`,
    );
    expect(status).toBe(0);
  });

  test.each([
    [
      'an invalid token',
      { TSIGIL_TOKEN: 'a-wrong-token-of-a-caller' },
      /^tsigil: The request you have made requires authentication.*\nThe token is unknown to '.*', revoked or expired\. Use another token\.\n$/,
    ],
    [
      'an unreachable service',
      { TSIGIL_URL: 'http://127.0.0.1:1' },
      /^tsigil: 'http:\/\/127\.0\.0\.1:1' cannot be reached: nothing listens at the address\nCheck that the service is running, .*\n$/,
    ],
    [
      'no token',
      { TSIGIL_TOKEN: '', TSIGIL_URL: '' },
      /^tsigil: No token: 'var\/admin\.token' cannot be read: no such file or folder\nSet TSIGIL_TOKEN, .*\n$/,
    ],
  ])('exits with 3 and prints a remedy for %s', async (_, changes, message) => {
    const { status, out, err } = await list(changes);
    expect([status, out]).toEqual([3, '']);
    expect(err).toMatch(message);
  });

  test.each([
    'ftp://127.0.0.1',
    'localhost:9001',
    'http://user:password@127.0.0.1',
    'http://127.0.0.1/?a=b',
  ])('%s is not a service URL: exit code 2', async (url) => {
    const { status, err } = await list({ TSIGIL_URL: url });
    expect(status).toBe(2);
    expect(err).toMatch(/^tsigil: Invalid service URL.*\. Use an http or https URL .*\n$/);
    expect(err).not.toContain('password');
  });

  test('an invalid token is refused and never printed: exit code 2', async () => {
    const file = join(folder, 'two.token');
    const secret = 'first-line-of-a-secret-file';
    recordSecret(secret);
    writeFileSync(file, `${secret}\nsecond line\n`);
    const { status, err } = await list({}, '--token-file', file);
    expect([status, err]).toEqual([
      2,
      `tsigil: ${file} has no valid token. Use one line of printable ASCII characters without blanks.\n`,
    ]);
    expect((await list({ TSIGIL_TOKEN: `${secret}\u20ac` })).err).not.toContain(secret);
  });

  test('a redirect is not followed, because the next server would receive the token', async () => {
    const seen: unknown[] = [];
    const elsewhere = await serve((request, response) => {
      seen.push(request.headers['x-auth-token']);
      response.end('{}');
    });
    const redirecting = await serve((_, response) =>
      response.writeHead(307, { location: `${elsewhere}/` }).end(),
    );
    const { status, err } = await list({ TSIGIL_URL: redirecting });
    expect(status).toBe(1);
    expect(err).toMatch(
      /Unexpected response from 'http:\/\/127\.0\.0\.1:\d+': 307 Temporary Redirect/,
    );
    expect(seen).toEqual([]);
  });
});
