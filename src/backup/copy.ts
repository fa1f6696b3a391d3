import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../core/errors.ts';
import type { Reader, Store } from '../core/ports.ts';
import { COPIED_TYPES, RESOURCE_TYPES } from '../resources/resources.ts';
import type { ResourceType } from '../core/resource.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { keyed } from '../core/query.ts';
import { allResources } from '../sql/reader.ts';

/**
 * Copies every resource of `from` to `to`, with ids, timestamps and token hashes. Then compares the
 * copies with the originals. No service may use either database. Returns the number of copied
 * resources of each collection. Throws `bad_request` if the comparison fails, and `unavailable` if
 * a database fails.
 */
export async function copyResources(from: Reader, to: Store): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const type of COPIED_TYPES) {
    let count = 0;
    for await (const rows of allResources(type, from)) {
      const all = rows.map((row) => keyed(type, row));
      await to.write((writer) => writer.putAll(type, all));
      count += rows.length;
    }
    // A database without rotations has no rows of them to speak of.
    if (count > 0 || RESOURCE_TYPES.includes(type)) counts.set(type.collection, count);
  }
  for (const type of COPIED_TYPES) await compare(type, from, to);
  for await (const keys of allResources(tsigkey, from))
    for (const { id, granted } of keys) if (granted !== null) await copyGrants(id, from, to);
  return counts;
}

/** Copies and compares the rights of a key in single zones, once its zones are copied. */
async function copyGrants(keyId: string, from: Reader, to: Store): Promise<void> {
  const zones = await from.zoneRights(keyId);
  await to.write((writer) => writer.setZoneRights(keyId, zones));
  if (!isDeepStrictEqual(await to.zoneRights(keyId), zones))
    throw new ServiceError(
      'bad_request',
      `The copy of the grants of tsigkey '${keyId}' differs from the original. Stop all services that use either database, and repeat the command with an empty target`,
    );
}

/**
 * Throws `bad_request` if `to` contains resources that `from` lacks. It may contain others, so that
 * an interrupted copy can be repeated.
 */
export async function assertOnlyResourcesOf(from: Reader, to: Reader): Promise<void> {
  for (const type of COPIED_TYPES) await assertNoOtherResources(type, from, to);
}

async function assertNoOtherResources(type: ResourceType, from: Reader, to: Reader): Promise<void> {
  for await (const rows of allResources(type, to)) {
    const ids = rows.map(({ id }) => id);
    const sourceIds = await from.present(type, 'id', ids);
    const other = rows.find((row) => !sourceIds.has(row.id));
    if (other !== undefined) {
      throw new ServiceError(
        'bad_request',
        `The target contains ${type.collection} that the source does not contain, such as '${other.id}'. Use an empty target. Nothing was copied.`,
      );
    }
  }
}

async function compare(type: ResourceType, from: Reader, to: Reader): Promise<void> {
  const [wanted, found] = [await from.count(type, []), await to.count(type, [])];
  if (wanted !== found)
    throw new ServiceError(
      'bad_request',
      `The copy has ${found} ${type.collection} instead of ${wanted}. Stop all services that use either database, and repeat the command with an empty target`,
    );
  for await (const rows of allResources(type, from)) {
    const copies = new Map(
      (
        await to.find(
          type,
          'id',
          rows.map(({ id }) => id),
        )
      ).map((row) => [row.id, row]),
    );
    const different = rows.find((row) => !isDeepStrictEqual({ ...row }, { ...copies.get(row.id) }));
    if (different !== undefined)
      throw new ServiceError(
        'bad_request',
        `The copy of ${type.noun} '${different.id}' differs from the original. Stop all services that use either database, and repeat the command with an empty target`,
      );
  }
}
