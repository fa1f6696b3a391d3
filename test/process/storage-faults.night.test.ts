import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiResponse, Client } from '../harness/client.ts';
import {
  canMount,
  fillWith,
  mountExt4,
  mountMemory,
  type SmallFileSystem,
} from '../harness/file-systems.ts';
import {
  serveInVain,
  startServiceProcess,
  temporaryFolder,
  type ServiceProcess,
} from '../harness/service.ts';
import { hasProgram, TOOL_ENVIRONMENT } from '../harness/tools.ts';

const PAGE_BYTES = 4096;

let folder: string;
let service: ServiceProcess | undefined;
let fileSystem: SmallFileSystem | undefined;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  if (service?.process.exitCode === null) await service.stop('SIGKILL');
  service = undefined;
  fileSystem?.remove();
  fileSystem = undefined;
});

function mount(make: (parent: string) => SmallFileSystem | undefined): string {
  fileSystem = make(folder);
  if (fileSystem === undefined) throw new Error('could be mounted before, cannot now');
  return fileSystem.folder;
}

async function start(database: string): Promise<ServiceProcess> {
  service = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: `sqlite:${database}` });
  return service;
}

/** Runs `tsigil serve` with a database that it cannot use. */
function serveOn(database: string): ReturnType<typeof serveInVain> {
  return serveInVain(folder, {
    TSIGIL_DATABASE_URL: `sqlite:${database}`,
    TSIGIL_STOP_GRACE_SECONDS: '0',
  });
}

let serial = 0;

/**
 * Creates TLD entries until a creation fails. Returns the acknowledged names and the response to
 * the failed creation.
 */
async function createUntilRefused(
  client: Client,
): Promise<{ acknowledged: string[]; refusal: ApiResponse }> {
  const acknowledged: string[] = [];
  for (let attempt = 0; attempt < 3000; attempt += 1) {
    const name = `filler-${(serial += 1)}`;
    const response = await client.post('/v2/tlds', { name, description: 'x'.repeat(160) });
    if (response.status !== 201) return { acknowledged, refusal: response };
    acknowledged.push(name);
  }
  throw new Error('3000 entries were accepted: there was no fault');
}

async function namesOf(client: Client): Promise<string[]> {
  const names: string[] = [];
  let path: string | undefined = '/v2/tlds';
  while (path !== undefined) {
    const page: ApiResponse = await client.get(path);
    expect(page.status).toBe(200);
    names.push(...(page.body.tlds as { name: string }[]).map(({ name }) => name));
    const next = page.body.links.next as string | undefined;
    path = next === undefined ? undefined : `/v2/tlds${new URL(next).search}`;
  }
  return names;
}

function expectUnavailable(response: ApiResponse, message: RegExp): void {
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('5');
  expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
  expect(response.body).toMatchObject({
    code: 503,
    type: 'service_unavailable',
    message: expect.stringMatching(message) as string,
  });
  // Responses must not contain the path of the file.
  expect(response.text).not.toContain(folder);
}

/** Overwrites everything after the first page, which contains the schema. */
function damage(database: string): void {
  const { size } = statSync(database);
  const descriptor = openSync(database, 'r+');
  writeSync(descriptor, Buffer.alloc(size - PAGE_BYTES, 0xa5), 0, size - PAGE_BYTES, PAGE_BYTES);
  closeSync(descriptor);
}

describe.skipIf(!canMount((parent) => mountMemory(parent, '1m'), 'A tmpfs'))('a full disk', () => {
  test('503 for writes and 200 for reads, no acknowledged write is lost, and 201 when space is free', async () => {
    const disk = mount((parent) => mountMemory(parent, '2m'));
    const client = await start(join(disk, 'tsigil.db'));
    expect((await client.post('/v2/tlds', { name: 'com' })).status).toBe(201);
    fillWith(join(disk, 'filler'));

    const full = await createUntilRefused(client);
    expectUnavailable(full.refusal, /the disk is full/);
    const present = ['com', ...full.acknowledged];
    expect(await namesOf(client)).toEqual(present);
    expectUnavailable(
      await client.post('/v2/tlds', { name: 'net', description: 'x'.repeat(160) }),
      /the disk is full/,
    );
    expect((await client.get('/healthcheck')).status).toBe(200);
    expect(client.output()).toMatch(/"level":"error".*full/);

    rmSync(join(disk, 'filler'));
    expect((await client.post('/v2/tlds', { name: 'net' })).status).toBe(201);
    present.push('net');
    expect(await namesOf(client)).toEqual(present);
    await client.stop('SIGKILL');
    expect(await namesOf(await start(join(disk, 'tsigil.db')))).toEqual(present);
  });

  test('503 for a revocation that cannot be stored, then 401 for the token, and 204 when space is free', async () => {
    const disk = mount((parent) => mountMemory(parent, '2m'));
    const client = await start(join(disk, 'tsigil.db'));
    const tokens: { id: string; holder: Client }[] = [];
    for (let number = 0; number < 12; number += 1) {
      const { body } = await client.post('/v2/tokens', {
        name: `holder-${number}`,
        roles: ['admin'],
      });
      tokens.push({ id: body.id as string, holder: client.with(body.token as string) });
    }
    fillWith(join(disk, 'filler'));
    await createUntilRefused(client);
    // The WAL may have space for small changes. The test revokes tokens until a revocation fails.
    let revoked = tokens.shift();
    let response = await client.delete(`/v2/tokens/${revoked?.id}`);
    while (response.status === 204 && tokens.length > 1) {
      revoked = tokens.shift();
      response = await client.delete(`/v2/tokens/${revoked?.id}`);
    }
    expectUnavailable(
      response,
      /^This process refuses the token until it restarts\. The revocation is not stored: .*the disk is full\. Delete the token again when the database can be written$/,
    );
    expect((await revoked?.holder.get('/v2/tlds'))?.status).toBe(401);
    expect((await tokens[0]?.holder.get('/v2/tlds'))?.status).toBe(200);
    expectUnavailable(
      await client.delete(`/v2/tokens/${revoked?.id}`),
      /^This process refuses the token/,
    );
    expect((await client.delete('/v2/tokens/00000000-0000-4000-8000-000000000000')).status).toBe(
      404,
    );

    rmSync(join(disk, 'filler'));
    expect((await client.delete(`/v2/tokens/${revoked?.id}`)).status).toBe(204);
    await client.stop('SIGKILL');
    const again = await start(join(disk, 'tsigil.db'));
    expect((await again.with(revoked?.holder.token ?? '').get('/v2/tlds')).status).toBe(401);
  });
});

