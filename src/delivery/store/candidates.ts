import type { Candidate } from '../delivery-ports.ts';
import type { Store } from '../../core/ports.ts';
import { tsigkey, type Tsigkey } from '../../resources/tsigkey.ts';
import { nextIfOver, partsInSlices, type Slicer } from '../../core/scheduling/slicer.ts';
import { pages } from '../../sql/reader.ts';
import type { Database, Sql } from '../../sql/sql.ts';
import { among } from '../../sql/table.ts';

const KEYS_PER_PAGE = 200;

const ZONES_PER_PAGE = 2000;

/**
 * Returns the keys of a pool and of its zones, each with the zones that it applies to. Reads the
 * ids first, and then the keys in slices, so that other requests can run in between. Reads them
 * again if a key has another resource by then: its version would stand for the former zones.
 */
export async function candidatesOf(
  database: Pick<Database, 'reads' | 'dialect'>,
  store: Pick<Store, 'find'>,
  poolId: string,
  slicer: Slicer,
): Promise<Candidate[]> {
  const { reads, dialect } = database;
  const targets = new Map<
    string,
    { readonly resource: string; readonly zones: 'all' | string[] }
  >();
  const ofPool = await reads.all(
    `SELECT id FROM tsigkeys WHERE resource_id = ? AND scope = 'POOL'`,
    [poolId],
  );
  for (const { id } of ofPool) targets.set(String(id), { resource: poolId, zones: 'all' });
  await nextIfOver(slicer);
  // Join from the keys to their zones, because a pool may have far more zones than keys.
  const ofZones = await reads.all(
    `SELECT tsigkeys.id AS id, zones.id AS zone_id, zones.name AS zone FROM tsigkeys
      JOIN zones ON zones.id = ${dialect.aside('tsigkeys.resource_id')}
      WHERE tsigkeys.scope = 'ZONE' AND ${dialect.aside('zones.pool_id')} = ?`,
    [poolId],
  );
  for (const { id, zone_id: zoneId, zone } of ofZones)
    targets.set(String(id), { resource: String(zoneId), zones: [String(zone)] });
  const candidates: Candidate[] = [];
  for await (const some of partsInSlices([...targets.keys()], slicer, KEYS_PER_PAGE)) {
    const { keys, zoneRights } = await readKeys(reads, store, some);
    const successors = await successorsOf(reads, some);
    for (const key of keys) {
      const { resource, zones = [] } = targets.get(key.id) ?? {};
      if (key.resource_id !== resource) return candidatesOf(database, store, poolId, slicer);
      const successorId = successors.get(key.id);
      candidates.push({ key, zones, zoneRights: zoneRights.get(key.id) ?? NONE, successorId });
    }
  }
  return candidates;
}

/** Returns the ids of the keys that replace `ids` and that all clients have. */
async function successorsOf(
  reads: Sql,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const from = 'SELECT id, successor_id FROM tsigkey_lifecycles';
  const { text, parameters } = among(from, 'id', ids);
  const rows = await reads.all(`${text} AND state = 'draining'`, parameters);
  return new Map(rows.map((row) => [String(row.id), String(row.successor_id)]));
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Keys, and the rights that their grants state for single zones, by key id and zone name. */
interface ReadKeys {
  readonly keys: readonly Tsigkey[];
  readonly zoneRights: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/**
 * Reads keys with their grants. Reads both again if a version has changed meanwhile, because the
 * grants could otherwise be those of another version.
 */
async function readKeys(
  reads: Sql,
  store: Pick<Store, 'find'>,
  ids: readonly string[],
): Promise<ReadKeys> {
  for (;;) {
    const keys = await store.find(tsigkey, 'id', ids);
    const own = keys.filter((key) => key.granted !== null);
    if (own.length === 0) return { keys, zoneRights: new Map() };
    const some = own.map(({ id }) => id);
    const zoneRights = await readGrants(reads, some);
    const { text, parameters } = among('SELECT id, version FROM tsigkeys', 'id', some);
    const rows = await reads.all(text, parameters);
    const versions = new Map(rows.map(({ id, version }) => [String(id), Number(version)]));
    if (own.every(({ id, version }) => versions.get(id) === version)) return { keys, zoneRights };
  }
}

async function readGrants(reads: Sql, keyIds: readonly string[]): Promise<ReadKeys['zoneRights']> {
  const granted = new Map<string, Map<string, string>>();
  const from = `SELECT key_id, zone_id, zones.name AS zone, rights FROM tsigkey_grants
    JOIN zones ON zones.id = zone_id`;
  const all = pages(
    ZONES_PER_PAGE,
    (after) => {
      const { text, parameters } = among(from, 'key_id', keyIds);
      return reads.all(
        `${text} AND (key_id, zone_id) > (?, ?) ORDER BY key_id, zone_id LIMIT ${ZONES_PER_PAGE}`,
        [...parameters, after.slice(0, UUID_LENGTH), after.slice(UUID_LENGTH)],
      );
    },
    (row) => String(row.key_id) + String(row.zone_id),
  );
  for await (const rows of all)
    for (const { key_id: id, zone, rights } of rows) {
      const own = granted.get(String(id)) ?? new Map<string, string>();
      granted.set(String(id), own.set(String(zone), String(rights)));
    }
  return granted;
}

const UUID_LENGTH = 36;

export async function zoneNamesOf(reads: Sql, poolId: string): Promise<string[]> {
  const names: string[] = [];
  const all = pages(
    ZONES_PER_PAGE,
    (after) =>
      reads.all(
        `SELECT name, tree_key FROM zones WHERE pool_id = ? AND tree_key > ?
          ORDER BY tree_key LIMIT ${ZONES_PER_PAGE}`,
        [poolId, after],
      ),
    (row) => String(row.tree_key),
  );
  for await (const rows of all) for (const { name } of rows) names.push(String(name));
  return names;
}
