import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashBatch, NO_PREVIOUS } from '../../src/domain/audit/chain.ts';
import { SELECT_RECORDS, storedRecord } from '../../src/store/audit/read.ts';
import { insertRecords } from '../../src/store/sql/audit-records.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { entry, withDatabase } from '../harness/trail.ts';

const RECORDS = 100_000;
const AT = '2026-11-21T09:30:01.000000';
/** All records have 200 MB together. */
const FILLER = 'x'.repeat(2000);

test('a stream of 100,000 records to a slow reader uses less than 100 MB', async () => {
  const seeded = temporaryFolder();
  const folder = temporaryFolder();
  await withDatabase(`sqlite:${join(seeded, 'seeded.db')}`, async (database) => {
    for (let number = 1, previous = NO_PREVIOUS; number <= RECORDS / 2000; number += 1)
      previous = await database.write(async (sql) => {
        await insertRecords(
          sql,
          Array.from({ length: 2000 }, (_, index) =>
            entry(`${number}-${index}`, { detail: { filler: FILLER } }),
          ),
        );
        const rows = await sql.all(`${SELECT_RECORDS}batch IS NULL ORDER BY seq`, []);
        const records = rows.map(storedRecord);
        const digest = hashBatch({ previous, number, at: AT });
        for (const record of records) digest.add(record);
        const hash = digest.end();
        await sql.run('UPDATE audit_records SET batch = ? WHERE batch IS NULL', [number]);
        await sql.run(
          'INSERT INTO audit_batches (number, at, count, first_seq, last_seq, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?)',
          [number, AT, 2000, records[0]?.seq ?? 0, records.at(-1)?.seq ?? 0, previous, hash],
        );
        return hash;
      });
  });
  // A copy, because the driver keeps the lock of a closed connection.
  cpSync(join(seeded, 'seeded.db'), join(folder, 'tsigil.db'));
  const service = await startServiceProcess(folder, {
    TSIGIL_DATABASE_URL: `sqlite:${join(folder, 'tsigil.db')}`,
  });
  const memory = () => {
    const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };
  for (let warm = 0; warm < 5; warm += 1) await service.get('/v2/audit?limit=1000');
  const before = memory();
  const response = await fetch(`${service.url}/v2/audit?resource_type=seeded`, {
    headers: { accept: 'application/x-ndjson', 'x-auth-token': service.token },
  });
  let lines = 0;
  let largest = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    lines += chunk.filter((octet) => octet === 10).length;
    // Another request between chunks: the service keeps responding, and the reader is slow.
    if (lines % 50 === 0) expect((await service.get('/v2/audit/batches?limit=1')).status).toBe(200);
    largest = Math.max(largest, memory());
  }
  expect(lines).toBe(RECORDS);
  expect(largest - before).toBeLessThan(100);
  await service.stop('SIGTERM');
  for (const each of [seeded, folder]) rmSync(each, { recursive: true, force: true });
});
