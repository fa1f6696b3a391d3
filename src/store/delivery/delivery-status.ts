import { randomUUID } from 'node:crypto';
import type {
  DeliveredKey,
  DeliveryStatus,
  KeyOnServer,
  ServerStatus,
} from '../../domain/delivery/delivery-ports.ts';
import { timestampOf } from '../../domain/text/timestamps.ts';
import type { Clock, Store } from '../../domain/model/ports.ts';
import { readInBatches } from '../../domain/scheduling/batches.ts';
import { parts } from '../../domain/scheduling/slicer.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import type { Database, SqlRow } from '../sql/sql.ts';
import { insertRecord } from '../sql/audit-records.ts';
import { createAgentStore } from './agent-store.ts';
import { reduceOutboxes } from './claims.ts';
import { createDeliveryStore, requestPass } from './delivery-store.ts';
import { readUses, RETIRED } from './key-uses.ts';
import { deliveryOf, putDeliveries } from './pass-records.ts';
import { addRows, places } from './outbox.ts';

/** How long a process counts as serving a name server after its last report, in milliseconds. */
const SEEN_MS = 35_000;

const MAX_IDS = 100;

const MAX_REMOVING = 1000;

/** Returns the delivery operations of an open database: for the reconciler, agents and callers. */
export function openDelivery(database: Database, store: Store, clock: Clock) {
  return {
    deliveries: createDeliveryStore(database, store, clock),
    agents: createAgentStore(database),
    status: createDeliveryStatus(database, store),
    reduceOutboxes: () => reduceOutboxes(database),
  };
}

