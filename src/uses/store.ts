import { parts } from '../core/scheduling/slicer.ts';
import { MAX_COUNT, MAX_USES, type KeyUse, type LogRecord } from '../delivery/log-protocol.ts';
import type { LogRow, LogStore } from '../delivery/store/log-store.ts';
import type { Sql, SqlRow } from '../sql/sql.ts';
import type { KeyUses, StoredUse, UseReader } from './ports.ts';
import { places } from '../sql/fragments.ts';

const USE_COLUMNS = [
  'key_id',
  'nameserver_id',
  'operation',
  'outcome',
  'address',
  'first_at',
  'last_at',
  'count',
];

const ROWS = [1, 8, 64];

/** The tables with the uses of keys, and with those of retired keys, which servers refuse. */
const LIVING: UseTable = { uses: 'tsigkey_uses', keys: 'tsigkeys' };
const RETIRED: UseTable = { uses: 'retired_tsigkey_uses', keys: 'retired_tsigkeys' };

interface UseTable {
  readonly uses: string;
  readonly keys: string;
}

/** Refused requests, which anyone can send, must not displace the uses of clients that have a key. */
const IS_REFUSED = "CASE WHEN outcome = 'refused' THEN 1 ELSE 0 END";

const IDENTITY = USE_COLUMNS.slice(0, 5);

export const LOG_STORE: LogStore = {
  record: recordLog,
  retiredNames: retiredNamesOf,
  rows: readUseRows,
  putRows: putUseRows,
};

/** Records what a pass reports of the log of the name server `id`, and its uses with `putUses`. */
async function recordLog(
  sql: Sql,
  rowLock: string,
  id: string,
  { uses, evidence, log_position: position }: LogRecord,
): Promise<void> {
  // Without a log, a pass writes nothing here.
  await sql.run(
    `UPDATE nameservers SET evidence = ?, log_position = ?
      WHERE id = ? AND (evidence IS NOT NULL OR ? = 1)`,
    [evidence && JSON.stringify(evidence), position, id, evidence === null ? 0 : 1],
  );
  await putUses(sql, rowLock, id, uses);
}

/**
 * Adds uses of the keys that the name server `id` has from Tsigil, and refused uses of retired
 * keys, for which the job of rotations then looks at the key. Leaves out other names. Keeps the
 * last 1,000 rows of the name server, and drops refused ones first. `rowLock` keeps others from
 * deleting a key meanwhile.
 */
async function putUses(
  sql: Sql,
  rowLock: string,
  id: string,
  uses: readonly KeyUse[],
): Promise<void> {
  if (uses.length === 0) return;
  const has = 'AND id IN (SELECT key_id FROM deliveries WHERE nameserver_id = ?)';
  const living = await idsOf(sql, LIVING, uses, has, [id], rowLock);
  await putInto(sql, LIVING, id, living, uses);
  const refused = uses.filter(({ key, outcome }) => outcome === 'refused' && !living.has(key));
  if (refused.length === 0) return;
  const retired = await idsOf(sql, RETIRED, refused, '', [], rowLock);
  await putInto(sql, RETIRED, id, retired, refused);
  for (const keyId of retired.values())
    await sql.run(
      `UPDATE tsigkey_lifecycles SET due_at = created_at WHERE id = ? AND state = 'retired'
        AND tripped_at IS NULL`,
      [keyId],
    );
}

/** Returns the ids of the keys in a table that `uses` name, by their names. */
async function idsOf(
  sql: Sql,
  { keys }: UseTable,
  uses: readonly KeyUse[],
  condition: string,
  parameters: readonly string[],
  rowLock: string,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const names of parts([...new Set(uses.map(({ key }) => key))], ...ROWS))
    for (const row of await sql.all(
      `SELECT id, name_key FROM ${keys} WHERE name_key IN (${places(names.length)})
        ${condition} ORDER BY id${rowLock}`,
      [...names, ...parameters],
    ))
      ids.set(String(row.name_key), String(row.id));
  return ids;
}

