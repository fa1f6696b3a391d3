import { randomUUID } from 'node:crypto';
import type { AuditEntry } from '../../core/audit-record.ts';
import type { DeliveryStatus } from '../delivery-ports.ts';
import type { ServerStatus } from '../../resources/operations/live-status.ts';
import { timestampOf } from '../../core/text/timestamps.ts';
import type { Clock, Store } from '../../core/ports.ts';
import type { RemovingKeys } from '../responses.ts';
import type { Database, Sql, SqlRow } from '../../sql/sql.ts';
import { insertRecord } from '../../audit/store/records.ts';
import { createAgentStore } from './agent-store.ts';
import { reduceOutboxes } from './claims.ts';
import { createDeliveryStore } from './delivery-store.ts';
import type { LogStore } from './log-store.ts';
import { deliveryOf, putDeliveries } from './pass-records.ts';
import { addRows } from './outbox.ts';
import { createPlacesReader, rowsOf } from './key-places.ts';

/** How long a process counts as serving a name server after its last report, in milliseconds. */
const SEEN_MS = 35_000;

const MAX_REMOVING = 1000;

export function openDelivery(database: Database, store: Store, clock: Clock, logs?: LogStore) {
  return {
    deliveries: createDeliveryStore(database, store, clock, logs),
    agents: createAgentStore(database),
    status: createDeliveryStatus(database, store),
    reduceOutboxes: () => reduceOutboxes(database),
  };
}

export function createDeliveryStatus(
  database: Database,
  store: Store,
): Omit<DeliveryStatus, 'milliseconds' | 'changed' | 'check'> {
  const { reads, dialect } = database;
  const { nowMs } = dialect;
  const statuses = (ids: readonly string[]) => readStatuses(reads, nowMs, ids);
  const ofKeys = createPlacesReader(reads, store, statuses);
  /** Runs a change that passes must see at once. */
  const announcing = async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
    const result = await database.write(work);
    store.announced();
    return result;
  };
  return {
    statuses,
    ofKeys,
    removing: () => readRemoving(reads),
    request: (id, confirmation) =>
      announcing(async (sql) => {
        await requestPass(sql, id, confirmation !== undefined);
        if (confirmation !== undefined) await insertRecord(sql, confirmation);
      }),
    resume: (id, entry) => announcing((sql) => resume(sql, nowMs, id, entry)),
    release: (id, entry) => announcing((sql) => release(sql, id, entry)),
    removeKey: (id, name, entry) => announcing((sql) => removeKey(sql, nowMs, id, name, entry)),
  };
}

