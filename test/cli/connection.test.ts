import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { findConnection } from '../../src/cli/service/connection.ts';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { recordSecret } from '../harness/evidence.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import {
  CREDENTIAL_SECRET,
  PASSWORD,
  startFakeKeystone,
  type FakeKeystone,
} from './fake-keystone.ts';
import { tsigil } from './run.ts';
import { runInside } from './session.ts';

const folder = temporaryFolder();
const home = join(folder, 'home');
const configuration = join(home, '.config/openstack');
let service: TestService;
let keystone: FakeKeystone;

beforeAll(async () => {
  service = await startTestService();
  const elsewhere = 'http://127.0.0.1:1';
  keystone = await startFakeKeystone(service.token, [
    { interface: 'internal', region: 'one', url: elsewhere },
    { interface: 'public', region: 'two', url: elsewhere },
    { interface: 'public', region: 'one', url: `${service.url}/v2/` },
  ]);
  for (const secret of [PASSWORD, CREDENTIAL_SECRET]) recordSecret(secret);
  mkdirSync(configuration, { recursive: true });
});

const byPassword = () => ({
  OS_AUTH_URL: keystone.url,
  OS_USERNAME: 'ada',
  OS_PASSWORD: PASSWORD,
  OS_PROJECT_NAME: 'dns',
  OS_REGION_NAME: 'one',
});

/**
 * Lists pools. Lists the pools. The output contains the default pool if the command reached a
 * service.
 */
const list = (variables: Record<string, string>, ...argv: string[]) =>
  runInside({ variables }, 'pool', 'list', '-f', 'value', '-c', 'name', ...argv);
const REACHED = { status: 0, out: 'default\n', err: '' };

/** Writes `clouds` as the user's clouds.yaml, and returns the variables that select it. */
function userClouds(clouds: object, secure?: object): Record<string, string> {
  writeFileSync(join(configuration, 'clouds.yaml'), stringify({ clouds }));
  rmSync(join(configuration, 'secure.yaml'), { force: true });
  if (secure !== undefined)
    writeFileSync(join(configuration, 'secure.yaml'), stringify({ clouds: secure }));
  return { HOME: home };
}

