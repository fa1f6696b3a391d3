import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

let folder: string;
let service: ServiceProcess;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  await service.stop('SIGKILL');
});

const BODY = JSON.stringify({ name: 'com', description: 'sent while the service was stopping' });

/**
 * Sends a request with only part of its body, after the service has responded with 100. The service
 * waits for the rest of the body.
 */
async function beginCreation(agent?: Agent): Promise<ClientRequest> {
  const headers = {
    'x-auth-token': service.token,
    'content-type': 'application/json',
    'content-length': BODY.length,
    expect: '100-continue',
  };
  const upload = request(`${service.url}/v2/tlds`, {
    method: 'POST',
    headers,
    ...(agent === undefined ? {} : { agent }),
  });
  upload.flushHeaders();
  await once(upload, 'continue');
  upload.write(BODY.slice(0, 10));
  return upload;
}

async function finish(
  upload: ClientRequest,
): Promise<{ status: number | undefined; body: string }> {
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.end(BODY.slice(10));
  const [response] = await answered;
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += String(chunk);
  return { status: response.statusCode, body };
}

async function untilPrinted(message: string): Promise<void> {
  while (!service.output().includes(`"msg":"${message}"`))
    await once(service.process.stdout ?? service.process, 'data');
}

/**
 * Waits until the service refuses connections. The service logs that it stops before it refuses
 * connections.
 */
async function untilRefused(url: string): Promise<void> {
  while (!(await isRefused(url)));
}

async function isRefused(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}

const exitOf = async () =>
  ((await once(service.process, 'close')) as [number | null, string | null])[0];

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  test('lets the service complete the request in progress, refuse new connections, store everything and exit with 0', async () => {
    service = await startServiceProcess(folder, { TSIGIL_STOP_GRACE_SECONDS: '60' });
    // A connection that the client keeps open for further requests must not delay the stop.
    const agent = new Agent({ keepAlive: true });
    const upload = await beginCreation(agent);
    const exited = exitOf();
    service.process.kill(signal);
    await untilPrinted('stopping');
    await untilRefused(service.url);
    expect(await finish(upload)).toMatchObject({
      status: 201,
      body: expect.stringContaining('sent while the service was stopping') as string,
    });
    expect(await exited).toBe(0);
    agent.destroy();
    expect(service.output()).toMatch(/"msg":"stopped"}\n$/);

    const log = join(folder, 'var/tsigil.db-wal');
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
    service = await startServiceProcess(folder);
    expect((await service.get('/v2/tlds')).body.tlds).toMatchObject([{ name: 'com' }]);
  });

  test('ends an idle service at once', async () => {
    service = await startServiceProcess(folder, { TSIGIL_STOP_GRACE_SECONDS: '60' });
    await service.get('/v2/tlds'); // the connection is idle after this request
    expect(await service.stop(signal)).toBe(0);
  });
});

describe('a request that does not finish', () => {
  test.each(['0', '1'])(
    'ends without a response after stopGraceSeconds: %s; the service exits with 0',
    async (seconds) => {
      service = await startServiceProcess(folder, { TSIGIL_STOP_GRACE_SECONDS: seconds });
      const upload = await beginCreation();
      const cut = once(upload, 'error');
      expect(await service.stop('SIGTERM')).toBe(0);
      await cut;
      service = await startServiceProcess(folder);
      expect((await service.get('/v2/tlds')).body.tlds).toEqual([]);
    },
  );

  test.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGINT', 'SIGTERM'],
  ] as const)(
    'does not delay the end after %s and %s; the service exits with 1',
    async (first, second) => {
      service = await startServiceProcess(folder, { TSIGIL_STOP_GRACE_SECONDS: '3600' });
      const upload = await beginCreation();
      const cut = once(upload, 'error');
      service.process.kill(first);
      await untilPrinted('stopping');
      await untilRefused(service.url);
      expect(await service.stop(second)).toBe(1);
      await cut;
    },
  );
});
