import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { discardInput } from '../../src/http/connection/closing.ts';

test('discardInput reads from at most two connections in each turn of the event loop', async () => {
  const accepted: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => accepted.push(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: 10 }, () => connect(port, '127.0.0.1'));
  for (const client of clients) client.write(Buffer.alloc(1_000_000));
  await expect.poll(() => accepted.length).toBe(10);
  let reads = 0;
  let bytes = 0;
  for (const socket of accepted) {
    discardInput(socket);
    socket.on('data', (data: Buffer) => {
      reads += 1;
      bytes += data.length;
    });
  }
  const perTurn: number[] = [];
  while (bytes < 10_000_000) {
    const before = reads;
    await turn();
    perTurn.push(reads - before);
  }
  // the first turn may read from every connection
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(clients.length);
  expect(Math.max(...perTurn.slice(2))).toBeLessThanOrEqual(2);
  for (const client of clients) client.destroy();
  await once(server.close(), 'close');
});
