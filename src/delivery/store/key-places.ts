import type { DeliveredKey, KeyOnServer } from '../delivery-ports.ts';
import type { ServerStatus } from '../../resources/operations/live-status.ts';
import type { Store } from '../../core/ports.ts';
import { nameServer } from '../../resources/name-server.ts';
import { readInBatches } from '../../core/scheduling/batches.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import type { Sql, SqlRow } from '../../sql/sql.ts';
import { places } from '../../sql/fragments.ts';
import { deliveryOf } from './pass-records.ts';

const MAX_IDS = 100;

/** Returns the rows of a query about at most 100 ids at a time. `query` gets the places of the ids. */
export async function rowsOf(
  sql: Sql,
  ids: readonly string[],
  query: (places: string) => string,
): Promise<SqlRow[]> {
  const rows: SqlRow[][] = [];
  for (const some of parts(ids, MAX_IDS))
    rows.push(await sql.all(query(places(some.length)), some, 'once'));
  return rows.flat(); // not spread as arguments: there may be more than the stack takes
}

/**
 * Returns a function that implements `DeliveryStatus.ofKeys`. Calls at the same time share their
 * statements, because many callers may wait for the delivery of keys to the same name servers.
 */
export function createPlacesReader(
  sql: Sql,
  store: Store,
  statuses: (ids: readonly string[]) => Promise<ReadonlyMap<string, ServerStatus>>,
): (keys: readonly DeliveredKey[]) => Promise<KeyOnServer[][]> {
  /** Reads the rows of a query about ids, by their column with the id. */
  const rowsBy = (column: string, query: (named: string) => string) =>
    readInBatches(async (ids) => groupedBy(await rowsOf(sql, ids, query), column));
  const serversOf = readInBatches(async (ids) => {
    const live = await statuses(ids);
    const servers = await store.find(nameServer, 'id', ids);
    return new Map(servers.map((server) => [server.id, { server, live: live.get(server.id) }]));
  });
  const serverIdsOf = rowsBy(
    'pool_id',
    (named) => `SELECT pool_id, id FROM nameservers WHERE pool_id IN (${named})`,
  );
  const deliveriesOf = rowsBy(
    'key_id',
    (named) => `SELECT * FROM deliveries WHERE key_id IN (${named})`,
  );
  const changesOf = rowsBy(
    'key_id',
    (named) =>
      `SELECT DISTINCT key_id, nameserver_id FROM outbox WHERE tried = 0 AND key_id IN (${named})`,
  );
  const changesOfAny = rowsBy(
    'nameserver_id',
    (named) => `SELECT id AS nameserver_id FROM nameservers WHERE id IN (${named}) AND EXISTS (
      SELECT 1 FROM outbox WHERE nameserver_id = nameservers.id AND tried = 0 AND key_id IS NULL)`,
  );
  const poolsOf = rowsBy('id', (named) => `SELECT id, pool_id FROM zones WHERE id IN (${named})`);

  return async (keys) => {
    const zones = keys.flatMap(({ scope, resource_id: id }) => (scope === 'ZONE' ? [id] : []));
    const pools = zones.length === 0 ? new Map<string, SqlRow[]>() : await poolsOf(zones);
    // A key whose zone does not exist has no pool.
    const poolOf = ({ scope, resource_id: id }: DeliveredKey) => {
      if (scope === 'POOL') return id;
      const [zone] = pools.get(id) ?? [];
      return zone === undefined ? '' : String(zone.pool_id);
    };
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
    const isOf = (id: string) => (row: SqlRow) => row.nameserver_id === id;
    return keys.map((key) =>
      idsOf(key)
        .flatMap((id) => servers.get(id) ?? [])
        .toSorted((one, other) => (one.server.name < other.server.name ? -1 : 1))
        .map(({ server, live }): KeyOnServer => {
          const row = rows.get(key.id)?.find(isOf(server.id));
          return {
            server,
            status: live ?? { isServed: false, pendingSince: null, isRequested: false },
            isUntried:
              live?.isRequested === true ||
              ofAny.has(server.id) ||
              changes.get(key.id)?.some(isOf(server.id)) === true,
            isWanted: server.pool_id === poolOf(key),
            delivery: row === undefined ? undefined : deliveryOf(row),
          };
        }),
    );
  };
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
