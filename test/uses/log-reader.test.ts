import {
  appendFileSync,
  copyFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { BRANDS } from '../../src/brands/brands.ts';
import { testPorts } from '../../src/dns/test-ports.ts';
import type { Evidence } from '../../src/resources/name-server-status.ts';
import type { LogReader } from '../../src/delivery/log-protocol.ts';
import { createLogReader } from '../../src/uses/log-reader.ts';
import { SECRET } from '../harness/samples.ts';
import { temporaryFolder } from '../harness/service.ts';

const START = Date.parse('2030-01-31T12:00:30Z');

/** A line of a client. The addresses are those of a multicast group, so that no machine has one. */
const line = (address: string, key = 'k', port = 53) =>
  `client @0x7f ${address}#${port}/key ${key} (a.test): query: a.test IN SOA -S (233.252.0.1)\n`;

const KEY = { id: '5f1b0b0e-8b3c-4c7e-9d55-0a4b7f6f3c21', secret: SECRET };

/** A log file, and a reader that the test stops. */
function logFile(content = '') {
  const folder = temporaryFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'server.log');
  writeFileSync(path, content);
  const readFrom = (position: string | null = null, evidence: Evidence | null = null) => {
    const reader = createLogReader(path, BRANDS.bind.log, () => START);
    onTestFinished(() => reader.close());
    reader.follow(new Map([['k', KEY]]), evidence, position);
    return reader;
  };
  return { path, readFrom };
}

/** Waits until the reader has read the end of the file, at which a line of `address` was written. */
async function clients(reader: LogReader, path: string, end: string): Promise<readonly string[]> {
  appendFileSync(path, line(end));
  const addresses = () => reader.take().uses.map(({ address }) => address);
  await vi.waitFor(() => expect(addresses()).toContain(end), { timeout: 120_000 });
  return addresses();
}

/** Waits until the reader has opened the file. */
async function opened(reader: LogReader): Promise<void> {
  await vi.waitFor(() => expect(reader.take().log_position).not.toBeNull(), { timeout: 120_000 });
}

test('reads from the end at the first start, and counts each client to the minute', async () => {
  const { path, readFrom } = logFile(line('233.252.0.1'));
  const reader = readFrom();
  await opened(reader);
  appendFileSync(path, line('233.252.0.2') + 'nothing about keys\n' + line('233.252.0.2'));
  expect(await clients(reader, path, '233.252.0.9')).toEqual(['233.252.0.2', '233.252.0.9']);
  expect(reader.take()).toMatchObject({
    uses: [
      {
        key: 'k',
        operation: 'query',
        outcome: 'accepted',
        address: '233.252.0.2',
        count: 2,
        first_at: '2030-01-31T12:00:00.000000',
        last_at: '2030-01-31T12:00:00.000000',
      },
      {},
    ],
    evidence: { problem: null, shown: [{ operation: 'query' }] },
  });
});

test('returns uses until they are acknowledged, and only those of known keys', async () => {
  const { path, readFrom } = logFile();
  const reader = readFrom();
  await opened(reader);
  appendFileSync(path, line('233.252.0.2', 'other'));
  expect(await clients(reader, path, '233.252.0.9')).toEqual(['233.252.0.9']);
  expect(reader.take().uses).toHaveLength(1);
  reader.acknowledge();
  expect(reader.take().uses).toEqual([]);
});

test('leaves out what commands test within the minute, but nothing of who lacks the id of the key', async () => {
  const { path, readFrom } = logFile();
  const reader = readFrom();
  await opened(reader);
  const minute = 60_000;
  const lines = (address: string, key: typeof KEY, at: number) =>
    testPorts(key, at)
      .map((port) => line(address, 'k', port))
      .join('');
  const tests = [-minute, 0, minute].map((early) => lines('233.252.0.2', KEY, START + early));
  const other = { ...KEY, id: '0c9d1d52-64f0-4d18-8f2e-2f6f5b0a7a11' };
  appendFileSync(path, tests.join('') + lines('233.252.0.3', other, START));
  appendFileSync(path, lines('233.252.0.4', KEY, START - 2 * minute));
  expect(await clients(reader, path, '233.252.0.9')).toEqual([
    '233.252.0.3',
    '233.252.0.4',
    '233.252.0.9',
  ]);
});

