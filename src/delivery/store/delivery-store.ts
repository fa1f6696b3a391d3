import { desire } from '../desire.ts';
import {
  LeaseLostError,
  type Claim,
  type DeliveryStore,
  type PassPlan,
  type PassRecord,
} from '../delivery-ports.ts';
import type { Clock, Store } from '../../core/ports.ts';
import { nameServer } from '../../resources/name-server.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import { insertRecords } from '../../audit/store/records.ts';
import { newSlicer } from '../../net/slices.ts';
import { joined, type Fragment, places } from '../../sql/fragments.ts';
import type { Database, Sql } from '../../sql/sql.ts';
import { tablesIn } from '../../sql/table.ts';
import { candidatesOf, zoneNamesOf } from './candidates.ts';
import { isDue, readClaim, reduceOutbox, stampsIn } from './claims.ts';
import type { LogStore } from './log-store.ts';
import {
  putDeliveries,
  readDeliveries,
  recordFailure,
  recordLeftovers,
  recordServer,
  ROWS,
} from './pass-records.ts';

/** The SQL condition that a holder still has its claim. The values are those of a `Lease`. */
const OWNED = 'id = ? AND holder = ? AND fence = ?';

type Lease = readonly [id: string, holder: string, fence: number];

export function createDeliveryStore(
  database: Database,
  store: Store,
  clock: Clock,
  logs?: LogStore,
): DeliveryStore {
  const now = database.dialect.nowMs;
  const table = tablesIn(database.dialect, database.keyring)(nameServer);
  const hasWork = `delivery = 'service' AND (holder IS NULL OR lease_until < ${now}) AND ${isDue(now)}`;
  const isLeased = `${OWNED} AND lease_until > ${now}`;
  const outbox = async (id: string) => {
    const rows = await database.reads.all('SELECT id FROM outbox WHERE nameserver_id = ?', [id]);
    return rows.map((row) => String(row.id));
  };

  const countChanges = async (id: string) => {
    const statement = 'SELECT count(*) AS count FROM outbox WHERE nameserver_id = ?';
    return Number((await database.reads.one(statement, [id]))?.count);
  };

  return {
    async due(ids) {
      if (ids.length === 0) return [];
      const rows = await database.reads.all(
        `SELECT id FROM nameservers WHERE id IN (${places(ids.length)}) AND ${hasWork}`,
        ids,
        'once',
      );
      return rows.map(({ id }) => String(id));
    },
    async claim(id, holder, leaseMs) {
      const claim = await database.write(async (sql): Promise<Claim | undefined> => {
        const claimed = await sql.run(
          `UPDATE nameservers SET holder = ?, lease_until = ${now} + ?, fence = fence + 1
            WHERE id = ? AND ${hasWork}`,
          [holder, leaseMs, id],
        );
        if (claimed === 0) return undefined;
        return readClaim(sql, now, table, id);
      });
      if (claim !== undefined)
        await reduceOutbox(database, id, 'holder = ? AND fence = ?', [holder, claim.fence]);
      return claim;
    },
    renew: (id, holder, fence, leaseMs) =>
      database.write(async (sql) => {
        const renewed = await sql.run(
          `UPDATE nameservers SET lease_until = ${now} + ? WHERE ${OWNED}`,
          [leaseMs, id, holder, fence],
        );
        return renewed > 0;
      }),
    releaseAll: (holder) =>
      database.write(async (sql) => {
        await sql.run('UPDATE nameservers SET holder = NULL, lease_until = 0 WHERE holder = ?', [
          holder,
        ]);
      }),
    outbox,
    countChanges,
    isBehind: async (id, changes) => (await countChanges(id)) > changes.length,
    async desired(server) {
      const slicer = newSlicer();
      const { pool_id: pool } = server;
      const zones = await zoneNamesOf(database.reads, pool);
      const candidates = await candidatesOf(database, store, pool, slicer);
      const retiredNames = (await logs?.retiredNames(database.reads, pool)) ?? [];
      return { ...(await desire(server, zones, candidates, slicer)), retiredNames };
    },
    deliveries: (id) => readDeliveries(database.reads, id),
    record: (id, holder, fence, pass) =>
      database.write(async (sql) => {
        const lag = await recordPass(sql, database.dialect.nowMs, [id, holder, fence], pass);
        await logs?.record(sql, database.dialect.rowLock, id, pass.log);
        return lag;
      }),
    fail: (id, holder, fence, failure) =>
      database.write(async (sql) => {
        const attempts = await recordFailure(sql, now, [id, holder, fence], failure, clock);
        if (failure.log !== undefined)
          await logs?.record(sql, database.dialect.rowLock, id, failure.log);
        return attempts;
      }),
    begin: (id, holder, fence, rows, stamps) =>
      database.write(async (sql) => {
        const changes: Fragment[] = [['applied_hash = NULL'], ['stamps = ?', stamps.join(' ')]];
        await changeServer(sql, changes, isLeased, [id, holder, fence]);
        await putDeliveries(sql, id, rows);
      }),
    hold: (id, holder, fence, { stamps, held, rows, since }) =>
      database.write(async (sql) => {
        const changes: Fragment[] = [
          ['stamps = ?', stamps.join(' ')],
          ['held = ?', JSON.stringify(held)],
        ];
        await changeServer(sql, changes, isLeased, [id, holder, fence]);
        const changed = await sql.all(
          'SELECT id FROM tsigkeys WHERE coalesce(updated_at, created_at) >= ?',
          [since],
        );
        const ids = new Set(changed.map((row) => String(row.id)));
        const kept = rows.filter(({ keyId }) => !ids.has(keyId));
        await putDeliveries(sql, id, kept);
        return kept;
      }),
    assign: (id, holder, fence, { plan, stamps, rows, isApplied }) =>
      database.write(async (sql) => {
        const changes: Fragment[] = [
          ['plan = ?', JSON.stringify(plan)],
          ['stamps = ?', stamps.join(' ')],
          ...(isApplied ? [] : [['applied_hash = NULL'] as const]),
        ];
        await changeServer(sql, changes, OWNED, [id, holder, fence]);
        await putDeliveries(sql, id, rows);
      }),
    async assigned(id, holder, fence) {
      const row = await database.reads.one(
        `SELECT plan, stamps FROM nameservers WHERE ${OWNED} AND plan IS NOT NULL`,
        [id, holder, fence],
      );
      if (row === undefined) throw new LeaseLostError();
      const plan = JSON.parse(String(row.plan)) as PassPlan; // only `assign` writes this column
      return { plan, stamps: stampsIn(row) };
    },
    intend: (id, holder, fence, rows) =>
      database.write(async (sql) => {
        if (rows.length === 0) return;
        const row = await sql.one(
          `SELECT 1 AS found FROM nameservers WHERE ${OWNED}${database.dialect.rowLock}`,
          [id, holder, fence],
        );
        if (row === undefined) throw new LeaseLostError();
        await putDeliveries(sql, id, rows);
      }),
    leave: (id, keys, stamp) => database.write((sql) => recordLeftovers(sql, now, id, keys, stamp)),
    checkNow: (ids) =>
      database.write(async (sql) => {
        const release = database.exclusive ? ', holder = NULL, lease_until = 0' : '';
        for (const id of ids)
          await sql.run(
            `UPDATE nameservers SET check_at = 0${release} WHERE id = ? AND delivery = 'service'`,
            [id],
          );
      }),
    seen: (ids) =>
      database.write(async (sql) => {
        if (ids.length > 0)
          await sql.run(
            `UPDATE nameservers SET seen_at = ${now}
              WHERE id IN (${places(ids.length)}) AND delivery = 'service'`,
            ids,
          );
      }),
  };
}

