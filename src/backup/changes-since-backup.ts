import { isDeepStrictEqual } from 'node:util';
import type { ChainEnd } from '../audit/chain.ts';
import type { Keyring } from '../core/keyring.ts';
import type { Reader } from '../core/ports.ts';
import type { Fields, Given, ResourceOf, ResourceType } from '../core/resource.ts';
import { isUnreadable } from '../core/unreadable.ts';
import type { Changes } from '../resources/operations/change.ts';
import { commonGrants, type Grants } from '../resources/grants.ts';
import { lifecycle, retiredKey, type RetiredKey } from '../resources/lineage.ts';
import { token, type Token } from '../resources/token.ts';
import { tsigkey, type Target, type Tsigkey } from '../resources/tsigkey.ts';
import { zone } from '../resources/zone.ts';
import { grantsInScope, grantsOfKey } from '../resources/grant-rules.ts';
import { leave } from '../rotation/lineage-rows.ts';
import { eventsOf, lastBatchOf, noteRestore, readHead, trustedHead } from '../audit/store/head.ts';
import { allResources } from '../sql/reader.ts';
import type { Database, Sql } from '../sql/sql.ts';

export interface RestoredOver {
  readonly at: string;
  readonly replaced: ChainEnd;
}

/** What the replaced database has taken away since the backup, and what it has added. */
export interface ChangesSince {
  readonly deletedTokens: readonly Token[];
  readonly deletedKeys: readonly Tsigkey[];
  /** The ids of those of them that were retired rather than deleted. */
  readonly retiredIds: ReadonlySet<string>;
  /** Retired keys of the backup that nobody can restore any more. */
  readonly retiredKeys: readonly RetiredKey[];
  /**
   * Keys whose name, secret or scope was replaced, with the members that are in force now, and keys
   * whose grants were narrowed, with what both databases permit.
   */
  readonly changedKeys: readonly ChangedKey[];
  /** The names of tokens and keys that the backup does not have. */
  readonly added: { readonly tokens: readonly string[]; readonly keys: readonly string[] };
}

interface ChangedKey {
  readonly current: Tsigkey;
  readonly given: Given<(typeof tsigkey)['fields']>;
  /** Absent if the grants of the backup stay as they are. */
  readonly grants?: Grants | null;
}

export const NO_CHANGES: ChangesSince = {
  deletedTokens: [],
  deletedKeys: [],
  retiredIds: new Set(),
  retiredKeys: [],
  changedKeys: [],
  added: { tokens: [], keys: [] },
};

export function isEmpty({
  deletedTokens,
  deletedKeys,
  retiredKeys,
  changedKeys,
}: ChangesSince): boolean {
  return deletedTokens.length + deletedKeys.length + retiredKeys.length + changedKeys.length === 0;
}

/**
 * Returns the ends of the trail that a restore at `at` takes back: the last batch of the replaced
 * database, and the ends that earlier restores took back in it.
 */
export async function replacedEnds(
  { reads, keyring }: Pick<Database, 'reads' | 'keyring'>,
  at: string,
): Promise<RestoredOver[]> {
  const last = await lastBatchOf(reads);
  const head = trustedHead(await readHead(reads), keyring?.auditKey());
  const earlier = eventsOf(head).flatMap(({ at: time, replaced }) =>
    replaced === undefined ? [] : [{ at: time, replaced }],
  );
  return [...earlier, ...(last === undefined ? [] : [{ at, replaced: last }])];
}

/** Notes in the head of the trail that a backup was restored over trails with these ends. */
export async function noteRestores(
  sql: Sql,
  keyring: Keyring,
  ends: readonly RestoredOver[],
): Promise<void> {
  for (const { at, replaced } of ends) await noteRestore(sql, keyring.auditKey(), at, replaced);
}

/**
 * Returns whether a backup is an earlier state of a database: both have the same origin, and the
 * trail of the database continues that of the backup.
 */
export async function isEarlierState(backup: Sql, replaced: Sql): Promise<boolean> {
  const origin = 'SELECT applied_at FROM schema_migrations ORDER BY number LIMIT 1';
  const [one, other] = [await backup.one(origin, []), await replaced.one(origin, [])];
  if (one?.applied_at !== other?.applied_at) return false;
  const end = await lastBatchOf(backup);
  if (end === undefined) return true;
  const batch = await replaced.one('SELECT hash FROM audit_batches WHERE number = ?', [end.number]);
  return batch?.hash === end.hash;
}

