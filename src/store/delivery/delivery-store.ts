import { LeaseLostError, type Claim, type DeliveryStore } from '../../domain/delivery/ports.ts';
import type { Clock, Store } from '../../domain/model/ports.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import type { Database } from '../sql/sql.ts';
import { tablesIn } from '../sql/table.ts';
import { candidatesOf, zoneNamesOf } from './candidates.ts';
import { places } from './outbox.ts';
import {
  chunks,
  COLUMNS,
  deliveryOf,
  putDeliveries,
  recordFailure,
  recordServer,
} from './pass-records.ts';

/** A failure is at least this old before a new change starts another attempt. */
const RETRY_AFTER_CHANGE_MS = 1000;

/** Creates the state of delivery in an open database. */
export function createDeliveryStore(database: Database, store: Store, clock: Clock): DeliveryStore {
  const now = database.dialect.nowMs;
  const table = tablesIn(database.dialect, database.keyring)(nameServer);
  const rowsOf = `(SELECT count(*) FROM outbox WHERE outbox.nameserver_id = nameservers.id)`;
  const hasWork = `paused = 0 AND (holder IS NULL OR lease_until < ${now}) AND (check_at <= ${now}
    OR (EXISTS (SELECT 1 FROM outbox WHERE outbox.nameserver_id = nameservers.id)
      AND (retry_at <= ${now}
        OR (failed_at <= ${now} - ${RETRY_AFTER_CHANGE_MS} AND ${rowsOf} > failed_rows))))`;
  const owned = 'id = ? AND holder = ? AND fence = ?';

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
    claim: (id, holder, leaseMs) =>
      database.write(async (sql): Promise<Claim | undefined> => {
        const claimed = await sql.run(
          `UPDATE nameservers SET holder = ?, lease_until = ${now} + ?, fence = fence + 1
            WHERE id = ? AND ${hasWork}`,
          [holder, leaseMs, id],
        );
        if (claimed === 0) return undefined;
        const row = await sql.one(
          `SELECT ${table.columns.join(', ')}, fence, applied_hash, confirmed, refusals,
            CASE WHEN probe_at <= ${now} THEN 1 ELSE 0 END AS probes_all
            FROM nameservers WHERE id = ?`,
          [id],
        );
        if (row === undefined) return undefined;
        const { fence, applied_hash: hash, confirmed, refusals, probes_all: probes, ...rest } = row;
        return {
          server: table.decode(rest),
          fence: Number(fence),
          appliedHash: typeof hash === 'string' ? hash : null,
          probesAll: Number(probes) === 1,
          isConfirmed: Number(confirmed) === 1,
          refusals: Number(refusals),
        };
      }),
    async holds(id, holder, fence) {
      const row = await database.reads.one(
        `SELECT 1 AS found FROM nameservers WHERE ${owned} AND lease_until > ${now}`,
        [id, holder, fence],
      );
      return row !== undefined;
    },
    renew: (id, holder, fence, leaseMs) =>
      database.write(async (sql) => {
        const renewed = await sql.run(
          `UPDATE nameservers SET lease_until = ${now} + ? WHERE ${owned}`,
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
    async outbox(id) {
      const rows = await database.reads.all('SELECT id FROM outbox WHERE nameserver_id = ?', [id]);
      return rows.map((row) => String(row.id));
    },
    candidates: (poolId) => candidatesOf(database, store, poolId),
    zoneNames: (poolId) => zoneNamesOf(database.reads, poolId),
    async deliveries(id) {
      const rows = await database.reads.all(
        `SELECT ${COLUMNS.join(', ')} FROM deliveries WHERE nameserver_id = ?`,
        [id],
      );
      return rows.map(deliveryOf);
    },
    record: (id, holder, fence, pass) =>
      database.write(async (sql) => {
        const row = await sql.one(
          `SELECT ${now} - min(at) AS lag FROM outbox WHERE nameserver_id = ?`,
          [id],
        );
        await recordServer(sql, now, owned, [id, holder, fence], pass);
        for (const ids of chunks(pass.outbox))
          await sql.run(
            `DELETE FROM outbox WHERE nameserver_id = ? AND id IN (${places(ids.length)})`,
            [id, ...ids],
          );
        for (const ids of chunks(pass.removed))
          await sql.run(
            `DELETE FROM deliveries WHERE nameserver_id = ? AND key_id IN (${places(ids.length)})`,
            [id, ...ids],
          );
        await putDeliveries(sql, id, pass.changed);
        const { lag } = row ?? {};
        return pass.outbox.length === 0 || lag === null || lag === undefined
          ? undefined
          : Number(lag) / 1000;
      }),
    fail: (id, holder, fence, failure) =>
      database.write((sql) => recordFailure(sql, now, rowsOf, [id, holder, fence], failure, clock)),
    intend: (id, holder, fence, rows) =>
      database.write(async (sql) => {
        if (rows.length === 0) return;
        const row = await sql.one(
          `SELECT 1 AS found FROM nameservers WHERE ${owned}${database.dialect.rowLock}`,
          [id, holder, fence],
        );
        if (row === undefined) throw new LeaseLostError();
        await putDeliveries(sql, id, rows);
      }),
    checkNow: (ids) =>
      database.write(async (sql) => {
        const release = database.exclusive ? ', holder = NULL, lease_until = 0' : '';
        for (const id of ids)
          await sql.run(`UPDATE nameservers SET check_at = 0${release} WHERE id = ?`, [id]);
      }),
    seen: (ids) =>
      database.write(async (sql) => {
        if (ids.length > 0)
          await sql.run(
            `UPDATE nameservers SET seen_at = ${now} WHERE id IN (${places(ids.length)})`,
            ids,
          );
      }),
    request: (id, confirm) => requestPass(database, id, confirm),
  };
}

/** Lets the next pass of a name server start at once and probe all keys. */
export async function requestPass(
  { write }: Pick<Database, 'write'>,
  id: string,
  confirm: boolean,
): Promise<void> {
  await write(async (sql) => {
    await sql.run(
      `UPDATE nameservers SET check_at = 0, probe_at = 0, retry_at = 0, refusals = 0, confirmed = ?
        WHERE id = ?`,
      [confirm ? 1 : 0, id],
    );
  });
}
