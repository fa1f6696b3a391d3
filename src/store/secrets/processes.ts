import type { Sql } from '../sql/sql.ts';

/** A process that uses the database. */
export interface LiveProcess {
  readonly id: string;
  readonly host: string;
  /** The ids of the master keys of the process. */
  readonly masterKeys: readonly string[];
}

/**
 * How long a process counts as running after its last report, in milliseconds. Three reports may be
 * lost.
 */
const LIVE_MS = 35_000;

/**
 * Records that a process runs, with its master keys. Returns all running processes. Uses the clock
 * of the database, because the clocks of machines may differ.
 */
export async function reportProcess(sql: Sql, process: LiveProcess): Promise<LiveProcess[]> {
  const now = await databaseTime(sql);
  await sql.run(
    `INSERT INTO encryption_processes (id, host, master_keys, seen_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET master_keys = excluded.master_keys, seen_at = excluded.seen_at`,
    [process.id, process.host, process.masterKeys.join(' '), now],
  );
  await sql.run('DELETE FROM encryption_processes WHERE seen_at < ?', [now - LIVE_MS]);
  const rows = await sql.all('SELECT id, host, master_keys FROM encryption_processes', []);
  return rows.map(({ id, host, master_keys: keys }) => ({
    id: String(id),
    host: String(host),
    masterKeys: String(keys).split(' '),
  }));
}

/** Returns the processes that reported in the last 35 s. */
export async function liveProcesses(sql: Sql): Promise<Pick<LiveProcess, 'id' | 'host'>[]> {
  const rows = await sql.all('SELECT id, host FROM encryption_processes WHERE seen_at >= ?', [
    (await databaseTime(sql)) - LIVE_MS,
  ]);
  return rows.map(({ id, host }) => ({ id: String(id), host: String(host) }));
}

/** Removes the record of a process that has ended. */
export async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql.run('DELETE FROM encryption_processes WHERE id = ?', [id]);
}

/**
 * Returns the time of the database server in milliseconds. Only a shared database needs this clock,
 * because its processes may run on different machines.
 */
async function databaseTime(sql: Sql): Promise<number> {
  const row = await sql.one(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
    [],
  );
  return Number(row?.now);
}
