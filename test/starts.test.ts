import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { freePort, serve } from './harness/connections.ts';
import { endWithTests } from './harness/leftovers.ts';
import { startAgainIfFailed, whenReady } from './harness/starts.ts';

const NAME = 'A program that the test of the harness starts';
const LISTEN = `
  const server = require('node:net').createServer().listen(process.argv[1], '127.0.0.1');
  server.on('listening', () => console.log('ready'));
`;

/** Starts a program that listens on the first of `ports`, and again on the next one if it fails. */
async function startOn(ports: number[]): Promise<number> {
  return startAgainIfFailed(NAME, async () => {
    const port = ports.shift() ?? 0;
    const child = endWithTests(spawn(process.execPath, ['-e', LISTEN, String(port)]));
    let output = '';
    child.stderr.on('data', (text: Buffer) => (output += text.toString()));
    await whenReady({ name: NAME, child, output: () => output }, once(child.stdout, 'data'));
    return port;
  });
}

test('a program whose port is taken starts on the next port', async () => {
  const taken = Number(new URL(await serve(() => undefined)).port);
  const free = await freePort();
  expect(await startOn([taken, free])).toBe(free);
});

test('a program that fails three times fails with its output', async () => {
  const taken = Number(new URL(await serve(() => undefined)).port);
  const ports = [taken, taken, taken, await freePort()];
  await expect(startOn(ports)).rejects.toThrow('EADDRINUSE');
  expect(ports).toHaveLength(1);
});

test('each server gets a port of its own', async () => {
  const ports = [];
  while (ports.length < 50) ports.push(await freePort());
  expect(new Set(ports).size).toBe(50);
});
