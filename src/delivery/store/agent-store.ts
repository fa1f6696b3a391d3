import { NO_AGENT } from '../agent-protocol.ts';
import { LeaseLostError, type AgentLease, type AgentStore } from '../delivery-ports.ts';
import { ServiceError } from '../../core/errors.ts';
import { nameServer } from '../../resources/name-server.ts';
import type { Database, SqlRow } from '../../sql/sql.ts';
import { tablesIn } from '../../sql/table.ts';
import { isDue, OUTBOX_ROWS, readClaim, reduceOutbox } from './claims.ts';
import { places } from '../../sql/fragments.ts';

/** The maximum number of name servers in one statement. */
const MAX_IDS = 100;

/** The minimum time between two renewals of a lease. */
const RENEW_MS = 2000;

export function createAgentStore(database: Database): AgentStore {
  const now = database.dialect.nowMs;
  const table = tablesIn(database.dialect, database.keyring)(nameServer);
  const isFree = `delivery = 'agent' AND (holder IS NULL OR holder = ? OR lease_until < ${now})`;
  return {
    poll: (id, agent, leaseMs) =>
      database.write(async (sql): Promise<AgentLease> => {
        const taken = await sql.run(
          `UPDATE nameservers SET holder = ?, lease_until = ${now} + ?, seen_at = ${now}
            WHERE id = ? AND ${isFree}`,
          [agent, leaseMs, id, agent],
        );
        const row = await sql.one(
          'SELECT fence, holder, paused, delivery FROM nameservers WHERE id = ?',
          [id],
        );
        if (taken === 0) throw new ServiceError('agent_conflict', conflictOf(row));
        return { fence: Number(row?.fence), isPaused: Number(row?.paused) === 1 };
      }),
    async due(ids) {
      const dueIds: string[] = [];
      for (let start = 0; start < ids.length; start += MAX_IDS) {
        const some = ids.slice(start, start + MAX_IDS);
        const rows = await database.reads.all(
          `SELECT id FROM nameservers
            WHERE id IN (${places(some.length)}) AND delivery = 'agent' AND ${isDue(now)}`,
          some,
          'once',
        );
        dueIds.push(...rows.map(({ id }) => String(id)));
      }
      return dueIds;
    },
    async claim(id, agent, leaseMs, force) {
      const claim = await database.write(async (sql) => {
        const claimed = await sql.run(
          `UPDATE nameservers SET holder = ?, lease_until = ${now} + ?, fence = fence + 1,
            seen_at = ${now}
            WHERE id = ? AND ${isFree} AND ${force ? 'paused = 0' : isDue(now)}`,
          [agent, leaseMs, id, agent],
        );
        return claimed === 0 ? undefined : readClaim(sql, now, table, id);
      });
      if (claim !== undefined)
        await reduceOutbox(database, id, 'holder = ? AND fence = ?', [agent, claim.fence]);
      return claim;
    },
    async renew(id, agent, fence, leaseMs) {
      const owned = "id = ? AND holder = ? AND fence = ? AND delivery = 'agent'";
      const lease = [id, agent, fence];
      const row = await database.reads.one(
        `SELECT lease_until - ${now} AS rest, ${OUTBOX_ROWS} AS changes
          FROM nameservers WHERE ${owned}`,
        lease,
      );
      if (row === undefined) throw new LeaseLostError();
      // An agent also calls this function to read the number of changes, so most calls need no
      // write.
      if (Number(row.rest) > leaseMs - RENEW_MS) return Number(row.changes);
      const renewed = await database.write((sql) =>
        sql.run(
          `UPDATE nameservers SET lease_until = ${now} + ?, seen_at = ${now} WHERE ${owned}`,
          [leaseMs, ...lease],
        ),
      );
      if (renewed === 0) throw new LeaseLostError();
      return Number(row.changes);
    },
  };
}

function conflictOf(row: SqlRow | undefined): string {
  if (row?.delivery !== 'agent') return NO_AGENT;
  return `'${String(row.holder)}' holds the lease of the name server. Stop that agent, or wait until the lease expires`;
}