describe('OS_ variables', () => {
  test('with a password, the command finds the service in the catalogue, by region and interface', async () => {
    expect(await list(byPassword())).toEqual(REACHED);
    expect(keystone.asked.at(-1)).toEqual({
      auth: {
        identity: {
          methods: ['password'],
          password: { user: { name: 'ada', domain: { id: 'default' }, password: PASSWORD } },
        },
        scope: { project: { name: 'dns', domain: { id: 'default' } } },
      },
    });
    expect(
      await list({
        ...byPassword(),
        OS_AUTH_URL: `${keystone.url}/v3/`,
        OS_AUTH_TYPE: 'v3password',
      }),
    ).toEqual(REACHED);
  });

  test('the request to Keystone contains the domains and the scope', async () => {
    const user = { OS_USER_DOMAIN_NAME: 'Users', OS_PROJECT_DOMAIN_ID: 'projects' };
    expect(await list({ ...byPassword(), ...user })).toEqual(REACHED);
    expect(keystone.asked.at(-1)).toMatchObject({
      auth: {
        identity: { password: { user: { domain: { name: 'Users' } } } },
        scope: { project: { domain: { id: 'projects' } } },
      },
    });
    const unscoped = { ...byPassword(), OS_PROJECT_NAME: '', OS_USERNAME: '' };
    expect(await list({ ...unscoped, OS_USER_ID: 'u1', OS_SYSTEM_SCOPE: 'all' })).toEqual(REACHED);
    expect(keystone.asked.at(-1)).toEqual({
      auth: {
        identity: { methods: ['password'], password: { user: { id: 'u1', password: PASSWORD } } },
        scope: { system: { all: true } },
      },
    });
  });

  test('with an application credential, the command needs no project', async () => {
    const variables = {
      OS_AUTH_URL: keystone.url,
      OS_AUTH_TYPE: 'v3applicationcredential',
      OS_APPLICATION_CREDENTIAL_SECRET: CREDENTIAL_SECRET,
    };
    expect(
      await list({
        ...variables,
        OS_APPLICATION_CREDENTIAL_ID: 'c1',
        OS_REGION_NAME: 'one',
        OS_PROJECT_NAME: 'ignored',
      }),
    ).toEqual(REACHED);
    expect(keystone.asked.at(-1)).toEqual({
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: { id: 'c1', secret: CREDENTIAL_SECRET },
        },
      },
    });
    expect(
      await list({
        ...variables,
        OS_APPLICATION_CREDENTIAL_NAME: 'ci',
        OS_USERNAME: 'ada',
        OS_REGION_NAME: 'one',
      }),
    ).toEqual(REACHED);
    expect(keystone.asked.at(-1)).toMatchObject({
      auth: {
        identity: {
          application_credential: { name: 'ci', user: { name: 'ada', domain: { id: 'default' } } },
        },
      },
    });
  });

  test('with an endpoint and a token, the command needs no identity service', async () => {
    const variables = { OS_ENDPOINT: `${service.url}/v2`, OS_TOKEN: service.token };
    expect(await list({ ...variables, OS_AUTH_TYPE: 'admin_token' })).toEqual(REACHED);
    expect(await list(variables)).toEqual(REACHED);
    expect(await list({ ...variables, OS_AUTH_TYPE: 'none' })).toEqual(REACHED);
    const { status, err } = await list({ OS_AUTH_TYPE: 'none', OS_ENDPOINT: service.url });
    expect([status, err.includes('requires authentication')]).toEqual([3, true]);
  });

  test('TSIGIL_URL overrides the catalogue, and TSIGIL_TOKEN overrides the cloud', async () => {
    expect(await list({ ...byPassword(), OS_REGION_NAME: 'two', TSIGIL_URL: service.url })).toEqual(
      REACHED,
    );
    const before = keystone.asked.length;
    expect(await list({ ...byPassword(), ...service.variables })).toEqual(REACHED);
    expect(keystone.asked.length).toBe(before);
  });

  test.each<[string, () => Record<string, string>, number, RegExp]>([
    [
      'a wrong password',
      () => ({ OS_PASSWORD: 'wrong' }),
      3,
      /^tsigil: The identity service .* returned 401: Wrong "credentials"\.\nCheck the credentials\. The environment sets them\.\n$/,
    ],
    [
      'a path without an identity service',
      () => ({ OS_AUTH_URL: `${keystone.url}/other` }),
      3,
      /returned 404\n/,
    ],
    [
      'an unreachable identity service',
      () => ({ OS_AUTH_URL: 'http://127.0.0.1:1' }),
      3,
      /^tsigil: The identity service 'http:\/\/127\.0\.0\.1:1\/v3' cannot be reached: nothing listens at the address\nCheck auth_url\. The environment sets it\.\n$/,
    ],
    [
      'an unknown region',
      () => ({ OS_REGION_NAME: 'three' }),
      3,
      /no 'public' endpoint of type 'dns' in region 'three'\. Available: internal in one, public in two, public in one\n/,
    ],
    [
      'an unknown interface',
      () => ({ OS_INTERFACE: 'admin' }),
      3,
      /no 'admin' endpoint of type 'dns' in region 'one'/,
    ],
    [
      'an unsupported authentication type',
      () => ({ OS_AUTH_TYPE: 'v3kerberos' }),
      2,
      /^tsigil: The environment has an unsupported auth_type 'v3kerberos'\. Use one of: password, /,
    ],
    ['no username', () => ({ OS_USERNAME: '' }), 2, /^tsigil: The environment has no username/],
  ])(
    'prints the problem and a remedy if the environment has %s',
    async (_, changes, code, message) => {
      const { status, out, err } = await list({ ...byPassword(), ...changes() });
      expect([status, out]).toEqual([code, '']);
      expect(err).toMatch(message);
      expect(err).not.toContain(PASSWORD);
    },
  );
});

