import type { Claim } from '../../domain/delivery/ports.ts';
import type { NameServer } from '../../domain/resources/name-server.ts';
import type { Sql, SqlRow } from '../sql/sql.ts';

/** The minimum time between a failed attempt and an attempt that a new change causes. */
const RETRY_AFTER_CHANGE_MS = 1000;

/** An SQL expression for the number of changes that are pending for a name server. */
export const OUTBOX_ROWS = `(SELECT count(*) FROM outbox WHERE outbox.nameserver_id = nameservers.id)`;

/**
 * Returns the SQL condition for a name server that has work. Work is a check or a probe that is
 * due, or a pending change that can be tried again. `now` is the SQL expression for the current
 * time.
 */
export function isDue(now: string): string {
  return `paused = 0 AND (check_at <= ${now}
    OR (probe_at > 0 AND probe_at <= ${now} AND attempts = 0)
    OR (EXISTS (SELECT 1 FROM outbox WHERE outbox.nameserver_id = nameservers.id)
      AND (retry_at <= ${now}
        OR (failed_at <= ${now} - ${RETRY_AFTER_CHANGE_MS} AND ${OUTBOX_ROWS} > failed_rows))))`;
}

/** The columns of name servers, and the function that decodes their rows. */
interface ServerTable {
  readonly columns: readonly string[];
  decode(row: SqlRow): NameServer;
}

/** Returns the claim that the same transaction made on the name server `id`. */
export async function readClaim(
  sql: Pick<Sql, 'one'>,
  now: string,
  table: ServerTable,
  id: string,
): Promise<Claim | undefined> {
  const row = await sql.one(
    `SELECT ${table.columns.join(', ')}, fence, applied_hash, confirmed, refusals, stamps,
      CASE WHEN probe_at = 0 THEN 'all' WHEN probe_at <= ${now} THEN 'due' ELSE 'none' END AS probes
      FROM nameservers WHERE id = ?`,
    [id],
  );
  if (row === undefined) return undefined;
  const { fence, applied_hash: hash, confirmed, refusals, stamps, probes, ...rest } = row;
  return {
    server: table.decode(rest),
    fence: Number(fence),
    appliedHash: typeof hash === 'string' ? hash : null,
    probes: probes === 'all' || probes === 'due' ? probes : 'none',
    isConfirmed: Number(confirmed) === 1,
    refusals: Number(refusals),
    stamps: String(stamps).split(' ').filter(Boolean),
  };
}
