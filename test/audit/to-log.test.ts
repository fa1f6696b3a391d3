import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AuditEntry } from '../../src/core/audit-record.ts';
import { auditRecords } from '../harness/audit.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';
import { startTestService, temporaryFolder } from '../harness/service.ts';

const KEY = { ...KEY_MEMBERS, name: 'key' };

/**
 * Makes changes, reads and refused requests. Returns the records in the database, and the records
 * in the log.
 */
async function run(variables: Record<string, string>) {
  const folder = temporaryFolder();
  const service = await startTestService(variables, { folder, auditIntervalMs: 20 });
  const { id, secret } = (await service.post('/v2/tsigkeys', KEY)).body;
  expect((await service.post('/v2/tsigkeys', KEY)).status).toBe(409);
  expect((await service.get(`/v2/tsigkeys/${id}`)).status).toBe(200);
  expect((await service.patch(`/v2/tsigkeys/${id}`, { name: 'renamed' })).status).toBe(200);
  const tlds = [{ name: 'com' }, { name: 'net' }];
  expect((await service.post('/v2/tlds/bulk', { tlds })).status).toBe(200);
  await service.close();
  const records = await auditRecords(`sqlite:${join(folder, 'tsigil.db')}`);
  const logged = service.log
    .map((line) => JSON.parse(line) as { msg: string; audit?: AuditEntry })
    .filter(({ audit }) => audit !== undefined);
  expect(service.log.join('')).not.toContain(secret);
  return { records, logged };
}

const withoutNumbers = (list: readonly object[]) =>
  list.map((record) => JSON.stringify({ ...record, seq: undefined, batch: undefined })).sort();

test.each(['counted', 'each'])(
  'audit.toLog writes each record to the log once, with secretReads %s',
  async (mode) => {
    const { records, logged } = await run({
      TSIGIL_AUDIT_TO_LOG: 'true',
      TSIGIL_AUDIT_SECRET_READS: mode,
    });
    const actions = [...new Set(records.map(({ action }) => action))].sort();
    expect(actions).toEqual(['tlds:bulk', 'tsigkeys:create', 'tsigkeys:get', 'tsigkeys:update']);
    expect(withoutNumbers(logged.map(({ audit }) => audit ?? {}))).toEqual(withoutNumbers(records));
    expect(logged.every(({ msg }) => msg === 'audit')).toBe(true);
  },
);

test('without audit.toLog, the log contains no record', async () => {
  const { records, logged } = await run({});
  expect([records.length > 0, logged]).toEqual([true, []]);
});
