import type { RecordFilters } from '../../src/audit/trail.ts';
import { readRecords } from '../../src/audit/store/read.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../src/core/audit-record.ts';
import { auditEntry, SERVICE } from '../../src/core/audit-record.ts';
import { noteRestore } from '../../src/audit/store/head.ts';
import { noteRetention, purgeExpired } from '../../src/audit/store/retention.ts';
import { sealBatch, type Sealer } from '../../src/audit/store/seal.ts';
import { migrate } from '../../src/sql/migrate.ts';
import { insertRecords } from '../../src/audit/store/records.ts';
import { leaseOn } from '../../src/sql/leases.ts';
import type { Database } from '../../src/sql/sql.ts';

const AT = '2026-11-22T10:00:00.000000';
const LATER = '2026-11-23T10:00:00.000000';

/** Defines the tests that the audit trail must pass on every database. */
export function describeAuditTrail(name: string, open: () => Promise<Database>): void {
  describe(`the audit trail on ${name}`, () => {
    let database: Database;
    let at: string;
    let days: number;
    beforeEach(async () => {
      database = await open();
      await migrate(database, AT);
      at = AT;
      days = 400;
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
      lease: leaseOn(database, 'audit', holder, 10_000),
      now: () => at,
      retentionDays: () => days,
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

    test('lists sealed and unsealed records by the names of actors and resources, ignoring case and a final dot', async () => {
      const named = (name: string, actor: string): AuditEntry => ({
        ...auditEntry(SERVICE, { at, action: 'tsigkeys:update', name }),
        actor_name: actor,
      });
      const write = (...entries: AuditEntry[]) =>
        database.write((sql) => insertRecords(sql, entries));
      await write(named('Gone.example.', 'CI'), named('gone', 'ci.'), named('other', 'CI'));
      await sealBatch(sealer());
      await write(named('gone.example', 'ci'));
      const found = async (filters: RecordFilters) => {
        const query = { from: undefined, limit: 10, maxBytes: Infinity } as const;
        const { records } = await readRecords(database.reads, {
          ...query,
          filters,
          first: 'newest',
        });
        return records.map((record) => `${record.resource_name} ${record.actor_name}`);
      };
      expect(await found({ resource_name: 'GONE.example.' })).toEqual([
        'gone.example ci',
        'Gone.example. CI',
      ]);
      expect(await found({ actor_name: 'Ci' })).toEqual([
        'gone.example ci',
        'other CI',
        'Gone.example. CI',
      ]);
      expect(await found({ resource_name: 'gone.%', actor_name: 'ci' })).toEqual([]);
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
      const claim = async (holder: string, milliseconds = 60_000) =>
        (await leaseOn(database, 'x', holder, milliseconds).write(() => Promise.resolve(true))) ??
        false;
      expect(await claim('one')).toBe(true);
      expect(await claim('two')).toBe(false);
      expect(await claim('one')).toBe(true);
      expect(await leaseOn(database, 'x', 'two', 60_000).isHeldElsewhere()).toBe(true);
      await leaseOn(database, 'x', 'one', 1).release();
      expect(await claim('two', -1)).toBe(true);
      expect(await claim('three')).toBe(true);
    });

    test('retention deletes whole batches, 2,000 records at a time, and records each step', async () => {
      await add(1500);
      await sealBatch(sealer());
      await add(501);
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
        { records: 1500, first_batch: 1, last_batch: 1 },
        { records: 531, first_batch: 2, last_batch: 5 },
      ]);
      expect(await database.reads.one('SELECT purged, events FROM audit_head', [])).toEqual({
        purged: 5,
        events: '[]',
      });
      expect(await count('audit_records WHERE batch IS NOT NULL')).toBe(10);
      expect(await count("audit_records WHERE action = 'audit:purge'")).toBe(2);
    });

    test('retention notes in the head that another program had changed what it deletes', async () => {
      for (let batch = 0; batch < 2; batch += 1) {
        await add(10);
        await sealBatch(sealer());
      }
      await database.write((sql) =>
        sql.run("UPDATE audit_batches SET at = '2020-01-01T00:00:00.000000' WHERE number = 1", []),
      );
      const purged = await purgeExpired(sealer(), '2021-01-01T00:00:00.000000');
      expect(purged?.detail).toEqual({ records: 10, first_batch: 1, last_batch: 1 });
      const head = await database.reads.one('SELECT events FROM audit_head', []);
      expect(JSON.parse(String(head?.events))).toEqual([
        { event: 'purged_changed', at: AT, batch: 1 },
      ]);
    });

    test('a head with more than 100 events keeps its first and its newest event', async () => {
      for (let day = 0; day < 102; day += 1)
        await database.write((sql) =>
          noteRestore(sql, undefined, String(day), { number: day, hash: '' }),
        );
      const head = await database.reads.one('SELECT events FROM audit_head', []);
      const events = JSON.parse(String(head?.events)) as { at: string }[];
      expect([events.length, events.at(0)?.at, events.at(-1)?.at]).toEqual([100, '0', '101']);
    });

    test('a change of retention is recorded once', async () => {
      await add(1);
      await sealBatch(sealer());
      expect(await noteRetention(sealer())).toBeUndefined();
      days = 30;
      expect((await noteRetention(sealer()))?.detail).toEqual({ days: [400, 30] });
      expect(await noteRetention(sealer())).toBeUndefined();
      expect(await count("audit_records WHERE action = 'audit:retention'")).toBe(1);
    });
  });
}
