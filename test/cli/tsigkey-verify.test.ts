import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NAME_SERVERS, ZONE, ZONE_RECORDS, type NameServer } from '../harness/name-servers.ts';
import { create, SECRET, TSIGKEYS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from './session.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (const name of ['Allowed.', 'unknown', 'two words']) await create(service, TSIGKEYS, name);
});
afterAll(() => service.close());

const verify = (...argv: string[]) =>
  runInside(
    { variables: { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token } },
    'tsigkey',
    'verify',
    ...argv,
  );

const [bind] = NAME_SERVERS;
describe.runIf(bind?.installed)('against a name server', () => {
  let server: NameServer | undefined;
  let at: readonly string[];
  beforeAll(async () => {
    server = await bind?.start({
      allowed: { name: 'allowed', algorithm: 'hmac-sha256', secret: SECRET },
      others: [],
    });
    at = ['--server', `127.0.0.1:${server?.port}`, '--zone', 'A.test'];
  });
  afterAll(() => server?.stop());

  test.each([
    [[], 'good: the server accepts the key and signed its response with it\n'],
    [
      ['--transfer'],
      `good: the server sent the zone (${ZONE_RECORDS} records), signed with the key\n`,
    ],
    [['--update'], 'good: the server accepts the key and signed its response with it\n'],
  ])('0 for a key that the server accepts, %j', async (flags, out) => {
    expect(await verify('Allowed.', ...at, ...flags)).toEqual({ status: 0, out, err: '' });
  });

  test('1 for a key that the server refuses, with a remedy', async () => {
    const { status, out, err } = await verify('unknown', ...at);
    expect([status, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^tsigil: unknown key: the server does not know the key \(BADKEY\)\nLoad the key into the server\./,
    );
  });
});

describe.runIf(bind?.installed)('several keys and servers', () => {
  let server: NameServer | undefined;
  let other: NameServer | undefined;
  let at: readonly string[];
  beforeAll(async () => {
    const allowed = { name: 'allowed', algorithm: 'hmac-sha256', secret: SECRET };
    [server, other] = await Promise.all([
      bind?.start({ allowed, others: [{ ...allowed, name: 'unknown' }] }),
      bind?.start({ allowed, others: [] }),
    ]);
    at = [server, other].flatMap((each) => ['--server', `127.0.0.1:${each?.port}`]);
    at = [...at, '--zone', 'a.test'];
  });
  afterAll(async () => {
    await server?.stop();
    await other?.stop();
  });
  const addressOf = (each: NameServer | undefined) => `127.0.0.1:${each?.port}`;

  test('0 with a row for each key and server, if all are good', async () => {
    const { status, out, err } = await verify('Allowed.', 'allowed', ...at, '-f', 'csv');
    expect([status, err]).toEqual([0, '']);
    const good = 'query,good,the server accepts the key and signed its response with it,';
    expect(out).toBe(
      'name,server,zone,check,verdict,reason,hint\n' +
        `Allowed.,${addressOf(server)},a.test.,${good}\n` +
        `Allowed.,${addressOf(other)},a.test.,${good}\n`,
    );
  });

  test('1 with the verdict, the reason and the remedy of each check in JSON, if one fails', async () => {
    const { status, out, err } = await verify(
      'Allowed.',
      'unknown',
      ...at,
      '--transfer',
      '-f',
      'json',
    );
    const rows = JSON.parse(out) as Record<string, unknown>[];
    expect(
      rows.map(({ name, server: text, check, verdict }) => [name, text, check, verdict]),
    ).toEqual([
      ['Allowed.', addressOf(server), 'transfer', 'good'],
      ['Allowed.', addressOf(other), 'transfer', 'good'],
      ['unknown', addressOf(server), 'transfer', 'not authorised'],
      ['unknown', addressOf(other), 'transfer', 'unknown key'],
    ]);
    expect(rows[0]).toEqual({
      name: 'Allowed.',
      server: addressOf(server),
      zone: 'a.test.',
      check: 'transfer',
      verdict: 'good',
      reason: `the server sent the zone (${ZONE_RECORDS} records), signed with the key`,
      hint: null,
    });
    expect(rows[3]?.hint).toMatch(/^Load the key into the server\./);
    expect([status, err]).toEqual([1, 'tsigil: 2 of 4 checks failed\n']);
  });

  test('1 with a row for each key of --all, also for a server without a response and an invalid key', async () => {
    const argv = ['--server', addressOf(server), '--server', '127.0.0.1:1', '--zone', 'a.test'];
    const { status, out } = await verify('--all', ...argv, '-f', 'value', '-c', 'verdict');
    expect([status, out.split('\n').sort()]).toEqual([
      1,
      ['', 'good', 'good', 'invalid key', 'invalid key', 'no response', 'no response'],
    ]);
  });

  test('1 with a row for each key of a pool, in a table without the remedy', async () => {
    const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
    const { status, out } = await runInside(
      { variables: { ...variables, NO_COLOR: '1' }, columns: 120 },
      ...['tsigkey', 'verify', '--pool', 'default', ...at],
    );
    expect([status, out]).toEqual([
      1,
      expect.stringMatching(/\| name +\| server +\| check \| verdict/),
    ]);
    expect(out).not.toContain('hint');
  });

  test('one key and one server with -f is a row as well', async () => {
    const argv = ['--server', '127.0.0.1:1', '--zone', 'a.test', '-f', 'json'];
    const { status, out, err } = await verify('Allowed.', ...argv);
    expect(JSON.parse(out)).toMatchObject([{ name: 'Allowed.', verdict: 'no response' }]);
    expect([status, err]).toEqual([1, 'tsigil: 1 of 1 checks failed\n']);
  });
});

test('1 if a pool has no keys, and nothing is sent', async () => {
  const { body } = await service.post('/v2/pools', { name: 'empty', ns_records: [] });
  expect(body.name).toBe('empty');
  const { status, err } = await verify(
    '--pool',
    'empty',
    '--server',
    '127.0.0.1:1',
    '--zone',
    ZONE,
  );
  expect(status).toBe(1);
  expect(err).toContain("no key applies to every zone of the pool 'empty'");
});

test('3 without a response', async () => {
  // The system does not assign this port to listeners on port 0.
  const { status, out, err } = await verify('Allowed.', '--server', '127.0.0.1:1', '--zone', ZONE);
  expect([status, out]).toEqual([3, '']);
  expect(err).toContain('no response: nothing listens there');
});

test('1 for a key that no name server can use, which is not sent', async () => {
  const { status, err } = await verify('two words', '--server', '127.0.0.1', '--zone', ZONE);
  expect(status).toBe(1);
  expect(err).toContain('No name server can use the key: the name must be a domain name');
});

test.each([
  [['--server', '127.0.0.1', '--zone', ZONE], 'ids or names, --pool or --all'],
  [['Allowed.', '--all', '--server', '127.0.0.1', '--zone', ZONE], 'exactly one way'],
  [
    ['Allowed.', '--server', '127.0.0.1', '--zone', ZONE, '-c', 'secret'],
    "Unknown column 'secret'",
  ],
  [['Allowed.', '--zone', ZONE], '--server'],
  [['Allowed.', '--server', '127.0.0.1'], '--zone'],
  [['Allowed.', '--server', '127.0.0.1:0', '--zone', ZONE], 'host:port'],
  [['Allowed.', '--server', '127.0.0.1:99999', '--zone', ZONE], 'host:port'],
  [['Allowed.', '--server', '[::1', '--zone', ZONE], 'host:port'],
  [['Allowed.', '--server', '127.0.0.1', '--zone', 'a..b'], 'a domain name'],
  [
    ['Allowed.', '--server', '127.0.0.1', '--zone', ZONE, '--transfer', '--update'],
    'cannot be used with',
  ],
])('2 for %j', async (argv, message) => {
  const { status, out, err } = await verify(...argv);
  expect([status, out]).toEqual([2, '']);
  expect(err).toContain(message);
});
