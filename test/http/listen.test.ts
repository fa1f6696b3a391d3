import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { accepts } from '../harness/connections.ts';
import { hasProgram } from '../harness/tools.ts';
import { listen, listenAddresses } from '../../src/http/connection/listen.ts';

test('resolves localhost to its addresses, and does not resolve any other host', async () => {
  expect(await listenAddresses('localhost')).toContain('127.0.0.1');
  expect(await listenAddresses('0.0.0.0')).toEqual(['0.0.0.0']);
  expect(await listenAddresses('dns.example')).toEqual(['dns.example']);
});

test('listens with one app on all available addresses, skips missing addresses, and stops on all addresses', async () => {
  const app = Fastify();
  app.get('/', async (request) => request.socket.localAddress);
  const url = await listen(app, ['127.0.0.1', '192.0.2.1', '127.0.0.3'], 0);
  const port = Number(new URL(url).port);
  expect(url).toBe(`http://127.0.0.1:${port}`);
  for (const host of ['127.0.0.1', '127.0.0.3'])
    expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe(host);
  await app.close();
  for (const host of ['127.0.0.1', '127.0.0.3']) expect(await accepts({ host, port })).toBe(false);
});

test.runIf(hasProgram('ss', 'iproute2'))(
  'sets a backlog of 4096 connections, or the lower limit of the system',
  async () => {
    const app = Fastify();
    const port = new URL(await listen(app, ['127.0.0.1', '127.0.0.3'], 0)).port;
    const { stdout } = spawnSync('ss', ['-Hltn', `sport = :${port}`], { encoding: 'utf8' });
    const allowed = Math.min(4096, Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')));
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => Number(line.split(/ +/)[2]))).toEqual([allowed, allowed]);
    await app.close();
  },
);

test('fails if the address is in use', async () => {
  const first = Fastify();
  const url = await listen(first, ['127.0.0.1'], 0);
  const second = Fastify();
  await expect(listen(second, ['127.0.0.1'], Number(new URL(url).port))).rejects.toThrow(
    /address already in use/,
  );
  await second.close();
  await first.close();
});
