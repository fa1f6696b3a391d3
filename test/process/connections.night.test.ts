import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openConnections, readMetric, type Behaviour } from '../harness/connections.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

let folder: string;
let service: ServiceProcess;
let sockets: Socket[];
beforeEach(() => {
  folder = temporaryFolder();
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await service.stop('SIGKILL');
});

async function open(count: number, behaviour?: Behaviour): Promise<Socket[]> {
  const opened = await openConnections(service.url, count, behaviour);
  sockets.push(...opened);
  return opened;
}

const countOpen = () => readMetric(service.url, 'tsigil_connections_open');
const cutOff = (reason: string) =>
  readMetric(service.url, `tsigil_connections_cut_off_total{reason="${reason}"}`);
const refused = (limit: string) =>
  readMetric(service.url, `tsigil_connections_refused_total{limit="${limit}"}`);
const countEnded = () =>
  sockets.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length;

describe('limits on connections', () => {
  test('the service closes connections above api.maxConnectionsPerAddress at once, but not those of other addresses', async () => {
    service = await startServiceProcess(folder, { TSIGIL_API_MAX_CONNECTIONS_PER_ADDRESS: '5' });
    expect(service.output()).not.toContain('LimitNOFILE');
    await open(8);
    await expect.poll(countEnded).toBe(3);
    await open(5, { address: '127.0.0.3' });
    expect([await refused('address'), await refused('total'), await countOpen()]).toEqual([
      3, 0, 11,
    ]);
  });

  test('a trusted proxy can open all of api.maxConnections', async () => {
    service = await startServiceProcess(folder, {
      TSIGIL_API_MAX_CONNECTIONS: '10',
      TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
    });
    await open(9);
    expect([await countOpen(), await refused('address')]).toEqual([10, 0]);
  });
});

describe('a refused request', () => {
  test('ends with a closed connection even if the client neither reads nor closes it', async () => {
    service = await startServiceProcess(folder);
    await open(20, { text: 'NONSENSE\r\n\r\n', reads: false });
    await expect.poll(countOpen, { interval: 100 }).toBe(1);
  });

  test('the service continues after CONNECT requests and connection resets', async () => {
    service = await startServiceProcess(folder);
    const text = 'CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n';
    for (const socket of await open(20, { text, reads: false })) {
      await once(socket, 'readable');
      socket.resetAndDestroy();
    }
    await open(20, { text, reads: false });
    await expect.poll(countOpen, { interval: 100 }).toBe(1);
  });
});

describe('unread responses', () => {
  /** Returns requests whose responses exceed the socket buffers of a connection. */
  async function largeRequests(): Promise<string> {
    const tlds = Array.from({ length: 1000 }, (_, index) => ({
      name: `filler${index}`,
      description: 'x'.repeat(150),
    }));
    expect((await service.post('/v2/tlds/bulk', { tlds })).body.counts).toMatchObject({
      added: 1000,
    });
    return `GET /v2/tlds HTTP/1.1\r\nHost: h\r\nX-Auth-Token: ${service.token}\r\n\r\n`.repeat(60);
  }

  test('end with a closed connection after api.responseTimeoutSeconds', async () => {
    service = await startServiceProcess(folder, { TSIGIL_API_RESPONSE_TIMEOUT_SECONDS: '1' });
    await open(3, { text: await largeRequests(), reads: false });
    await expect.poll(() => cutOff('unread_answer'), { interval: 100 }).toBe(3);
    expect(await countOpen()).toBeLessThanOrEqual(2); // includes a connection of the harness
  });

  test('do not end with a closed connection while the client reads slowly', async () => {
    service = await startServiceProcess(folder, { TSIGIL_API_RESPONSE_TIMEOUT_SECONDS: '3' });
    const text = await largeRequests();
    const [reading] = await open(1, { text, reads: false });
    await open(1, { text, reads: false });
    let received = 0;
    while ((await cutOff('unread_answer')) === 0) {
      const part = (reading?.read(64 * 1024) ?? reading?.read()) as Buffer | null;
      received += part?.length ?? 0;
      await pause(50);
    }
    expect(received).toBeGreaterThan(0);
    expect(await cutOff('unread_answer')).toBe(1); // the connection that reads nothing
    expect(reading?.readableEnded).toBe(false);
  });
});
