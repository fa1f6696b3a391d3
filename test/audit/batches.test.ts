import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { batchText, hashBatch, NO_PREVIOUS, type AuditBatch } from '../../src/audit/chain.ts';
import type { StoredRecord } from '../../src/core/audit-record.ts';
import { auditRecords, queryDatabase } from '../harness/audit.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { verification } from '../harness/trail.ts';

const INTERVAL = 20;

let service: TestService;
beforeEach(async () => {
  service = await startTestService({}, { auditIntervalMs: INTERVAL });
});

const url = () => `sqlite:${join(service.folder, 'tsigil.db')}`;
const batches = async () =>
  (await queryDatabase(
    url(),
    'SELECT * FROM audit_batches ORDER BY number',
  )) as unknown as AuditBatch[];

async function sealed(count: number): Promise<AuditBatch[]> {
  await expect
    .poll(async () => (await auditRecords(url())).filter(({ batch }) => batch !== null).length)
    .toBe(count);
  return batches();
}

test('seals records in numbered batches, each with the hash of the previous batch', async () => {
  for (const name of ['com', 'net', 'org']) {
    expect((await service.post('/v2/tlds', { name })).status).toBe(201);
    await expect
      .poll(async () => (await auditRecords(url())).every(({ batch }) => batch !== null))
      .toBe(true);
  }
  const trail = await sealed(3);
  let previous = NO_PREVIOUS;
  for (const [index, batch] of trail.entries()) {
    expect(batch).toMatchObject({ number: index + 1, previous });
    const digest = hashBatch(batch);
    const records = (await queryDatabase(
      url(),
      `SELECT * FROM audit_records WHERE batch = ${batch.number} ORDER BY seq`,
    )) as unknown as StoredRecord[];
    expect(records).toHaveLength(batch.count);
    for (const record of records) digest.add(record);
    expect(batch.hash).toBe(digest.end());
    expect(batch.mac).toMatch(/^[\w-]{43}$/);
    previous = batch.hash;
  }
  const [head] = await queryDatabase(url(), 'SELECT * FROM audit_head');
  expect(head).toEqual({
    id: 1,
    number: trail.length,
    hash: previous,
    first_mac: 1,
    purged: 0,
    retention_days: 400,
    events: '[]',
    mac: expect.stringMatching(/^[\w-]{43}$/) as string,
    key_number: trail.at(-1)?.key_number,
  });
});

test.each([
  ['deleted', 'DELETE FROM audit_head', 2],
  ['set back', 'UPDATE audit_head SET number = 1', 2],
])(
  'the service seals the next batch and reports a repair if another program has %s the head of the trail',
  async (_, statement, last) => {
    const folder = temporaryFolder();
    const file = join(folder, 'tsigil.db');
    const start = () =>
      startTestService(
        { TSIGIL_DATABASE_URL: `sqlite:${file}` },
        { folder, auditIntervalMs: INTERVAL },
      );
    for (const name of ['com', 'net']) {
      const before = await start();
      await before.post('/v2/tlds', { name });
      await before.close();
    }
    const database = new DatabaseSync(file);
    database.exec(statement);
    database.close();
    const changed = await start();
    await changed.post('/v2/tlds', { name: 'org' });
    const unsealed = async () =>
      (await auditRecords(`sqlite:${file}`)).filter(({ batch }) => batch === null).length;
    await expect.poll(unsealed).toBe(0);
    expect(
      (await auditRecords(`sqlite:${file}`)).filter(({ action }) => action === 'audit:repair'),
    ).toMatchObject([{ actor_kind: 'service', detail: { last_batch: last } }]);
    expect(changed.log.filter((line) => line.includes('set back the head'))).toMatchObject([
      expect.stringContaining(`"batch":${last + 1}`),
    ]);
    const metrics = (await changed.get('/metrics')).text;
    expect(metrics).toMatch(/^tsigil_audit_repairs_total 1$/m);
    const problems = (await verification(changed)).flatMap((part) => part.problems);
    expect(problems).toMatchObject([{ batch: last }]); // for ever
    await changed.close();
  },
);

test('a MAC depends on every member of the batch', () => {
  const batch = {
    number: 1,
    at: '2026-11-22T10:00:00.000000',
    count: 2,
    first_seq: 3,
    last_seq: 4,
    previous: 'a',
    hash: 'b',
  };
  const texts = Object.entries(batch).map(([name, value]) =>
    batchText({ ...batch, [name]: typeof value === 'number' ? value + 9 : `${value}x` }),
  );
  expect(new Set([batchText(batch), ...texts]).size).toBe(8);
});
