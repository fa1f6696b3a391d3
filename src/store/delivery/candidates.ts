import type { Candidate } from '../../domain/delivery/delivery-ports.ts';
import type { Store } from '../../domain/model/ports.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { nextIfOver, partsInSlices, type Slicer } from '../../domain/scheduling/slicer.ts';
import { pages } from '../sql/reader.ts';
import type { Database, Sql } from '../sql/sql.ts';

const KEYS_PER_PAGE = 200;

/** The number of zone names that one statement reads. */
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
  const found = new Map<string, { readonly resource: string; readonly zones: 'all' | string[] }>();
  const ofPool = await reads.all(
    `SELECT id FROM tsigkeys WHERE resource_id = ? AND scope = 'POOL'`,
    [poolId],
  );
  for (const { id } of ofPool) found.set(String(id), { resource: poolId, zones: 'all' });
  await nextIfOver(slicer);
  // Join from the keys to their zones, because a pool may have far more zones than keys.
  const ofZones = await reads.all(
    `SELECT tsigkeys.id AS id, zones.id AS zone_id, zones.name AS zone FROM tsigkeys
      JOIN zones ON zones.id = ${dialect.aside('tsigkeys.resource_id')}
      WHERE tsigkeys.scope = 'ZONE' AND ${dialect.aside('zones.pool_id')} = ?`,
    [poolId],
  );
  for (const { id, zone_id: zoneId, zone } of ofZones)
    found.set(String(id), { resource: String(zoneId), zones: [String(zone)] });
  const candidates: Candidate[] = [];
  for await (const some of partsInSlices([...found.keys()], slicer, KEYS_PER_PAGE)) {
    for (const key of await store.find(tsigkey, 'id', some)) {
      const { resource, zones = [] } = found.get(key.id) ?? {};
      if (key.resource_id !== resource) return candidatesOf(database, store, poolId, slicer);
      candidates.push({ key, zones });
    }
  }
  return candidates;
}

/** Returns the names of the zones of a pool, in slices. */
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
