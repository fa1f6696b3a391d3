import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { startServiceProcess, startTestService, temporaryFolder } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { parseResponse, sendBytes } from '../harness/wire.ts';

const HSTS = { TSIGIL_TLS_HSTS_MAX_AGE_SECONDS: '31536000' };

/** Starts a service with TLS. Returns a function that sends text and returns the response. */
async function startSecurely(variables: Record<string, string>) {
  const folder = temporaryFolder();
  createAuthority(folder, 'authority');
  const { key, cert } = createCertificate(folder, 'authority');
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
  const files = { TSIGIL_TLS_CERT: 'cert.pem', TSIGIL_TLS_KEY: 'key.pem' };
  const { url } = await startServiceProcess(folder, { ...files, ...variables });
  return async (text: string) => {
    const socket = connect({ port: Number(new URL(url).port), rejectUnauthorized: false });
    let received = '';
    socket.setEncoding('utf8').on('data', (part: string) => (received += part));
    socket.write(text);
    await once(socket, 'end');
    return parseResponse(received);
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`;

describe.runIf(hasProgram('openssl', 'openssl'))('over TLS', () => {
  test('every response has Strict-Transport-Security if tls.hstsMaxAgeSeconds is set', async () => {
    const send = await startSecurely(HSTS);
    for (const [request, status] of [
      [get('/'), 200],
      [get('/v2/tlds'), 401],
      [get('/%zz'), 400],
      ['NONSENSE\r\n\r\n', 400],
    ] as const) {
      const response = await send(request);
      expect([response.status, response.headers.get('strict-transport-security')]).toEqual([
        status,
        'max-age=31536000',
      ]);
    }
  });

  test('no response has Strict-Transport-Security by default', async () => {
    const { headers } = await (await startSecurely({}))(get('/'));
    expect(headers.has('strict-transport-security')).toBe(false);
  });
});

test('no response without TLS has Strict-Transport-Security', async () => {
  const plain = await startTestService(HSTS);
  expect((await plain.get('/')).headers.has('strict-transport-security')).toBe(false);
  expect(await sendBytes(plain.url, 'NONSENSE\r\n\r\n')).not.toMatch(/strict-transport/i);
});
