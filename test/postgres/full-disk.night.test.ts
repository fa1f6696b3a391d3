import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canMount, mountMemory, type SmallFileSystem } from '../harness/file-systems.ts';
import {
  type PostgresServer,
  queryPostgres,
  SERVER_USER,
  startPostgres,
} from '../harness/postgres.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const mount = (parent: string) => mountMemory(parent, '24m');

describe.runIf(canMount(mount, 'a memory file system'))('PostgreSQL with a full disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-full-'));
  let server: PostgresServer;
  let disk: SmallFileSystem;
  let service: TestService;

  beforeAll(async () => {
    server = await startPostgres();
    chmodSync(folder, 0o755);
    disk = mount(folder) as SmallFileSystem;
    chownSync(disk.folder, SERVER_USER, SERVER_USER);
    await queryPostgres(server.url, `CREATE TABLESPACE small LOCATION '${disk.folder}'`);
    await queryPostgres(server.url, 'CREATE DATABASE small TABLESPACE small');
    service = await startTestService({
      TSIGIL_DATABASE_URL: server.url.replace(/[^/]*$/, 'small'),
    });
  });
  afterAll(async () => {
    await service.close();
    await server.remove();
    disk.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test('503 with the reason and without a partial write, 200 for reads, and 201 when space is free again', async () => {
    const filler = join(disk.folder, 'filler');
    try {
      writeFileSync(filler, Buffer.alloc(64 * 1024 * 1024));
    } catch {
      // the file fills the disk
    }
    let written = 0;
    let refused = await service.post('/v2/tlds', { name: `entry${written}` });
    while (refused.status === 201) {
      written += 1;
      refused = await service.post('/v2/tlds', {
        name: `entry${written}`,
        description: 'x'.repeat(160),
      });
    }
    expect([refused.status, refused.body.type]).toEqual([503, 'service_unavailable']);
    expect(refused.body.message).toBe('The database cannot be used: its disk is full');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await service.get('/v2/tlds?limit=max')).body.tlds).toHaveLength(
      Math.min(written, 1000),
    );
    expect((await service.get(`/v2/tlds?name=entry${written}`)).body.tlds).toEqual([]);
    rmSync(filler);
    expect((await service.post('/v2/tlds', { name: `entry${written}` })).status).toBe(201);
  });
});
