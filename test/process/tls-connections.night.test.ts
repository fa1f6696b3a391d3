import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { getOnce, openConnections, readMetric, type Behaviour } from '../harness/connections.ts';
import {
  startServiceProcess,
  startTestService,
  temporaryFolder,
  type ServiceProcess,
} from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { parseResponses, sendBytes } from '../harness/wire.ts';

let folder: string;
let service: ServiceProcess | undefined;
let sockets: Socket[];
beforeEach(() => {
  folder = temporaryFolder();
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await service?.stop('SIGKILL');
});

/** Starts a service with TLS, and returns its URL. */
async function startSecurely(
  variables: Record<string, string> = {},
  limits?: string,
): Promise<string> {
  createAuthority(folder, 'authority');
  const { key, cert } = createCertificate(folder, 'authority');
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
  service = await startServiceProcess(
    folder,
    { TSIGIL_TLS_CERT: 'cert.pem', TSIGIL_TLS_KEY: 'key.pem', ...variables },
    limits,
  );
  return service.url;
}

async function open(url: string, count: number, behaviour?: Behaviour): Promise<Socket[]> {
  const opened = await openConnections(url, count, behaviour);
  sockets.push(...opened);
  return opened;
}

/** Opens a TLS connection and completes its handshake. The client never closes it. */
async function openSecurely(url: string): Promise<TLSSocket> {
  const [transport] = await open(url, 1, { reads: false });
  const socket = connect({
    ...(transport === undefined ? {} : { socket: transport }),
    rejectUnauthorized: false,
  });
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'secureConnect');
  return socket;
}

/** Sends `text` on a TLS connection and returns everything that the service sends. */
async function exchange(url: string, text: string): Promise<string> {
  const socket = await openSecurely(url);
  let received = '';
  socket.setEncoding('utf8').on('data', (part: string) => (received += part));
  socket.write(text);
  await once(socket, 'end');
  return received;
}

const countOpen = (url: string) => readMetric(url, 'tsigil_connections_open');
const cutOff = (url: string, reason: string) =>
  readMetric(url, `tsigil_connections_cut_off_total{reason="${reason}"}`);

describe.runIf(hasProgram('openssl', 'openssl'))('over TLS', () => {
  test('the service closes connections with slow handshakes after 10 s, and responds to other requests until then', async () => {
    const url = await startSecurely({}, '-n 64');
    const drips = await open(url, 4, { text: '\x16' });
    const dripping = setInterval(() => {
      for (const [index, socket] of drips.entries())
        if (!socket.destroyed) socket.write('\x03\x01\x02'.slice(index % 3, (index % 3) + 1));
    }, 200);
    await open(url, 4);
    await open(url, 30, { text: 'x', address: '127.0.0.3' });
    expect((await getOnce(`${url}/healthcheck`)).text).toBe('OK');
    await expect
      .poll(() => cutOff(url, 'tls_handshake'), { interval: 100 })
      .toBeGreaterThanOrEqual(4);
    clearInterval(dripping);
    await expect.poll(() => countOpen(url), { interval: 100 }).toBe(1);
    expect(sockets.every(({ destroyed, readableEnded }) => destroyed || readableEnded)).toBe(true);
  });

  test('every response has Strict-Transport-Security if tls.hstsMaxAgeSeconds is set', async () => {
    const url = await startSecurely({ TSIGIL_TLS_HSTS_MAX_AGE_SECONDS: '31536000' });
    const close = 'Host: h\r\nConnection: close\r\n\r\n';
    const requests = [
      `GET / HTTP/1.1\r\n${close}`,
      `GET /v2/tlds HTTP/1.1\r\n${close}`,
      `GET /%zz HTTP/1.1\r\n${close}`,
      'NONSENSE\r\n\r\n',
    ];
    for (const [index, status] of [200, 401, 400, 400].entries()) {
      const [response] = parseResponses(await exchange(url, requests[index] ?? ''));
      expect([response?.status, response?.headers.get('strict-transport-security')]).toEqual([
        status,
        'max-age=31536000',
      ]);
    }
  });

  test('no response has Strict-Transport-Security by default', async () => {
    const url = await startSecurely();
    expect((await getOnce(`${url}/`)).headers).not.toHaveProperty('strict-transport-security');
  });
});

test('no response without TLS has Strict-Transport-Security', async () => {
  const plain = await startTestService({ TSIGIL_TLS_HSTS_MAX_AGE_SECONDS: '31536000' });
  expect((await plain.get('/')).headers.has('strict-transport-security')).toBe(false);
  expect(await sendBytes(plain.url, 'NONSENSE\r\n\r\n')).not.toMatch(/strict-transport/i);
});