async function putInto(
  sql: Sql,
  { uses: table }: UseTable,
  id: string,
  ids: ReadonlyMap<string, string>,
  uses: readonly KeyUse[],
): Promise<void> {
  for (const { key, operation, outcome, address, first_at: first, last_at: last, count } of uses) {
    const keyId = ids.get(key);
    if (keyId === undefined) continue;
    await sql.run(
      `INSERT INTO ${table} (${USE_COLUMNS.join(', ')}) VALUES (${places(USE_COLUMNS.length)})
        ON CONFLICT (${IDENTITY.join(', ')}) DO UPDATE SET
          last_at = CASE WHEN excluded.last_at > ${table}.last_at
            THEN excluded.last_at ELSE ${table}.last_at END,
          count = CASE WHEN ${table}.count + excluded.count > ${MAX_COUNT}
            THEN ${MAX_COUNT} ELSE ${table}.count + excluded.count END`,
      [keyId, id, operation, outcome, address, first, last, count],
    );
  }
  const others = await sql.all(
    `SELECT ${IDENTITY.join(', ')} FROM ${table} WHERE nameserver_id = ?
      ORDER BY ${IS_REFUSED}, last_at DESC, ${IDENTITY.join(', ')} LIMIT ${MAX_USES} OFFSET ${MAX_USES}`,
    [id],
  );
  for (const row of others)
    await sql.run(
      `DELETE FROM ${table} WHERE ${IDENTITY.map((column) => `${column} = ?`).join(' AND ')}`,
      IDENTITY.map((column) => String(row[column])),
    );
}

/** The most retired keys whose uses a name server reports. */
const MAX_RETIRED = 1000;

async function retiredNamesOf(reads: Sql, poolId: string): Promise<string[]> {
  const rows = await reads.all(
    `SELECT retired_tsigkeys.name_key FROM retired_tsigkeys LEFT JOIN zones ON zones.id = resource_id
      WHERE (scope = 'POOL' AND resource_id = ?) OR (scope = 'ZONE' AND zones.pool_id = ?)
      ORDER BY retired_at DESC LIMIT ${MAX_RETIRED}`,
    [poolId, poolId],
  );
  return rows.map(({ name_key: name }) => String(name));
}

export function createUseReader(reads: Sql): UseReader {
  return {
    usesOfRetired: async (keyIds) => (await readUses(reads, keyIds, [], RETIRED)).uses,
    uses: (keyIds, serverIds) => readUses(reads, keyIds, serverIds),
  };
}

/** Reads the uses of keys, and which of `servers` have as many uses by clients as are stored. */
async function readUses(
  sql: Sql,
  keyIds: readonly string[],
  servers: readonly string[],
  { uses: table } = LIVING,
): Promise<KeyUses> {
  const uses: StoredUse[] = [];
  const full = new Set<string>();
  for (const ids of parts(keyIds, ...ROWS))
    for (const row of await sql.all(
      `SELECT * FROM ${table} WHERE key_id IN (${places(ids.length)})
        ORDER BY last_at DESC, operation, outcome, address`,
      ids,
    ))
      uses.push(useOf(row));
  for (const ids of parts(servers, ...ROWS))
    for (const row of await sql.all(
      `SELECT nameserver_id FROM ${table} WHERE nameserver_id IN (${places(ids.length)})
        AND outcome <> 'refused' GROUP BY nameserver_id HAVING count(*) >= ${MAX_USES}`,
      ids,
    ))
      full.add(String(row.nameserver_id));
  return { uses, full };
}

function useOf(row: SqlRow): StoredUse {
  return {
    keyId: String(row.key_id),
    serverId: String(row.nameserver_id),
    operation: String(row.operation) as StoredUse['operation'], // only `putUses` writes this column
    outcome: String(row.outcome) as StoredUse['outcome'],
    address: String(row.address),
    first_at: String(row.first_at),
    last_at: String(row.last_at),
    count: Number(row.count),
  };
}

async function readUseRows(sql: Sql, id: string): Promise<LogRow[]> {
  const found: LogRow[] = [];
  for (const { uses: table } of [LIVING, RETIRED])
    for (const { count, ...row } of await sql.all(
      `SELECT ${USE_COLUMNS.join(', ')} FROM ${table} WHERE nameserver_id = ?
        ORDER BY ${USE_COLUMNS.join(', ')}`,
      [id],
    )) {
      const values = USE_COLUMNS.slice(0, -1).map((column) => String(row[column]));
      // PostgreSQL returns large numbers as texts.
      found.push([table, [...values, Number(count)]]);
    }
  return found;
}

async function putUseRows(sql: Sql, id: string, rows: readonly LogRow[]): Promise<void> {
  for (const { uses: table } of [LIVING, RETIRED])
    await sql.run(`DELETE FROM ${table} WHERE nameserver_id = ?`, [id]);
  for (const [table, values] of rows)
    await sql.run(
      `INSERT INTO ${table} (${USE_COLUMNS.join(', ')}) VALUES (${places(values.length)})`,
      values,
    );
}
