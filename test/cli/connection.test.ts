import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { findConnection } from '../../src/cli/service/connection.ts';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { runInside } from './session.ts';

const folder = temporaryFolder();

/** Lists the pools. The output contains the default pool if the command reached a service. */
const list = (variables: Record<string, string>, ...argv: string[]) =>
  runInside({ variables }, 'pool', 'list', '-f', 'value', '-c', 'name', ...argv);
const REACHED = { status: 0, out: 'default\n', err: '' };

test('the variables of OpenStack clients select no service and no token', async () => {
  const service = await startTestService();
  const cloud = { OS_CLOUD: 'c', OS_AUTH_URL: 'http://127.0.0.1:1', OS_PASSWORD: 'p' };
  const others = { OS_AUTH_TYPE: 'admin_token', OS_ENDPOINT: 'http://127.0.0.1:1', OS_TOKEN: 't' };
  expect(await list({ ...cloud, ...others, ...service.variables })).toEqual(REACHED);
  const { status, err } = await list({ ...cloud, ...others, TSIGIL_URL: 'http://192.0.2.1' });
  expect([status, err]).toEqual([
    2,
    expect.stringContaining("No token for 'http://192.0.2.1'") as string,
  ]);
});

test('exits with 2 for a token file and a profile, because each provides a token', async () => {
  const { status, err } = await list({}, '--token-file', 'a', '--profile', 'b');
  expect([status, err]).toEqual([
    2,
    'tsigil: Cannot use --token-file and --profile together: each provides a token. Use one of them.\n',
  ]);
});

test('a URL can end in a slash, or in /v2 as for OpenStack clients', async () => {
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

  test('--cacert and the variables of the system set the trusted certificates', async () => {
    const variables = secure.variables;
    expect(secure.url).toMatch(/^https:/);
    expect(await list(variables, '--cacert', certificate('right'))).toEqual(REACHED);
    const wrong = { ...variables, TSIGIL_CACERT: certificate('wrong') };
    for (const variable of ['TSIGIL_CACERT', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'])
      expect(await list({ ...variables, [variable]: certificate('right') })).toEqual(REACHED);
    expect(await list(wrong, '--cacert', certificate('right'))).toEqual(REACHED);
    expect((await list(wrong)).status).toBe(3);
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
