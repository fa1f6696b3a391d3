import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hashBatch, macText, NO_PREVIOUS, type AuditBatch } from '../../src/domain/audit/chain.ts';
import type { StoredRecord } from '../../src/domain/audit/record.ts';
import { auditRecords, queryDatabase } from '../harness/audit.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const INTERVAL = 20;

let service: TestService;
beforeEach(async () => {
  service = await startTestService({}, { auditIntervalMs: INTERVAL });
});
afterEach(() => service.close());

const url = () => `sqlite:${join(service.folder, 'tsigil.db')}`;
const batches = async () =>
  (await queryDatabase(
    url(),
    'SELECT * FROM audit_batches ORDER BY number',
  )) as unknown as AuditBatch[];

async function sealed(count: number): Promise<AuditBatch[]> {
  await expect
    .poll(async () => (await auditRecords(url())).filter(({ batch }) => batch !== null).length, {
      timeout: 10_000,
    })
    .toBe(count);
  return batches();
}

test('seals records in numbered batches, each with the hash of the one before', async () => {
  for (const name of ['com', 'net', 'org']) {
    expect((await service.post('/v2/tlds', { name })).status).toBe(201);
    await expect
      .poll(async () => (await auditRecords(url())).every(({ batch }) => batch !== null))
      .toBe(true);
  }
  const trail = await sealed(3);
  let previous = NO_PREVIOUS;
  for (const [index, batch] of trail.entries()) {
    expect(batch).toMatchObject({ number: index + 1, previous, purged_at: null });
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
  const [head] = await queryDatabase(url(), 'SELECT number, hash, mac FROM audit_head');
  expect(head).toEqual({
    number: trail.length,
    hash: previous,
    mac: trail.at(-1)?.mac,
  });
});

test('a stop seals what is left and logs the checkpoint', async () => {
  await service.post('/v2/tlds', { name: 'com' });
  const { folder } = service;
  const first = await startTestService(
    { TSIGIL_DATABASE_URL: `sqlite:${join(folder, 'other.db')}` },
    { folder, auditIntervalMs: 60_000 },
  );
  await first.post('/v2/tlds', { name: 'net' });
  await first.close();
  const rows = await queryDatabase(
    `sqlite:${join(folder, 'other.db')}`,
    'SELECT number, hash FROM audit_head',
  );
  expect(rows).toMatchObject([{ number: 1 }]);
  const line = first.log.find((each) => each.includes('audit checkpoint')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ batch: 1, hash: rows[0]?.hash });
});

test('a MAC depends on the number and the hash of the batch', () => {
  expect(macText({ number: 1, hash: 'a' })).not.toBe(macText({ number: 2, hash: 'a' }));
});
