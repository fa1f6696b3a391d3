import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startForeignProgram, type ForeignProgram } from '../harness/sqlite-programs.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

let folder: string;
let service: ServiceProcess;
let other: ForeignProgram | undefined;

beforeEach(async () => {
  folder = temporaryFolder();
  service = await startServiceProcess(folder, {
    TSIGIL_DATABASE_URL: `sqlite:${join(folder, 'tsigil.db')}`,
  });
  expect((await service.post('/v2/tlds', { name: 'com' })).status).toBe(201);
});
afterEach(async () => {
  await other?.release();
  other = undefined;
  await service.stop('SIGKILL');
});

async function lock(statement: string): Promise<void> {
  other = await startForeignProgram(join(folder, 'tsigil.db'), statement);
}

describe('while another program holds the write lock of the database', () => {
  test.each(['BEGIN IMMEDIATE', 'BEGIN EXCLUSIVE'])(
    '200 from /healthcheck and lists at once, and 201 when the lock is released (%s)',
    async (statement) => {
      await lock(statement);
      let created = 0;
      const creations = ['net', 'org'].map((name) =>
        service.post('/v2/tlds', { name }).finally(() => (created += 1)),
      );
      for (const path of ['/healthcheck', '/readyz', '/v2/tlds'])
        expect((await service.get(path)).status).toBe(200);
      expect(created).toBe(0); // the reads have not waited for the lock, as the creations do

      await other?.release();
      for (const { status } of await Promise.all(creations)) expect(status).toBe(201);
      expect((await service.get('/v2/tlds')).body.tlds).toHaveLength(3);
    },
  );

  test('503 with Retry-After for writes that waited in vain, and 201 for later writes when the lock is released', async () => {
    await lock('BEGIN IMMEDIATE');
    const early = ['net', 'org'].map((name) => service.post('/v2/tlds', { name }));
    for (const { status, headers, body } of await Promise.all(early)) {
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBe('5');
      expect(body).toMatchObject({
        type: 'service_unavailable',
        message: 'The database cannot be used: it is locked by another program',
      });
    }
    const late = service.post('/v2/tlds', { name: 'info' });
    await other?.release();
    expect((await late).status).toBe(201);
    const names = ((await service.get('/v2/tlds')).body.tlds as { name: string }[]).map(
      ({ name }) => name,
    );
    expect(names).toEqual(['com', 'info']);
  });
});