describe.skipIf(!hasProgram('prlimit', 'util-linux'))('a disk that fails to write', () => {
  test('503 while writes fail, no acknowledged write is lost, and 201 afterwards', async () => {
    const client = await start(join(folder, 'tsigil.db'));
    const allowFileSize = (bytes: string) => {
      const { status } = spawnSync(
        'prlimit',
        ['--pid', String(client.process.pid), `--fsize=${bytes}:unlimited`],
        { env: TOOL_ENVIRONMENT },
      );
      expect(status).toBe(0);
    };
    expect((await client.post('/v2/tlds', { name: 'com' })).status).toBe(201);
    allowFileSize(String(statSync(join(folder, 'tsigil.db-wal')).size + 5 * PAGE_BYTES));
    const failing = await createUntilRefused(client);
    expectUnavailable(failing.refusal, /reading or writing the file failed/);
    expect((await client.get('/healthcheck')).status).toBe(200);
    expect(await namesOf(client)).toEqual(['com', ...failing.acknowledged]);

    allowFileSize('unlimited');
    expect((await client.post('/v2/tlds', { name: 'net' })).status).toBe(201);
    await client.stop('SIGKILL');
    expect(await namesOf(await start(join(folder, 'tsigil.db')))).toEqual([
      'com',
      ...failing.acknowledged,
      'net',
    ]);
  });
});

describe.skipIf(!canMount(mountExt4, 'An ext4 file system in a file'))(
  'a file system that becomes read-only',
  () => {
    test('503 for writes and 200 for reads, and the next start fails with a one-line message', async () => {
      const disk = mount(mountExt4);
      const client = await start(join(disk, 'tsigil.db'));
      expect((await client.post('/v2/tlds', { name: 'com' })).status).toBe(201);
      fileSystem?.fail();
      const { acknowledged, refusal } = await createUntilRefused(client);
      expectUnavailable(refusal, /read-only|reading or writing the file failed/);
      expect(await namesOf(client)).toEqual(['com', ...acknowledged]);
      expect((await client.get('/healthcheck')).status).toBe(200);
      await client.stop('SIGKILL');
      const { status, stderr } = serveOn(join(disk, 'tsigil.db'));
      expect(stderr).toMatch(/^tsigil: The database cannot be (?:used|opened).*\n$/);
      expect(status).toBe(1);
    });
  },
);

describe('a corrupt database file', () => {
  /** Creates a database of several pages, and returns its path. */
  async function filled(): Promise<string> {
    const database = join(folder, 'tsigil.db');
    const client = await start(database);
    for (let count = 0; count < 30; count += 1)
      await client.post('/v2/tlds', { name: `tld-${count}`, description: 'x'.repeat(160) });
    expect(await client.stop('SIGTERM')).toBe(0);
    return database;
  }

  test('503 from the API and /readyz of a running service, 200 from /healthcheck, and tsigil_database_up 0 in /metrics', async () => {
    const database = await filled();
    const client = await start(database);
    damage(database);
    expectUnavailable(await client.get('/v2/tlds'), /the file is damaged; restore a backup/);
    expectUnavailable(await client.get('/readyz'), /the file is damaged; restore a backup/);
    expectUnavailable(await client.post('/v2/tlds', { name: 'com' }), /the file is damaged/);
    expect((await client.get('/healthcheck')).status).toBe(200);
    expect((await client.get('/metrics')).text).toMatch(/^tsigil_database_up 0$/m);
    expect(client.output()).toContain(database);
    expect(await client.stop('SIGTERM')).toBe(0);
  });
});
