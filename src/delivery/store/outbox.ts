import { randomUUID } from 'node:crypto';
import { isEmpty } from '../affected.ts';
import type { Affected } from '../../core/ports.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import { places } from '../../sql/fragments.ts';
import type { Dialect, Sql } from '../../sql/sql.ts';

/** How long a process caches the absence of name servers, if other processes may add one. */
const ABSENT_MS = 5000;

const MAX_NAMED = 50;

export interface OutboxDependencies {
  readonly dialect: Dialect;
  readonly exclusive: boolean;
  /** Returns the number of changes that this process made to name servers. */
  serverChanges(): number;
}

/** The outbox of name servers: one row for each server and transaction that affects it. */
export interface Outbox {
  /**
   * Adds a row for each affected name server, in the transaction of the change. Returns whether the
   * change added rows or deleted a name server. If no name server exists, runs no statement and
   * returns undefined.
   */
  announce(sql: Sql, affected: Affected): Promise<boolean> | undefined;
}

/**
 * Creates the outbox of a database. While no name server exists, a change runs no statement. The
 * process caches the absence of name servers until it changes a name server itself. If other
 * processes may add a name server, the cached result expires after 5 s. A new name server gets a
 * second pass after 30 s, so it misses no change.
 */
export function createOutbox({ dialect, exclusive, serverChanges }: OutboxDependencies): Outbox {
  let absentSince: number | undefined;
  let absentAt = -1;
  const isAbsent = () =>
    absentSince !== undefined &&
    absentAt === serverChanges() &&
    (exclusive || performance.now() - absentSince < ABSENT_MS);

  const write = async (sql: Sql, affected: Affected): Promise<boolean> => {
    const before = serverChanges();
    await forget(sql, affected);
    await markRemoved(sql, affected);
    const { texts, parameters } = conditions(affected);
    const added =
      texts.length === 0
        ? 0
        : await addRows(sql, dialect.nowMs, texts.join(' OR '), parameters, keyOf(affected));
    if (added > 0) {
      absentSince = undefined;
      return true;
    }
    if ((await sql.one('SELECT 1 AS found FROM nameservers LIMIT 1', [])) === undefined)
      [absentSince, absentAt] = [performance.now(), before];
    return affected.deletedServers.size > 0;
  };

  return {
    announce: (sql, affected) =>
      isEmpty(affected) || (isAbsent() && affected.deletedServers.size === 0)
        ? undefined
        : write(sql, affected),
  };
}

/** Returns the key that a change concerns: its id, null if it may be any, and '' for none. */
function keyOf({ keys, servers }: Affected): string | null {
  const [key = '', ...others] = keys;
  return others.length > 0 || servers.size > 0 ? null : key;
}

/**
 * Adds a row for each name server that meets a condition. Returns the number of added rows. `key` is
 * the id of the only key that the change concerns.
 */
export function addRows(
  sql: Sql,
  now: string,
  condition: string,
  parameters: readonly string[],
  key: string | null = null,
): Promise<number> {
  return sql.run(
    `INSERT INTO outbox (nameserver_id, id, at, key_id) SELECT id, ?, ${now}, ? FROM nameservers WHERE ${condition}`,
    [randomUUID(), key, ...parameters],
  );
}

/**
 * Returns the SQL conditions that select the affected name servers. If there are too many ids for
 * one statement, the condition matches all name servers.
 */
function conditions({ pools, zones, servers, changedKeys, deletedZones }: Affected): {
  texts: string[];
  parameters: string[];
} {
  const named = [
    ['pool_id IN', pools, ''],
    ['pool_id IN (SELECT pool_id FROM zones WHERE id IN', zones, ')'],
    ['id IN', servers, ''],
    // A name server that has moved to another pool may still have the keys.
    [`${HAVE} key_id IN`, changedKeys, ')'],
    [
      `${HAVE} key_id IN (SELECT id FROM tsigkeys WHERE scope = 'ZONE' AND resource_id IN`,
      deletedZones,
      '))',
    ],
  ] as const;
  if (named.some(([, ids]) => ids.size > MAX_NAMED)) return { texts: ['1 = 1'], parameters: [] };
  const used = named.filter(([, ids]) => ids.size > 0);
  return {
    texts: used.map(([start, ids, end]) => `${start} (${places(ids.size)})${end}`),
    parameters: used.flatMap(([, ids]) => [...ids]),
  };
}

/**
 * Deletes the rows of deleted name servers. Sets the delivered keys of changed name servers to
 * pending, so that a pass verifies them again.
 */
async function forget(sql: Sql, { servers, deletedServers }: Affected): Promise<void> {
  for (const id of deletedServers)
    for (const table of ['outbox', 'deliveries'])
      await sql.run(`DELETE FROM ${table} WHERE nameserver_id = ?`, [id]);
  for (const id of servers)
    await sql.run(
      `UPDATE deliveries SET state = 'pending' WHERE nameserver_id = ? AND state = 'delivered'`,
      [id],
    );
}

const HAVE = 'id IN (SELECT nameserver_id FROM deliveries WHERE';

const CHANGED = {
  changedKeys: (ids: string) => `key_id IN (${ids})`,
  deletedZones: (ids: string) =>
    `key_id IN (SELECT id FROM tsigkeys WHERE scope = 'ZONE' AND resource_id IN (${ids}))`,
};

/**
 * Sets the deliveries of deleted and changed keys to removing, on the name servers that should not
 * have the keys any more. Removals that the database does not explain need a confirmation.
 */
async function markRemoved(sql: Sql, affected: Affected): Promise<void> {
  for (const [set, condition] of Object.entries(CHANGED)) {
    const ids = [...affected[set as keyof typeof CHANGED]];
    for (const some of parts(ids, MAX_NAMED)) {
      await sql.run(
        `UPDATE deliveries SET state = 'removing' WHERE ${condition(places(some.length))}
          AND (state <> 'undeliverable' OR applied_at IS NOT NULL) AND NOT EXISTS (
            SELECT 1 FROM tsigkeys LEFT JOIN zones ON zones.id = tsigkeys.resource_id
            JOIN nameservers ON nameservers.pool_id = CASE tsigkeys.scope WHEN 'POOL'
              THEN tsigkeys.resource_id ELSE zones.pool_id END
            WHERE tsigkeys.id = deliveries.key_id AND nameservers.id = deliveries.nameserver_id)`,
        some,
      );
    }
  }
  for (const [id, { successorId, isCompromised }] of affected.removals)
    await sql.run(
      `UPDATE deliveries SET successor_id = ?, compromised = ? WHERE key_id = ? AND state = 'removing'`,
      [successorId, isCompromised ? 1 : 0, id],
    );
}