/** Returns the operations that read the status of delivery or request a pass. */
export function createDeliveryStatus(
  database: Database,
  store: Store,
): Omit<DeliveryStatus, 'milliseconds' | 'changed' | 'check'> {
  const { nowMs } = database.dialect;
  /** Returns the rows of a query about at most 100 ids at a time. `places` stands for the ids. */
  const rowsOf = async (ids: readonly string[], query: (places: string) => string) => {
    const rows: SqlRow[][] = [];
    for (const some of parts(ids, MAX_IDS))
      rows.push(await database.reads.all(query(places(some.length)), some, 'once'));
    return rows.flat(); // not spread as arguments: there may be more than the stack takes
  };
  const statuses = async (ids: readonly string[]) => {
    const rows = await rowsOf(
      ids,
      (named) => `SELECT id, CASE WHEN seen_at > ${nowMs} - ${SEEN_MS}
          OR (delivery = 'agent' AND lease_until > ${nowMs}) THEN 1 ELSE 0 END AS served, CASE WHEN check_at = 0 THEN 1 ELSE 0 END AS requested,
          (SELECT min(at) FROM outbox WHERE nameserver_id = nameservers.id) AS pending
          FROM nameservers WHERE id IN (${named})`,
    );
    return new Map(rows.map((row) => [String(row.id), statusOf(row)]));
  };
  // Many callers may wait for the delivery of keys to the same name servers.
  const serversOf = readInBatches(async (ids) => {
    const live = await statuses(ids);
    const servers = await store.find(nameServer, 'id', ids);
    return new Map(servers.map((server) => [server.id, { server, live: live.get(server.id) }]));
  });
  const serverIdsOf = readInBatches(async (pools) => {
    const rows = await rowsOf(
      pools,
      (named) => `SELECT pool_id, id FROM nameservers WHERE pool_id IN (${named})`,
    );
    return groupedBy(rows, 'pool_id');
  });
  const deliveriesOf = readInBatches(async (keys) => {
    const rows = await rowsOf(
      keys,
      (named) => `SELECT * FROM deliveries WHERE key_id IN (${named})`,
    );
    return groupedBy(rows, 'key_id');
  });
  const changesOf = readInBatches(async (keys) => {
    const rows = await rowsOf(
      keys,
      (named) =>
        `SELECT DISTINCT key_id, nameserver_id FROM outbox WHERE tried = 0 AND key_id IN (${named})`,
    );
    return groupedBy(rows, 'key_id');
  });
  const changesOfAny = readInBatches(async (servers) => {
    const rows = await rowsOf(
      servers,
      (named) => `SELECT id AS nameserver_id FROM nameservers WHERE id IN (${named}) AND EXISTS (
        SELECT 1 FROM outbox WHERE nameserver_id = nameservers.id AND tried = 0 AND key_id IS NULL)`,
    );
    return groupedBy(rows, 'nameserver_id');
  });
  const poolsOfZones = readInBatches(async (zones) => {
    const rows = await rowsOf(
      zones,
      (named) => `SELECT id, pool_id FROM zones WHERE id IN (${named})`,
    );
    return new Map(rows.map((row) => [String(row.id), String(row.pool_id)]));
  });
  const ofKeys = async (keys: readonly DeliveredKey[]): Promise<KeyOnServer[][]> => {
    const zones = keys.flatMap(({ scope, resource_id: id }) => (scope === 'ZONE' ? [id] : []));
    const poolsOfThese = zones.length === 0 ? new Map<string, string>() : await poolsOfZones(zones);
    // A key whose zone does not exist has no pool.
    const poolOf = ({ scope, resource_id: id }: DeliveredKey) =>
      scope === 'POOL' ? id : (poolsOfThese.get(id) ?? '');
    const wanted = await serverIdsOf([...new Set(keys.map(poolOf))]);
    const ids = keys.map(({ id }) => id);
    // Read before the result of the last attempt. A later attempt would not include the changes.
    const changes = await changesOf(ids);
    const ofAny = await changesOfAny([...wanted.values()].flat().map(({ id }) => String(id)));
    const rows = await deliveriesOf(ids);
    const idsOf = (key: DeliveredKey) => [
      ...new Set([
        ...(wanted.get(poolOf(key)) ?? []).map(({ id }) => String(id)),
        ...(rows.get(key.id) ?? []).map((row) => String(row.nameserver_id)),
      ]),
    ];
    const servers = await serversOf([...new Set(keys.flatMap(idsOf))]);
    return keys.map((key) =>
      idsOf(key)
        .flatMap((id) => servers.get(id) ?? [])
        .toSorted((one, other) => (one.server.name < other.server.name ? -1 : 1))
        .map(({ server, live }): KeyOnServer => {
          const row = rows.get(key.id)?.find((each) => each.nameserver_id === server.id);
          return {
            server,
            status: live ?? { isServed: false, pendingSince: null, isRequested: false },
            isUntried:
              live?.isRequested === true ||
              ofAny.has(server.id) ||
              changes.get(key.id)?.some((each) => each.nameserver_id === server.id) === true,
            isWanted: server.pool_id === poolOf(key),
            delivery: row === undefined ? undefined : deliveryOf(row),
          };
        }),
    );
  };
  return {
    statuses,
    ofKeys,
    ofKey: async (key) => (await ofKeys([key]))[0] ?? [],
    usesOfRetired: async (keyIds) => (await readUses(database.reads, keyIds, [], RETIRED)).uses,
    uses: (keyIds, serverIds) => readUses(database.reads, keyIds, serverIds),
    async removing() {
      // Only a name server with a pending change or a failed attempt can have keys to remove.
      const rows = await database.reads.all(
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
    },
    request: (id, confirm) => requestPass(database, id, confirm),
    resume: (id, entry) =>
      database.write(async (sql) => {
        const condition = `held IS NOT NULL${id === undefined ? '' : ' AND id = ?'}`;
        const parameters = id === undefined ? [] : [id];
        const rows = await sql.all(
          `SELECT id, name, held FROM nameservers WHERE ${condition} ORDER BY name`,
          parameters,
        );
        const held = rows.map((row) => ({ name: String(row.name), ...readHeld(row) }));
        await insertRecord(sql, { ...entry, detail: { ...entry.detail, name_servers: held } });
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
        return held.map(({ name }) => name);
      }),
    release: (id, entry) =>
      database.write(async (sql) => {
        await sql.run(
          `UPDATE nameservers SET fence = fence + 1, applied_hash = NULL, applied_rights = NULL,
            state = 'pending', error_code = NULL, error = NULL, attempts = 0, refusals = 0,
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
      }),
    removeKey: (id, name, entry) =>
      database.write(async (sql) => {
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
      }),
  };
}

/** Returns the counts and the names of the keys that a hold leaves undelivered. */
function readHeld({ held }: SqlRow): object {
  return typeof held === 'string' ? (JSON.parse(held) as object) : {};
}

function groupedBy(rows: readonly SqlRow[], column: string): Map<string, SqlRow[]> {
  const groups = new Map<string, SqlRow[]>();
  for (const row of rows) {
    const group = groups.get(String(row[column]));
    if (group === undefined) groups.set(String(row[column]), [row]);
    else group.push(row);
  }
  return groups;
}

function statusOf({ served, pending, requested }: SqlRow): ServerStatus {
  return {
    isRequested: Number(requested) === 1,
    isServed: Number(served) === 1,
    pendingSince: pending === null ? null : timestampOf(Number(pending)),
  };
}