export async function changesSince(backup: Reader, replaced: Reader): Promise<ChangesSince> {
  const tokens = await compare(token, backup, replaced);
  const keys = await compare(tsigkey, backup, replaced);
  const retired = await compare(retiredKey, backup, replaced);
  const restored = await replaced.present(
    tsigkey,
    'id',
    retired.missingRows.map(({ id }) => id),
  );
  const retiredIds = await replaced.present(
    retiredKey,
    'id',
    keys.missingRows.map(({ id }) => id),
  );
  const changedKeys: ChangedKey[] = [];
  for (const [current, later] of keys.pairs) {
    const given = await replacedMembers(current, later, backup);
    const narrowed = await narrowedGrants(
      {
        scope: given.scope ?? current.scope,
        resource_id: given.resource_id ?? current.resource_id,
      },
      [current, backup],
      [later, replaced],
    );
    if (Object.keys(given).length + Object.keys(narrowed).length > 0)
      changedKeys.push({ current, given, ...narrowed });
  }
  return {
    deletedTokens: tokens.missingRows,
    deletedKeys: keys.missingRows,
    retiredIds,
    retiredKeys: retired.missingRows.filter(({ id }) => !restored.has(id)),
    changedKeys,
    added: { tokens: tokens.addedNames, keys: keys.addedNames },
  };
}

async function compare<F extends Fields>(
  type: ResourceType<F>,
  backup: Reader,
  replaced: Reader,
): Promise<{
  missingRows: ResourceOf<F>[];
  pairs: [backup: ResourceOf<F>, replaced: ResourceOf<F>][];
  addedNames: string[];
}> {
  const missingRows: ResourceOf<F>[] = [];
  const pairs: [ResourceOf<F>, ResourceOf<F>][] = [];
  const idsOf = (rows: readonly ResourceOf<F>[]) => rows.map(({ id }) => id);
  for await (const rows of allResources(type, backup)) {
    const later = new Map(
      (await replaced.find(type, 'id', idsOf(rows))).map((row) => [row.id, row]),
    );
    for (const row of rows) {
      const found = later.get(row.id);
      if (found === undefined) missingRows.push(row);
      else pairs.push([row, found]);
    }
  }
  const addedNames: string[] = [];
  for await (const rows of allResources(type, replaced)) {
    const backupIds = await backup.present(type, 'id', idsOf(rows));
    for (const row of rows) if (!backupIds.has(row.id)) addedNames.push(String(row.name));
  }
  return { missingRows, pairs, addedNames };
}

/**
 * Returns the members of a key by which the replaced database has withdrawn what the backup's key
 * opened: another name or secret, or another scope, unless it only widened from a zone to the pool
 * of this zone.
 */
async function replacedMembers(
  backup: Tsigkey,
  later: Tsigkey,
  reader: Reader,
): Promise<Given<(typeof tsigkey)['fields']>> {
  const { secret } = later;
  const isSecretKnown = !isUnreadable(secret) && secret !== '' && !isUnreadable(backup.secret);
  const { scope, resource_id } = later;
  const hasOtherScope = scope !== backup.scope || resource_id !== backup.resource_id;
  const isWider =
    hasOtherScope &&
    scope === 'POOL' &&
    backup.scope === 'ZONE' &&
    (await reader.get(zone, backup.resource_id))?.pool_id === resource_id;
  return {
    ...(later.name === backup.name ? {} : { name: later.name }),
    ...(isSecretKnown && later.algorithm !== backup.algorithm
      ? { algorithm: later.algorithm }
      : {}),
    ...(isSecretKnown && secret !== backup.secret ? { secret } : {}),
    ...(hasOtherScope && !isWider ? { scope, resource_id } : {}),
  };
}

/**
 * Returns the grants that a restored key with the scope `restored` must have, so that it opens no
 * more than its state in either database. Of a key with another scope, these are the grants in the
 * replaced database. Returns no member if the grants of the backup already are as narrow.
 */
async function narrowedGrants(
  restored: Target,
  [current, backup]: readonly [Tsigkey, Reader],
  [later, replaced]: readonly [Tsigkey, Reader],
): Promise<Pick<ChangedKey, 'grants'>> {
  const [own, latest] = [await grantsOfKey(backup, current), await grantsOfKey(replaced, later)];
  const hasOtherScope = restored.resource_id !== current.resource_id;
  const common = hasOtherScope ? latest : commonGrants(own, latest);
  const grants = await grantsInScope(restored, common, backup);
  return isDeepStrictEqual(own, grants) ? {} : { grants };
}

const NOTHING: Grants = { all: '', zones: new Map() };

/** Takes away in a restored copy what the replaced database had taken away. */
export async function withdraw(
  changes: Changes,
  { deletedTokens, deletedKeys, retiredKeys, changedKeys }: ChangesSince,
): Promise<void> {
  for (const deleted of deletedTokens) await changes.remove(token, deleted);
  for (const deleted of deletedKeys) await changes.remove(tsigkey, deleted);
  for (const { id } of retiredKeys) {
    await changes.drop(retiredKey, id);
    const row = await changes.get(lifecycle, id);
    if (row !== undefined) await leave(changes, row);
  }
  for (const { current, given, grants } of changedKeys) {
    // Without grants first, because those of the backup may be outside the scope that is in force.
    if (grants !== undefined) await changes.grant(current, NOTHING);
    const key = (await changes.getToChange(tsigkey, current.id)) ?? current;
    const updated =
      Object.keys(given).length === 0 ? key : await changes.update(tsigkey, key, given);
    if (grants !== undefined) await changes.grant(updated, grants);
  }
}
