import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiResponse } from '../harness/client.ts';
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

/** Returns the response to a request and its duration in milliseconds. */
async function timed(
  request: Promise<ApiResponse>,
): Promise<{ status: number; milliseconds: number; response: ApiResponse }> {
  const began = performance.now();
  const response = await request;
  return { status: response.status, milliseconds: performance.now() - began, response };
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

  test('503 with Retry-After for writes that waited 5 s, and 201 for later writes when the lock is released', async () => {
    await lock('BEGIN IMMEDIATE');
    const early = ['net', 'org'].map((name) => timed(service.post('/v2/tlds', { name })));
    await new Promise((resume) => setTimeout(resume, 2000));
    const late = timed(service.post('/v2/tlds', { name: 'info' }));
    for (const { status, milliseconds, response } of await Promise.all(early)) {
      expect(status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('5');
      expect(response.body).toMatchObject({
        type: 'service_unavailable',
        message: 'The database cannot be used: it is locked by another program',
      });
      expect(milliseconds).toBeGreaterThan(4900);
    }
    await other?.release();
    expect((await late).status).toBe(201);
    const names = ((await service.get('/v2/tlds')).body.tlds as { name: string }[]).map(
      ({ name }) => name,
    );
    expect(names).toEqual(['com', 'info']);
  });
});
