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

test('3 without a response', async () => {
  // The system gives this port to no listener that asks for any port.
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