describe('clouds.yaml', () => {
  const auth = () => ({
    auth_url: keystone.url,
    username: 'ada',
    password: PASSWORD,
    project_name: 'dns',
  });

  test('OS_CLOUD and --os-cloud select a cloud, and the flag overrides TSIGIL_ variables', async () => {
    const variables = userClouds({
      here: { auth: auth(), region_name: 'one' },
      bad: { auth: auth(), region_name: 'two' },
    });
    expect(await list({ ...variables, OS_CLOUD: 'here' })).toEqual(REACHED);
    const others = {
      OS_CLOUD: 'bad',
      TSIGIL_URL: 'http://127.0.0.1:1',
      TSIGIL_TOKEN: 'a-token-of-somewhere-else',
    };
    expect(await list({ ...variables, ...others }, '--os-cloud', 'here')).toEqual(REACHED);
    expect(await list({ ...variables }, '--os-cloud', 'bad', '--url', service.url)).toEqual(
      REACHED,
    );
  });

  test('secrets can be in secure.yaml or OS_PASSWORD', async () => {
    const { password, ...others } = auth();
    const cloud = { here: { auth: others, regions: ['one'], interface: 'publicURL' } };
    expect(
      await list({ ...userClouds(cloud, { here: { auth: { password } } }), OS_CLOUD: 'here' }),
    ).toEqual(REACHED);
    expect(await list({ ...userClouds(cloud), OS_CLOUD: 'here', OS_PASSWORD: password })).toEqual(
      REACHED,
    );
    expect((await list({ ...userClouds(cloud), OS_CLOUD: 'here' })).err).toMatch(
      /has no password\. Its auth_type requires password\./,
    );
  });

  test('auth types admin_token and none, and an endpoint override, bypass the catalogue', async () => {
    const endpoint = `${service.url}/v2`;
    const variables = userClouds({
      admin: { auth_type: 'admin_token', auth: { endpoint, token: service.token } },
      none: { auth_type: 'none', auth: { endpoint, token: service.token } },
      override: { auth: auth(), dns_endpoint_override: endpoint },
    });
    for (const name of ['admin', 'none', 'override'])
      expect(await list(variables, '--os-cloud', name)).toEqual(REACHED);
  });

  test('clouds.yaml in the current folder overrides other files, and OS_CLIENT_CONFIG_FILE overrides all', async () => {
    const here = join(folder, 'here');
    mkdirSync(here, { recursive: true });
    const cloud = (url: string) =>
      stringify({
        clouds: { it: { auth_type: 'admin_token', auth: { endpoint: url, token: service.token } } },
      });
    writeFileSync(join(configuration, 'clouds.yaml'), cloud('http://127.0.0.1:1'));
    writeFileSync(join(here, 'clouds.yml'), cloud(service.url));
    const flags = ['pool', 'list', '-f', 'value', '-c', 'name', '--os-cloud', 'it'];
    expect(await tsigil(here, { HOME: home }, ...flags)).toEqual(REACHED);
    expect((await tsigil(folder, { HOME: home }, ...flags)).status).toBe(3);
    expect(
      await tsigil(
        folder,
        { HOME: home, OS_CLIENT_CONFIG_FILE: join(here, 'clouds.yml') },
        ...flags,
      ),
    ).toEqual(REACHED);
  });

  test('reports a missing or invalid file without quoting its content: exit code 2', async () => {
    const variables = userClouds({ here: {}, there: {} });
    expect((await list(variables, '--os-cloud', 'nowhere')).err).toMatch(
      /^tsigil: Unknown cloud 'nowhere' in .*clouds\.yaml\. Use one of: here, there\.\n$/,
    );
    writeFileSync(
      join(configuration, 'clouds.yaml'),
      `clouds:\n  here: {auth: {password: ${PASSWORD}\n`,
    );
    const broken = await list(variables, '--os-cloud', 'here');
    expect([broken.status, broken.err]).toEqual([
      2,
      `tsigil: '${configuration}/clouds.yaml' is not valid YAML\n`,
    ]);
    const none = await list({ HOME: '/nonexistent' }, '--os-cloud', 'here');
    expect([none.status, none.err]).toEqual([
      2,
      "tsigil: Unknown cloud 'here': no clouds.yaml exists\n" +
        'Create clouds.yaml in one of: ., /nonexistent/.config/openstack, /etc/openstack. Or set OS_CLIENT_CONFIG_FILE to the path of the file.\n',
    ]);
    expect((await list(variables, '--os-cloud', 'here', '--token-file', 'x')).status).toBe(2);
  });
});

test('a URL can end in a slash, or in /v2 as in catalogues', async () => {
  for (const url of ['http://dns.example/v2', 'http://dns.example/v2/', 'http://dns.example/']) {
    expect((await findConnection({ url }, { TSIGIL_TOKEN: 'a-token' })).url).toBe(
      'http://dns.example',
    );
  }
  expect(
    (await findConnection({ url: 'https://example.org/dns/v2' }, { TSIGIL_TOKEN: 'a-token' })).url,
  ).toBe('https://example.org/dns');
});

describe.runIf(hasProgram('openssl', 'openssl'))('TLS', () => {
  const certificate = (name: string) => join(folder, `${name}.pem`);
  let secure: TestService;
  beforeAll(async () => {
    for (const name of ['right', 'wrong']) createAuthority(folder, name);
    createCertificate(folder, 'right');
    secure = await startTestService({
      TSIGIL_TLS_CERT: certificate('server'),
      TSIGIL_TLS_KEY: join(folder, 'server.key'),
    });
  });

  test('--cacert, OS_CACERT and clouds.yaml set the trusted certificates', async () => {
    const variables = secure.variables;
    expect(secure.url).toMatch(/^https:/);
    expect(await list(variables, '--cacert', certificate('right'))).toEqual(REACHED);
    const cloud = { OS_ENDPOINT: secure.url, OS_TOKEN: secure.token };
    expect(await list({ ...cloud, OS_CACERT: certificate('right') })).toEqual(REACHED);
    const clouds = {
      here: { auth_type: 'admin_token', auth: { endpoint: secure.url, token: secure.token } },
    };
    expect(
      await list({
        ...userClouds({ here: { ...clouds.here, cacert: certificate('right') } }),
        OS_CLOUD: 'here',
      }),
    ).toEqual(REACHED);
    expect(
      await list({ ...userClouds({ here: { ...clouds.here, verify: false } }), OS_CLOUD: 'here' }),
    ).toEqual(REACHED);
  });

  test('refuses an untrusted certificate with a remedy: exit code 3', async () => {
    for (const flags of [[], ['--cacert', certificate('wrong')]]) {
      const { status, err } = await list(secure.variables, ...flags);
      expect(status).toBe(3);
      expect(err).toMatch(
        /cannot be reached: no trusted authority signed the server's certificate\nUse --cacert with the CA certificate that signed the certificate of the server\.\n$/,
      );
    }
    expect((await list(secure.variables, '--cacert', '/nonexistent')).status).toBe(2);
  });
});
