import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Claim } from '../delivery-ports.ts';
import type { Right } from '../../access/rights.ts';
import type { NameServer } from '../../resources/name-server.ts';
import type { Database, Sql, SqlRow, SqlValue } from '../../sql/sql.ts';

/** The minimum time between a failed attempt and an attempt that a new change causes. */
const RETRY_AFTER_CHANGE_MS = 1000;

/** An SQL expression for the number of changes that are pending for a name server. */
export const OUTBOX_ROWS = `(SELECT count(*) FROM outbox WHERE outbox.nameserver_id = nameservers.id)`;

/** How many of the newest changes of a name server stay in its outbox, besides the oldest change. */
const KEPT_ROWS = 100;

const ROWS_PER_DELETE = 2000;

const OVERFLOW = `SELECT at FROM outbox WHERE nameserver_id = ? ORDER BY at DESC LIMIT 1 OFFSET`;

/**
 * Reduces the outboxes of the name servers that no process or agent has claimed: they are paused,
 * or their process or agent does not run.
 */
export async function reduceOutboxes(database: Database): Promise<void> {
  const free = `(holder IS NULL OR lease_until < ${database.dialect.nowMs})`;
  for (const { id } of await database.reads.all(`SELECT id FROM nameservers WHERE ${free}`, []))
    await reduceOutbox(database, String(id), free, []);
}

/**
 * Reduces the outbox of a name server to its oldest and newest rows if it has many. `guard` is the
 * SQL condition that no other pass is in progress. Otherwise a pass that has read the state could
 * lose a row of a change that it has not seen.
 */
export async function reduceOutbox(
  { reads, write }: Pick<Database, 'reads' | 'write'>,
  id: string,
  guard: string,
  parameters: readonly SqlValue[],
): Promise<void> {
  if ((await reads.one(`${OVERFLOW} ${2 * KEPT_ROWS}`, [id])) === undefined) return;
  for (let deleted = ROWS_PER_DELETE; deleted === ROWS_PER_DELETE;) {
    await nextTurn();
    deleted = await write(async (sql) => {
      const lock = `UPDATE nameservers SET fence = fence WHERE id = ? AND ${guard}`; // against claims
      if ((await sql.run(lock, [id, ...parameters])) === 0) return 0;
      const newest = await sql.one(`${OVERFLOW} ${KEPT_ROWS}`, [id]);
      const oldest = await sql.one(
        'SELECT id FROM outbox WHERE nameserver_id = ? ORDER BY at LIMIT 1',
        [id],
      );
      if (newest === undefined || oldest === undefined) return 0;
      return sql.run(
        `DELETE FROM outbox WHERE nameserver_id = ? AND id IN (SELECT id FROM outbox
          WHERE nameserver_id = ? AND at <= ? AND id <> ? LIMIT ${ROWS_PER_DELETE})`,
        [id, id, Number(newest.at), String(oldest.id)],
      );
    });
  }
}

/** A check or probe may be due, or a change that can be tried again. `now` is an SQL expression. */
export function isDue(now: string): string {
  return `paused = 0 AND (check_at <= ${now}
    OR (probe_at > 0 AND probe_at <= ${now} AND attempts = 0)
    OR (EXISTS (SELECT 1 FROM outbox WHERE outbox.nameserver_id = nameservers.id)
      AND (retry_at <= ${now}
        OR (failed_at <= ${now} - ${RETRY_AFTER_CHANGE_MS} AND EXISTS
          (SELECT 1 FROM outbox WHERE outbox.nameserver_id = nameservers.id AND tried = 0)))))`;
}

interface ServerTable {
  readonly columns: readonly string[];
  decode(row: SqlRow): NameServer;
}

export function stampsIn({ stamps }: SqlRow): string[] {
  return typeof stamps === 'string' ? stamps.split(' ').filter(Boolean) : [];
}

/** Returns the claim that the same transaction made on the name server `id`. */
export async function readClaim(
  sql: Pick<Sql, 'one'>,
  now: string,
  table: ServerTable,
  id: string,
): Promise<Claim | undefined> {
  const row = await sql.one(
    `SELECT ${table.columns.join(', ')}, fence, applied_hash, applied_rights,
      confirmed, stamps, log_position,
      CASE WHEN probe_at = 0 THEN 'all' WHEN probe_at <= ${now} THEN 'due' ELSE 'none' END AS probes
      FROM nameservers WHERE id = ?`,
    [id],
  );
  if (row === undefined) return undefined;
  const {
    fence,
    applied_hash: hash,
    applied_rights: rights,
    confirmed,
    stamps,
    log_position: logPosition,
    probes,
    ...rest
  } = row;
  return {
    server: table.decode(rest),
    fence: Number(fence),
    appliedHash: typeof hash === 'string' ? hash : null,
    appliedRights: typeof rights === 'string' ? (JSON.parse(rights) as Right[]) : [], // `recordServer` writes it
    probes: probes === 'all' || probes === 'due' ? probes : 'none',
    isConfirmed: Number(confirmed) === 1,
    stamps: stampsIn({ stamps }),
    logPosition: typeof logPosition === 'string' ? logPosition : null,
  };
}
