import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { get } from 'node:https';
import { beforeEach, describe, expect, test } from 'vitest';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { recordSecret } from '../harness/evidence.ts';
import {
  startServiceProcess,
  temporaryFolder,
  runTsigil,
  serveInVain,
} from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

/** No settings except the address. By default, the harness also sets an administrator token. */
const NO_CONFIGURATION = { TSIGIL_ADMIN_TOKEN: '' };

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const start = (variables: Record<string, string> = NO_CONFIGURATION, where = folder) =>
  startServiceProcess(where, variables);

function readToken(file: string): string {
  const token = readFileSync(file, 'utf8').trim();
  recordSecret(token);
  return token;
}

test.each([
  [
    'a named pipe as the configuration',
    { TSIGIL_CONFIG: 'pipe' },
    'the path is a pipe or a device',
  ],
  ['a named pipe as the token', { TSIGIL_ADMIN_TOKEN_FILE: './pipe' }, 'must name a file'],
  [
    'a named pipe as the certificate',
    { TSIGIL_TLS_CERT: 'pipe', TSIGIL_TLS_KEY: 'pipe' },
    'the path is a pipe or a device',
  ],
])('%s ends the start at once, with a reason', (_case, variables, reason) => {
  spawnSync('mkfifo', [join(folder, 'pipe')]);
  const { status, stderr } = serveInVain(folder, variables);
  expect([status === 1 || status === 2, stderr]).toEqual([true, expect.stringContaining(reason)]);
});

describe('the first administrator token', () => {
  test('is in a file with mode 0600, and not in the output', async () => {
    const service = await start();
    await expect.poll(() => service.output()).toContain(`Web console: ${service.url}/console/\n`);
    const file = join(folder, 'var/admin.token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(/^tsigil_[\w-]{43}\n$/);
    expect(service.output()).not.toContain(readToken(file));
    expect(service.output()).toContain(`Token: ${file}. Master key: `);
    expect(await service.stop('SIGTERM')).toBe(0);
    expect(
      readdirSync(join(folder, 'var')).filter((name) => name.startsWith('admin.token')),
    ).toEqual(['admin.token']);
  });

  test('is found by the printed command, even in a folder with blanks and quotes in its name', async () => {
    for (const name of ['plain', `it's $HOME "here"`]) {
      const home = join(folder, name);
      mkdirSync(home);
      const service = await start(NO_CONFIGURATION, home);
      readToken(join(home, 'var/admin.token'));
      const printed = /^Create a key: tsigil (.*)$/m;
      await expect.poll(() => service.output()).toMatch(printed);
      const [, words = ''] = printed.exec(service.output()) ?? [];
      const { status, stderr } = runTsigil(
        home,
        { TSIGIL_LISTEN: new URL(service.url).host },
        ...words.split(' '),
      );
      expect([words, status, stderr]).toEqual([
        'tsigkey create transfer-key',
        0,
        expect.any(String),
      ]);
    }
  });

  test('is created once, and is valid after a restart', async () => {
    await (await start()).stop('SIGTERM');
    const token = readToken(join(folder, 'var/admin.token'));
    const again = await start();
    expect(again.output()).not.toContain('Token: ');
    expect(readToken(join(folder, 'var/admin.token'))).toBe(token);
    expect((await again.with(token).get('/v2/tlds')).status).toBe(200);
  });

  test('is created again at the next start if the last token was revoked with TSIGIL_ADMIN_TOKEN', async () => {
    const first = await start();
    const token = readToken(join(folder, 'var/admin.token'));
    const [listed] = (await first.with(token).get('/v2/tokens')).body.tokens as { id: string }[];
    expect((await first.with(token).delete(`/v2/tokens/${listed?.id}`)).status).toBe(409);
    await first.stop('SIGTERM');
    const configured = await start({ TSIGIL_ADMIN_TOKEN: 'a-token-for-the-test-of-revocation' });
    expect((await configured.with(token).delete(`/v2/tokens/${listed?.id}`)).status).toBe(204);
    expect((await configured.with(token).get('/v2/tlds')).status).toBe(401);
    await configured.stop('SIGTERM');

    const second = await start();
    const another = readToken(join(folder, 'var/admin.token'));
    expect(another).not.toBe(token);
    expect((await second.with(another).get('/v2/tlds')).status).toBe(200);
    expect((await second.with(token).get('/v2/tlds')).status).toBe(401);
  });

  test('is not created if TSIGIL_ADMIN_TOKEN is set; that token is valid only while the variable is set', async () => {
    const token = 'a-token-for-the-test-of-containers';
    const service = await start({ TSIGIL_ADMIN_TOKEN: token });
    expect(existsSync(join(folder, 'var/admin.token'))).toBe(false);
    expect((await service.get('/v2/tokens')).body.tokens).toEqual([]);
    await service.stop('SIGTERM');
    const without = await start();
    readToken(join(folder, 'var/admin.token'));
    expect((await without.with(token).get('/v2/tlds')).status).toBe(401);
  });
});

describe('TLS', () => {
  const warning = /"level":"warn".*at a non-loopback address without TLS/;

  test.skipIf(!hasProgram('openssl', 'openssl'))(
    'with tls.cert and tls.key, the service uses HTTPS and logs no warning on an address that is not loopback',
    async () => {
      const authority = createAuthority(folder, 'authority');
      createCertificate(folder, 'authority');
      const service = await start({
        TSIGIL_TLS_CERT: 'server.pem',
        TSIGIL_TLS_KEY: 'server.key',
        TSIGIL_LISTEN: '0.0.0.0:0',
      });
      expect(service.url).toMatch(/^https:/);
      const { port } = new URL(service.url);
      const response = await new Promise<string>((resolve, reject) => {
        const options = {
          ca: readFileSync(authority),
          headers: { 'x-auth-token': service.token },
        };
        get(`https://127.0.0.1:${port}/v2/tlds`, options, (response) => {
          response.setEncoding('utf8').once('data', (text: string) => resolve(text));
        }).on('error', reject);
      });
      expect(JSON.parse(response)).toEqual({
        tlds: [],
        links: { self: `https://127.0.0.1:${port}/v2/tlds` },
      });
      await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
      expect(service.output()).not.toMatch(warning);
      expect(await service.stop('SIGTERM')).toBe(0);
    },
  );

  test('without TLS, the service logs a warning if its address is not loopback', async () => {
    const open = await start({ TSIGIL_LISTEN: '0.0.0.0:0' });
    await open.stop('SIGTERM');
    expect(open.output()).toMatch(warning);
    const local = await start({ TSIGIL_LISTEN: '127.0.0.1:0' });
    await local.stop('SIGTERM');
    expect(local.output()).not.toMatch(warning);
  });
});