async function readStatuses(
  sql: Sql,
  nowMs: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ServerStatus>> {
  const rows = await rowsOf(
    sql,
    ids,
    (named) => `SELECT id, CASE WHEN seen_at > ${nowMs} - ${SEEN_MS}
        OR (delivery = 'agent' AND lease_until > ${nowMs}) THEN 1 ELSE 0 END AS served, CASE WHEN check_at = 0 THEN 1 ELSE 0 END AS requested,
        (SELECT min(at) FROM outbox WHERE nameserver_id = nameservers.id) AS pending
        FROM nameservers WHERE id IN (${named})`,
  );
  return new Map(rows.map((row) => [String(row.id), statusOf(row)]));
}

/** Implements `DeliveryStatus.removing`. */
async function readRemoving(sql: Sql): Promise<RemovingKeys['deliveries']> {
  // Only a name server with a pending change or a failed attempt can have keys to remove.
  const rows = await sql.all(
    `SELECT nameservers.name AS server, deliveries.* FROM nameservers
      JOIN deliveries ON deliveries.nameserver_id = nameservers.id
      LEFT JOIN tsigkeys ON tsigkeys.id = deliveries.key_id
      WHERE (nameservers.attempts > 0 OR EXISTS
        (SELECT 1 FROM outbox WHERE outbox.nameserver_id = nameservers.id))
      AND deliveries.delivered_version > 0
      AND (deliveries.state = 'removing' OR (tsigkeys.id IS NULL
        AND (deliveries.state <> 'undeliverable' OR deliveries.applied_at IS NOT NULL)))
      ORDER BY nameservers.name, deliveries.key_name LIMIT ${MAX_REMOVING}`,
    [],
  );
  return rows.map((row) => {
    const { keyId, keyName, deliveredVersion, error } = deliveryOf(row);
    return {
      name_server: String(row.server),
      key_id: keyId,
      key_name: keyName,
      state: 'removing' as const,
      delivered_version: deliveredVersion,
      error,
    };
  });
}

/** Requests an immediate pass for a name server. The pass probes all keys. */
export async function requestPass(sql: Sql, id: string, confirm: boolean): Promise<void> {
  await sql.run(
    'UPDATE nameservers SET check_at = 0, probe_at = 0, retry_at = 0, confirmed = ? WHERE id = ?',
    [confirm ? 1 : 0, id],
  );
}

async function resume(
  sql: Sql,
  nowMs: string,
  id: string | undefined,
  entry: AuditEntry,
): Promise<readonly string[]> {
  const condition = `held IS NOT NULL${id === undefined ? '' : ' AND id = ?'}`;
  const parameters = id === undefined ? [] : [id];
  const rows = await sql.all(
    `SELECT id, name, held FROM nameservers WHERE ${condition} ORDER BY name`,
    parameters,
  );
  const servers = rows.map((row) => ({ name: String(row.name), ...readHeld(row) }));
  await insertRecord(sql, { ...entry, detail: { ...entry.detail, name_servers: servers } });
  if (rows.length === 0) return [];
  await sql.run(
    `UPDATE deliveries SET state = 'pending' WHERE state = 'held' AND nameserver_id IN
      (SELECT id FROM nameservers WHERE ${condition})`,
    parameters,
  );
  await addRows(sql, nowMs, condition, parameters);
  await sql.run(
    `UPDATE nameservers SET held = NULL, applied_hash = NULL, check_at = 0, retry_at = 0
      WHERE ${condition}`,
    parameters,
  );
  return servers.map(({ name }) => name);
}

async function release(sql: Sql, id: string, entry: AuditEntry): Promise<number> {
  await sql.run(
    `UPDATE nameservers SET fence = fence + 1, applied_hash = NULL, applied_rights = NULL,
      state = 'pending', error_code = NULL, error = NULL, attempts = 0,
      next_attempt_at = NULL, keys_live = 0, held = NULL, confirmed = 0, unknown_keys = '[]',
      key_references = NULL, check_at = 0, probe_at = 0, retry_at = 0 WHERE id = ?`,
    [id],
  );
  const row = await sql.one(
    `SELECT count(*) AS count FROM deliveries WHERE nameserver_id = ?
      AND (state <> 'undeliverable' OR applied_at IS NOT NULL)`,
    [id],
  );
  const keys = Number(row?.count);
  for (const table of ['outbox', 'deliveries'])
    await sql.run(`DELETE FROM ${table} WHERE nameserver_id = ?`, [id]);
  await insertRecord(sql, { ...entry, detail: { ...entry.detail, keys } });
  return keys;
}

async function removeKey(
  sql: Sql,
  nowMs: string,
  id: string,
  name: string,
  entry: AuditEntry,
): Promise<boolean> {
  const row = await sql.one('SELECT unknown_keys FROM nameservers WHERE id = ?', [id]);
  const unknown: unknown = row === undefined ? [] : JSON.parse(String(row.unknown_keys));
  if (!Array.isArray(unknown) || !unknown.includes(name)) return false;
  await insertRecord(sql, entry);
  await sql.run('UPDATE nameservers SET unknown_keys = ? WHERE id = ?', [
    JSON.stringify(unknown.filter((each) => each !== name)),
    id,
  ]);
  await putDeliveries(sql, id, [
    {
      keyId: randomUUID(),
      keyName: name,
      state: 'removing',
      deliveredVersion: 1,
      appliedAt: null,
      verifiedAt: null,
      error: null,
    },
  ]);
  await addRows(sql, nowMs, 'id = ?', [id]);
  return true;
}

/** Returns the counts and the names of the keys that a hold leaves undelivered. */
function readHeld({ held }: SqlRow): object {
  return typeof held === 'string' ? (JSON.parse(held) as object) : {};
}

function statusOf({ served, pending, requested }: SqlRow): ServerStatus {
  return {
    isRequested: Number(requested) === 1,
    isServed: Number(served) === 1,
    pendingSince: pending === null ? null : timestampOf(Number(pending)),
  };
}