test('loses no line when the log is renamed and created anew', async () => {
  const { path, readFrom } = logFile();
  const reader = readFrom();
  await opened(reader);
  renameSync(path, `${path}.1`);
  appendFileSync(`${path}.1`, line('233.252.0.2'));
  writeFileSync(path, line('233.252.0.3'));
  expect(await clients(reader, path, '233.252.0.9')).toEqual([
    '233.252.0.2',
    '233.252.0.3',
    '233.252.0.9',
  ]);
});

test('begins again when the log is copied and truncated', async () => {
  const { path, readFrom } = logFile('x'.repeat(5000) + '\n');
  const reader = readFrom();
  await opened(reader);
  await clients(reader, path, '233.252.0.2');
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
  appendFileSync(path, line('233.252.0.3'));
  expect(await clients(reader, path, '233.252.0.9')).toEqual([
    '233.252.0.2',
    '233.252.0.3',
    '233.252.0.9',
  ]);
});

test('reads on after a restart where it stopped, and forgets what another file has shown', async () => {
  const { path, readFrom } = logFile();
  const first = readFrom();
  await opened(first);
  await clients(first, path, '233.252.0.2');
  const { evidence, log_position: position } = first.take();
  await first.close();
  appendFileSync(path, line('233.252.0.3') + line('127.0.0.1'));
  // A line of this host may be a probe of the process that ended.
  const second = readFrom(position, evidence);
  await opened(second);
  expect(await clients(second, path, '233.252.0.9')).toEqual(['233.252.0.3', '233.252.0.9']);
  await second.close();
  rmSync(path);
  writeFileSync(path, line('233.252.0.4'));
  const third = readFrom(`other:${position}`, evidence);
  await vi.waitFor(() => expect(third.take().evidence).toEqual({ problem: null, shown: [] }), {
    timeout: 120_000,
  });
});

test('joins the parts of a line, and reads more than 64 KB', async () => {
  const { path, readFrom } = logFile();
  const reader = readFrom();
  await opened(reader);
  const many = Array.from({ length: 3000 }, () => line('233.252.0.2')).join('');
  appendFileSync(path, many + 'y'.repeat(200_000) + line('233.252.0.3').trimEnd());
  appendFileSync(path, '\n' + line('233.252.0.4').slice(0, 20));
  appendFileSync(path, line('233.252.0.4').slice(20));
  expect(await clients(reader, path, '233.252.0.9')).toEqual([
    '233.252.0.2',
    '233.252.0.4',
    '233.252.0.9',
  ]);
  expect(reader.take().uses[0]?.count).toBe(3000);
});

test('refused requests, which anyone can send, leave room for the uses of keys', async () => {
  const { path, readFrom } = logFile();
  const reader = readFrom();
  await opened(reader);
  const refused = Array.from(
    { length: 2000 },
    (_, index) =>
      `client @0x7f 2001:db8::${index}#53: request has invalid signature: TSIG k: tsig verify failure (BADKEY)\n`,
  );
  appendFileSync(path, refused.join(''));
  expect(await clients(reader, path, '233.252.0.9')).toHaveLength(1000);
});

test('reports a log that cannot be read, and reads it once it can', async () => {
  const { path, readFrom } = logFile();
  rmSync(path);
  const reader = readFrom();
  await vi.waitFor(
    () => expect(reader.take().evidence?.problem).toMatch(/server\.log' cannot be read: /),
    { timeout: 120_000 },
  );
  writeFileSync(path, '');
  await opened(reader);
  expect(await clients(reader, path, '233.252.0.9')).toEqual(['233.252.0.9']);
  expect(reader.take().evidence?.problem).toBeNull();
});