/** Changes the row of a claimed name server. Throws `LeaseLostError`. */
async function changeServer(
  sql: Sql,
  changes: readonly Fragment[],
  condition: string,
  lease: Lease,
): Promise<void> {
  const { text, parameters } = joined(changes, ', ');
  const values = [...parameters, ...lease];
  const changed = await sql.run(`UPDATE nameservers SET ${text} WHERE ${condition}`, values);
  if (changed === 0) throw new LeaseLostError();
}

/** Implements `DeliveryStore.record`. */
async function recordPass(
  sql: Sql,
  nowMs: string,
  lease: Lease,
  pass: PassRecord,
): Promise<number | undefined> {
  const [id] = lease;
  const row = await sql.one(
    `SELECT ${nowMs} - min(at) AS lag FROM outbox WHERE nameserver_id = ?`,
    [id],
  );
  await recordServer(sql, nowMs, OWNED, lease, pass);
  for (const ids of parts(pass.outbox, ...ROWS))
    await sql.run(`DELETE FROM outbox WHERE nameserver_id = ? AND id IN (${places(ids.length)})`, [
      id,
      ...ids,
    ]);
  const { changedRows, removedIds, events } = pass.deliveries;
  for (const ids of parts(removedIds, ...ROWS))
    await sql.run(
      `DELETE FROM deliveries WHERE nameserver_id = ? AND key_id IN (${places(ids.length)})`,
      [id, ...ids],
    );
  await putDeliveries(sql, id, changedRows);
  await insertRecords(sql, events);
  const { lag } = row ?? {};
  return pass.outbox.length === 0 || lag === null || lag === undefined
    ? undefined
    : Number(lag) / 1000;
}
