import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AuditEntry } from '../../src/domain/audit/record.ts';
import type { TrailVerification } from '../../src/domain/audit/trail.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { seed, withDatabase } from '../harness/trail.ts';

const VERIFIED = 1_000_000;
const STREAMED = 50_000;
/** A filler of 2,000 characters, so that the streamed records have 200 MB in total. */
const FILLER = 'x'.repeat(2000);

/** Starts a service whose trail has `count` records. */
async function startWith(count: number, changes: Partial<AuditEntry>): Promise<ServiceProcess> {
  const seeded = temporaryFolder();
  const folder = temporaryFolder();
  onTestFinished(() => {
    for (const each of [seeded, folder]) rmSync(each, { recursive: true, force: true });
  });
  await withDatabase(`sqlite:${join(seeded, 'seeded.db')}`, (database) =>
    seed(database, count, 2000, { changes }),
  );
  // The service opens a copy, because the driver keeps the lock of a closed connection.
  cpSync(join(seeded, 'seeded.db'), join(folder, 'tsigil.db'));
  return startServiceProcess(folder, {
    TSIGIL_DATABASE_URL: `sqlite:${join(folder, 'tsigil.db')}`,
    // A small heap makes Node.js collect garbage early, so that the test measures memory in use.
    NODE_OPTIONS: '--max-old-space-size=64',
  });
}

/** Returns the resident memory of a service in MB. */
function memoryOf({ process: { pid } }: ServiceProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

test(`a stream of ${STREAMED} records to a slow reader uses less than 100 MB of memory`, async () => {
  const service = await startWith(STREAMED, { detail: { filler: FILLER } });
  for (let warm = 0; warm < 5; warm += 1) await service.get('/v2/audit?limit=1000');
  const before = memoryOf(service);
  const response = await fetch(`${service.url}/v2/audit?resource_type=seeded`, {
    headers: { accept: 'application/x-ndjson', 'x-auth-token': service.token },
  });
  let lines = 0;
  let largest = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    lines += chunk.filter((octet) => octet === 10).length;
    // A request between chunks slows the reader, and shows that the service still responds.
    if (lines % 50 === 0) expect((await service.get('/v2/audit/batches?limit=1')).status).toBe(200);
    largest = Math.max(largest, memoryOf(service));
  }
  expect(lines).toBe(STREAMED);
  expect(largest - before).toBeLessThan(100);
  await service.stop('SIGTERM');
}, 180_000);

test(`verifying ${VERIFIED} records uses less than 60 MB of memory`, async () => {
  const service = await startWith(VERIFIED, {});
  for (let warm = 0; warm < 5; warm += 1) await service.get('/v2/audit?limit=1000');
  const before = memoryOf(service);
  let largest = 0;
  const response = await fetch(`${service.url}/v2/audit/verify`, {
    headers: { 'x-auth-token': service.token },
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    largest = Math.max(largest, memoryOf(service));
  }
  const parts = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as TrailVerification);
  expect(parts.flatMap(({ problems }) => problems)).toEqual([]);
  expect(parts.at(-1)?.head).toBeDefined();
  const records = parts.reduce((sum, part) => sum + part.records, 0);
  expect(records).toBeGreaterThanOrEqual(VERIFIED);
  expect(largest - before).toBeLessThan(60);
  await service.stop('SIGTERM');
}, 240_000);
