import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../src/domain/audit/record.ts';
import { auditEntry, SERVICE } from '../../src/domain/operations/audit-entry.ts';
import { recoverCounts, writeCounts } from '../../src/store/audit/counts.ts';
import { claimLease, isHeldElsewhere, releaseLease } from '../../src/store/audit/lease.ts';
import { purgeExpired } from '../../src/store/audit/retention.ts';
import { sealBatch, type Sealer } from '../../src/store/audit/seal.ts';
import { migrate } from '../../src/store/migrate.ts';
import { insertRecords } from '../../src/store/sql/audit-records.ts';
import type { Database } from '../../src/store/sql/sql.ts';

const AT = '2026-11-22T10:00:00.000000';
const LATER = '2026-11-23T10:00:00.000000';

/** Defines the tests that the audit trail must pass on every database. */
export function describeAuditTrail(name: string, open: () => Promise<Database>): void {
  describe(`the audit trail on ${name}`, () => {
    let database: Database;
    let at: string;
    beforeEach(async () => {
      database = await open();
      await migrate(database, AT);
      at = AT;
    });
    afterEach(() => database.close());

    const entry = (index: number): AuditEntry =>
      auditEntry(SERVICE, { at, action: 'tlds:create', name: `tld${index}` });
    const add = (count: number) =>
      database.write((sql) =>
        insertRecords(
          sql,
          Array.from({ length: count }, (_, n) => entry(n)),
        ),
      );
    const sealer = (holder = 'one'): Sealer => ({
      database,
      keyring: undefined,
      lease: { name: 'audit', holder, milliseconds: 10_000 },
      now: () => at,
    });
    const count = async (text: string): Promise<number> =>
      Number((await database.reads.one(`SELECT count(*) AS count FROM ${text}`, []))?.count);

    test('seals at most 2,000 records in a batch, and the other records in the next batch', async () => {
      await add(2500);
      expect(await sealBatch(sealer())).toMatchObject({ number: 1, count: 2000 });
      expect(await sealBatch(sealer())).toMatchObject({ number: 2, count: 500 });
      expect(await sealBatch(sealer())).toBeUndefined();
      expect(await count('audit_records WHERE batch IS NULL')).toBe(0);
      expect(await count('audit_batches WHERE mac IS NULL')).toBe(2);
    });

    test('only one of three processes seals records', async () => {
      await add(10);
      const done = await Promise.all(['one', 'two', 'three'].map((id) => sealBatch(sealer(id))));
      expect(done.filter((each) => each !== undefined)).toHaveLength(1);
      await add(10);
      const holder = ['one', 'two', 'three'].find((_, index) => done[index] !== undefined);
      for (const id of ['one', 'two', 'three'].filter((each) => each !== holder))
        expect(await sealBatch(sealer(id))).toBeUndefined();
      expect(await sealBatch(sealer(holder))).toMatchObject({ number: 2, count: 10 });
    });

    test('another process can claim a lease that expired or was released', async () => {
      const claim = (holder: string, milliseconds = 60_000) =>
        database.write((sql) =>
          claimLease(sql, database.dialect, { name: 'x', holder, milliseconds }),
        );
      expect(await claim('one')).toBe(true);
      expect(await claim('two')).toBe(false);
      expect(await claim('one')).toBe(true);
      const lease = { name: 'x', holder: 'two', milliseconds: 1 };
      expect(await isHeldElsewhere(database.reads, database.dialect, lease)).toBe(true);
      await database.write((sql) => releaseLease(sql, { ...lease, holder: 'one' }));
      expect(await claim('two', -1)).toBe(true);
      expect(await claim('three')).toBe(true);
      expect(await database.reads.one('SELECT fence FROM leases', [])).toMatchObject({
        fence: expect.toSatisfy((fence) => Number(fence) === 3) as number,
      });
    });

    test('retention deletes whole batches, 1,000 records at a time, and records each step', async () => {
      await add(1500);
      await sealBatch(sealer());
      for (let batch = 0; batch < 3; batch += 1) {
        await add(10);
        await sealBatch(sealer());
      }
      at = LATER;
      await add(10);
      await sealBatch(sealer());
      const details = [];
      for (let purged; (purged = await purgeExpired(sealer(), '2026-11-23T00:00:00.000000'));)
        details.push(purged.detail);
      expect(details).toEqual([
        { records: 1000, first_batch: 1, last_batch: 1 },
        { records: 500, first_batch: 1, last_batch: 1 },
        { records: 30, first_batch: 2, last_batch: 4 },
      ]);
      expect(await count('audit_batches WHERE purged_at IS NOT NULL')).toBe(4);
      expect(await count('audit_records WHERE batch IS NOT NULL')).toBe(10);
      expect(await count("audit_records WHERE action = 'audit:purge'")).toBe(3);
    });

    test('retention deletes no record of a batch that is younger than the retention period', async () => {
      await add(10);
      await sealBatch(sealer());
      expect(await purgeExpired(sealer(), AT)).toBeUndefined();
      expect(await count('audit_records')).toBe(10);
    });

    test('retention deletes nothing if a record names a batch that does not exist', async () => {
      await add(3);
      await sealBatch(sealer());
      await database.write((sql) => sql.run('UPDATE audit_records SET batch = 1 WHERE 1 = 1', []));
      await database.write((sql) => sql.run('UPDATE audit_batches SET number = 2', []));
      const records = await count('audit_records');
      expect(await purgeExpired(sealer(), LATER)).toBeUndefined();
      expect(await count('audit_records')).toBe(records);
    });

    test('the counts of a process that has ended become records exactly once', async () => {
      const line = (id: string, isStored: boolean) => ({ id, isStored, entry: entry(1) });
      const lines = Array.from({ length: 70 }, (_, index) => line(`line-${index}`, false));
      await database.write((sql) => writeCounts(sql, { current: lines, finished: [] }));
      await database.write((sql) =>
        writeCounts(sql, { current: lines.slice(0, 2), finished: [line('line-69', true)] }),
      );
      expect([await count('audit_counts'), await count('audit_records')]).toEqual([69, 1]);
      await database.write((sql) => recoverCounts(sql, '2026-11-22T10:00'));
      expect([await count('audit_counts'), await count('audit_records')]).toEqual([69, 1]);
      await database.write((sql) => recoverCounts(sql, '2026-11-22T10:01'));
      expect([await count('audit_counts'), await count('audit_records')]).toEqual([0, 70]);
    });
  });
}
