import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../core/errors.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import type { Database, Sql, SqlRow, SqlValue } from '../../sql/sql.ts';
import type { LogRow, LogStore } from './log-store.ts';
import { putDeliveries, readDeliveries, ROWS } from './pass-records.ts';

/**
 * What a name server's row says about its delivery, besides the members of the resource. The lease
 * and the times of checks are not copied: the next pass of the target begins at once.
 */
const SERVER_COLUMNS = [
  'applied_hash',
  'applied_rights',
  'stamps',
  'held',
  'unknown_keys',
  'evidence',
  'log_position',
];

interface ServerState {
  readonly server: readonly SqlValue[];
  readonly deliveries: Awaited<ReturnType<typeof readDeliveries>>;
  readonly outbox: readonly (readonly [id: string, at: number])[];
  readonly logs: readonly LogRow[];
}

/**
 * Copies which keys each name server has, the changes that wait for it, and the stamps by which it
 * is recognised. `to` has the name servers already. Compares the copies with the originals. Returns
 * the number of copied deliveries. Throws `bad_request` if the comparison fails.
 */
export async function copyDelivery(
  from: Sql,
  to: Pick<Database, 'reads' | 'write'>,
  logs?: LogStore,
): Promise<number> {
  let count = 0;
  for (const { id } of await from.all('SELECT id FROM nameservers ORDER BY id', [])) {
    const [server, state] = [String(id), await stateOf(from, String(id), logs)];
    await to.write(async (sql) => {
      for (const table of ['deliveries', 'outbox'])
        await sql.run(`DELETE FROM ${table} WHERE nameserver_id = ?`, [server]);
      const values = SERVER_COLUMNS.map((column) => `${column} = ?`).join(', ');
      await sql.run(`UPDATE nameservers SET ${values} WHERE id = ?`, [...state.server, server]);
      await putDeliveries(sql, server, state.deliveries);
      for (const rows of parts(state.outbox, ...ROWS))
        await sql.run(
          `INSERT INTO outbox (nameserver_id, id, at) VALUES ${rows.map(() => '(?, ?, ?)').join(', ')}`,
          rows.flatMap((row) => [server, ...row]),
        );
      await logs?.putRows(sql, server, state.logs);
    });
    if (!isDeepStrictEqual(await stateOf(to.reads, server, logs), state))
      throw new ServiceError(
        'bad_request',
        `The copy of the delivery to the name server '${server}' differs from the original. Stop all services that use either database, and repeat the command with an empty target`,
      );
    count += state.deliveries.length;
  }
  return count;
}

async function stateOf(sql: Sql, id: string, logs: LogStore | undefined): Promise<ServerState> {
  const row = await sql.one(`SELECT ${SERVER_COLUMNS.join(', ')} FROM nameservers WHERE id = ?`, [
    id,
  ]);
  const outbox = await sql.all('SELECT id, at FROM outbox WHERE nameserver_id = ? ORDER BY id', [
    id,
  ]);
  return {
    logs: (await logs?.rows(sql, id)) ?? [],
    server: SERVER_COLUMNS.map((column) => valueOf(row?.[column])),
    deliveries: await readDeliveries(sql, id),
    outbox: outbox.map((each: SqlRow) => [String(each.id), Number(each.at)]),
  };
}

/** Returns a value as every database returns it. PostgreSQL returns large numbers as texts. */
function valueOf(value: unknown): SqlValue {
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}
