import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import {
  startServiceProcess,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';

let folder: string;
let data: string;
let database: string;
let service: TestService | undefined;

beforeEach(() => {
  folder = temporaryFolder();
  data = join(folder, 'data');
  mkdirSync(data);
  database = join(data, 'tsigil.db');
});
afterEach(async () => {
  await service?.close();
  service = undefined;
});

async function start(path = database): Promise<TestService> {
  service = await startTestService({ TSIGIL_DATABASE_URL: `sqlite:${path}` }, { folder });
  expect((await service.post('/v2/tlds', { name: 'com' })).status).toBe(201);
  return service;
}

/** Returns the log lines that report the fault. Omits the lines of requests. */
function faultLines({
  log,
}: TestService): { level: string; msg: string; err: { message: string } }[] {
  return log
    .map(
      (line) =>
        JSON.parse(line) as {
          level: string;
          msg: string;
          requestId?: string;
          err: { message: string };
        },
    )
    .filter(
      ({ msg, requestId }) => msg.includes('was removed or replaced') && requestId === undefined,
    );
}

async function names(client: Client): Promise<string[]> {
  return ((await client.get('/v2/tlds')).body.tlds as { name: string }[]).map(({ name }) => name);
}

describe('a database file that is removed or replaced while the service runs', () => {
  test.each([
    ['the database file is removed', 'tsigil.db', () => rmSync(database)],
    [
      'the database file is replaced',
      'tsigil.db',
      () => {
        copyFileSync(database, join(data, 'other.db'));
        renameSync(join(data, 'other.db'), database);
      },
    ],
    ['the WAL is removed', 'tsigil.db-wal', () => rmSync(`${database}-wal`)],
    ['the index of the WAL is removed', 'tsigil.db-shm', () => rmSync(`${database}-shm`)],
  ])(
    '503 for changes and from /readyz after %s; reads succeed and one log line reports the fault',
    async (_what, file, lose) => {
      const client = await start();
      lose();
      const message = `The database file '${file}' was removed or replaced. The service refuses changes, because they would be lost`;
      for (const name of ['net', 'org']) {
        const response = await client.post('/v2/tlds', { name });
        expect(response.status).toBe(503);
        expect(response.headers.get('retry-after')).toBe('5');
        expect(response.body).toMatchObject({ type: 'service_unavailable', message });
      }
      const ready = await client.get('/readyz');
      expect([ready.status, ready.body.message]).toEqual([503, message]);
      expect((await client.get('/metrics')).text).toMatch(/^tsigil_database_up 0$/m);
      expect((await client.get('/healthcheck')).status).toBe(200);
      expect(await names(client)).toEqual(['com']);
      expect(faultLines(client)).toMatchObject([
        {
          level: 'error',
          msg: message,
          err: { message: expect.stringContaining(join(data, file)) as string },
        },
      ]);
    },
  );

  test('201 when the file is back in its place, and another log line for a second removal', async () => {
    const client = await start();
    for (const round of [1, 2]) {
      renameSync(database, `${database}-away`);
      expect((await client.post('/v2/tlds', { name: `refused-${round}` })).status).toBe(503);
      renameSync(`${database}-away`, database);
      expect((await client.get('/readyz')).status).toBe(200);
      expect((await client.post('/v2/tlds', { name: `created-${round}` })).status).toBe(201);
      expect(faultLines(client)).toHaveLength(round);
    }
    expect(await names(client)).toEqual(['com', 'created-1', 'created-2']);
  });
});

describe('after the WAL or its index was removed', () => {
  test.each(['tsigil.db-wal', 'tsigil.db-shm'])(
    'no acknowledged write is missing after a restart (%s)',
    async (file) => {
      const settings = { TSIGIL_DATABASE_URL: `sqlite:${database}` };
      const first = await startServiceProcess(folder, settings);
      for (const name of ['com', 'net', 'org'])
        expect((await first.post('/v2/tlds', { name })).status).toBe(201);
      rmSync(join(data, file));
      expect((await first.post('/v2/tlds', { name: 'info' })).status).toBe(503);
      expect(await first.stop('SIGTERM')).toBe(0);
      const next = await startServiceProcess(folder, settings);
      expect(await names(next)).toEqual(['com', 'net', 'org']);
      expect(await next.stop('SIGTERM')).toBe(0);
    },
  );
});

describe.skipIf(process.platform !== 'linux')('a database file that was removed', () => {
  test('can be copied from the running process with every acknowledged write', async () => {
    const running = await startServiceProcess(folder, {
      TSIGIL_DATABASE_URL: `sqlite:${database}`,
    });
    for (const name of ['com', 'net', 'org'])
      expect((await running.post('/v2/tlds', { name })).status).toBe(201);
    for (const file of readdirSync(data)) if (file !== 'master.key') rmSync(join(data, file));
    const copy = join(data, 'rescued.db');
    const descriptors = `/proc/${running.process.pid}/fd`;
    for (const suffix of ['', '-wal']) {
      const descriptor = readdirSync(descriptors).find(
        (each) => readlinkSync(join(descriptors, each)) === `${database}${suffix} (deleted)`,
      );
      expect(
        spawnSync('cp', [join(descriptors, descriptor ?? ''), `${copy}${suffix}`]).status,
      ).toBe(0);
    }
    expect(await running.stop('SIGTERM')).toBe(0);
    expect(readFileSync(copy).length).toBeGreaterThan(0);
    const next = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: `sqlite:${copy}` });
    expect(await names(next)).toEqual(['com', 'net', 'org']);
    expect(await next.stop('SIGTERM')).toBe(0);
  });
});
