import { beforeAll, describe, expect, test } from 'vitest';
import { NAME_SERVERS, ZONE, ZONE_RECORDS, type NameServer } from '../harness/name-servers.ts';
import { create, SECRET, TSIGKEYS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';

const HEADER = 'name\tserver\tcheck\tverdict\treason\n';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (const name of ['Allowed.', 'unknown', 'two words']) await create(service, TSIGKEYS, name);
});

const verify = (...argv: string[]) => runInside(service, 'tsigkey', 'verify', ...argv);

const [bind] = NAME_SERVERS;
describe.runIf(bind?.isInstalled())('against name servers', () => {
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
  const addressOf = (each: NameServer | undefined) => `127.0.0.1:${each?.port}`;
  const atOther = () => ['--server', addressOf(other), '--zone', 'A.test'];

  test.each([
    [[], 'query', 'the server accepts the key and signed its response with it'],
    [
      ['--transfer'],
      'transfer',
      `the server sent the zone (${ZONE_RECORDS} records), signed with the key`,
    ],
    [['--update'], 'update', 'the server accepts the key and signed its response with it'],
  ])(
    'exits with 0 for a key that the server accepts, with the flags %j',
    async (flags, check, reason) => {
      const row = `Allowed.\t${addressOf(other)}\t${check}\tgood\t${reason}\n`;
      expect(await verify('Allowed.', ...atOther(), ...flags)).toEqual({
        status: 0,
        out: `${HEADER}${row}1 good\n`,
        err: '',
      });
    },
  );

  test('exits with 1 for a key that the server refuses, and prints a remedy', async () => {
    const { status, out, err } = await verify('unknown', ...atOther());
    expect([status, out]).toEqual([
      1,
      expect.stringContaining('\tunknown key\tthe server does not know the key (BADKEY)\n'),
    ]);
    expect(err).toMatch(/^tsigil: 1 of 1 checks failed\nLoad the key into the server\./);
  });

  test('exits with 1 if only one of two servers responds', async () => {
    const silent = ['--server', '127.0.0.1:1'];
    const { status, err } = await verify('Allowed.', ...atOther(), ...silent);
    expect([status, err]).toEqual([1, expect.stringMatching(/^tsigil: 1 of 2 checks failed\n/)]);
  });

  test('exits with 1 if a check fails, and prints the verdict, reason and remedy of each check in JSON', async () => {
    const keys = ['Allowed.', 'unknown'];
    const { status, out, err } = await verify(...keys, ...at, '--transfer', '-f', 'json');
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

  test('exits with 1 and prints a row for each key and server with --all, even without a response', async () => {
    const argv = ['--server', addressOf(server), '--server', '127.0.0.1:1', '--zone', 'a.test'];
    const { status, out } = await verify('--all', ...argv, '-f', 'value', '-c', 'verdict');
    expect([status, out.split('\n').sort()]).toEqual([
      1,
      ['', 'good', 'good', 'invalid key', 'invalid key', 'no response', 'no response'],
    ]);
  });
});

describe.runIf(bind?.isInstalled())('the name servers of the service', () => {
  const allowed = { name: 'allowed', algorithm: 'hmac-sha256', secret: SECRET };
  const running: NameServer[] = [];
  let registry: TestService;
  const run = (...argv: string[]) => runInside(registry, 'tsigkey', 'verify', ...argv);
  const post = async (path: string, body: object): Promise<string> => {
    const response = await registry.post(path, body, { 'x-auth-sudo-project-id': 'p' });
    expect(response.body).toHaveProperty('id');
    return (response.body as { id: string }).id;
  };
  const key = (name: string, scope: string, resourceId: string) =>
    post('/v2/tsigkeys', { ...allowed, name, scope, resource_id: resourceId });

  beforeAll(async () => {
    registry = await startTestService();
    for (const others of [[], [{ ...allowed, name: 'of-zone' }]]) {
      const server = await bind?.start({ allowed, others });
      if (server !== undefined) running.push(server);
    }
    const pools: string[] = [];
    for (const name of ['one', 'two', 'without'])
      pools.push(await post('/v2/pools', { name, ns_records: [] }));
    const [one = '', two = '', without = ''] = pools;
    const zone = await post('/v2/zones', { name: ZONE, email: 'a@a.test', pool: 'two' });
    for (const [index, pool] of [one, two].entries())
      await post('/v2/nameservers', {
        name: `ns${index + 1}`,
        pool_id: pool,
        driver: 'bind',
        probe_zone: ZONE,
        address: `127.0.0.1:${running[index]?.port}`,
      });
    await key('allowed', 'POOL', one);
    await key('missing', 'POOL', two);
    await key('of-zone', 'ZONE', zone);
    await key('nowhere', 'POOL', without);
  });

  test('without --server and --zone, prints a row for each key and name server that should have the key', async () => {
    const { status, out, err } = await run('--all', '-f', 'json');
    const rows = JSON.parse(out) as Record<string, unknown>[];
    const found = rows.map(({ name, server, zone, verdict }) => [name, server, zone, verdict]);
    expect(found.toSorted()).toEqual([
      ['allowed', 'ns1', ZONE, 'good'],
      ['missing', 'ns2', ZONE, 'unknown key'],
      ['of-zone', 'ns2', ZONE, 'good'],
    ]);
    expect([status, err]).toEqual([
      1,
      'Not verified, because the service has no name server for these keys: nowhere\ntsigil: 1 of 3 checks failed\n',
    ]);
  });

  test('--all sends a request for a zone that the grants of a key name', async () => {
    const { body } = await registry.get('/v2/pools?name=two');
    const [pool] = (body as { pools: { id: string }[] }).pools;
    const zone = await post('/v2/zones', { name: 'z.test.', email: 'a@a.test', pool: 'two' });
    const granted = await post('/v2/tsigkeys', {
      ...allowed,
      name: 'granted',
      scope: 'POOL',
      resource_id: pool?.id,
      grants: [{ rights: ['update'], zones: [zone] }],
    });
    const { out } = await run('granted', '-f', 'value', '-c', 'server', '-c', 'zone');
    expect(out).toBe('ns2 z.test.\n');
    await registry.delete(`/v2/tsigkeys/${granted}`);
  });

  test('--all lists only the failures and ends with the number of good checks; --long lists all', async () => {
    const failed = 'missing\tns2\tquery\tunknown key\tthe server does not know the key (BADKEY)\n';
    const short = await run('--all');
    expect([short.status, short.out]).toEqual([
      1,
      `${HEADER}${failed}3 keys on 2 servers: 2 good\n`,
    ]);
    const { out } = await run('--all', '--long');
    expect(out.split('\n').map((line) => line.split('\t')[0])).toEqual([
      'name',
      'allowed',
      'missing',
      'of-zone',
      '3 keys on 2 servers: 2 good',
      '',
    ]);
    expect(await run('--pool', 'one')).toEqual({ status: 0, out: '1 good\n', err: '' });
  });

  test('--server verifies all keys against any server, with the zones that the service has for the keys', async () => {
    const at = ['--server', `127.0.0.1:${running[1]?.port}`];
    const { status, out } = await run('--all', ...at, '-f', 'json');
    const rows = JSON.parse(out) as Record<string, unknown>[];
    expect(rows.map(({ name, zone, verdict }) => [name, zone, verdict]).toSorted()).toEqual([
      ['allowed', null, 'not possible'],
      ['missing', ZONE, 'unknown key'],
      ['nowhere', null, 'not possible'],
      ['of-zone', ZONE, 'good'],
    ]);
    expect(status).toBe(1);
  });
});

test('exits with 3 without a response', async () => {
  // Nothing listens on port 1, because the system never assigns port 1 to a listener on port 0.
  const { status, out, err } = await verify('Allowed.', '--server', '127.0.0.1:1', '--zone', ZONE);
  expect([status, out]).toEqual([
    3,
    expect.stringContaining('\tno response\tnothing listens at the address\n'),
  ]);
  expect(err).toContain('Check the address and the port');
});

test('exits with 1 and sends nothing for a key without a zone', async () => {
  const { status, out, err } = await verify('Allowed.', '--server', '127.0.0.1');
  expect([status, out]).toEqual([1, expect.stringContaining('no zone in which to test the key')]);
  expect(err).toContain('Set --zone.');
});

test.each([
  [['Allowed.', '--all', '--server', '127.0.0.1', '--zone', ZONE], 'exactly one way'],
  [
    ['Allowed.', '--server', '127.0.0.1', '--zone', ZONE, '-c', 'secret'],
    "Unknown column 'secret'",
  ],
  [['Allowed.', '--server', '127.0.0.1:0', '--zone', ZONE], 'host:port'],
  [
    ['Allowed.', '--server', '127.0.0.1', '--zone', ZONE, '--transfer', '--update'],
    'cannot be used with',
  ],
])('exits with 2 for tsigkey verify %j', async (argv, message) => {
  const { status, out, err } = await verify(...argv);
  expect([status, out]).toEqual([2, '']);
  expect(err).toContain(message);
});
