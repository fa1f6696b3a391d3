import { batchText, hashBatch, NO_PREVIOUS } from '../../src/audit/chain.ts';
import type { AuditEntry } from '../../src/core/audit-record.ts';
import type { TrailVerification } from '../../src/audit/responses.ts';
import type { AuditKey } from '../../src/core/keyring.ts';
import { migrate } from '../../src/sql/migrate.ts';
import { parseDatabase } from '../../src/sql/databases.ts';
import { insertRecords } from '../../src/audit/store/records.ts';
import type { Database } from '../../src/sql/sql.ts';
import { adoptKey, changeHead, readHead } from '../../src/audit/store/head.ts';
import { SELECT_RECORDS, storedRecord } from '../../src/audit/store/read.ts';
import type { Client } from './client.ts';

/**
 * Opens the database at `url`, migrates the schema and runs `work`. No service may use the
 * database.
 */
export async function withDatabase<T>(
  url: string,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { kind, location } = parseDatabase(url);
  const database = await kind.open(
    location,
    { committed: () => undefined },
    {
      maxConnections: 10,
      statementTimeoutSeconds: 60,
      scanTimeoutSeconds: 60,
    },
  );
  try {
    await migrate(database, '2026-11-21T00:00:00.000000');
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Returns an audit entry for a resource with this name. `changes` replaces members. */
export function entry(name: string, changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    at: '2026-11-21T09:30:00.000000',
    request_id: null,
    global_request_id: null,
    actor_kind: 'token',
    actor_id: 'seeded-actor',
    actor_name: 'terraform',
    roles: ['admin'],
    project_id: null,
    source: '192.0.2.7',
    action: 'tlds:create',
    resource_type: 'seeded',
    resource_id: `id-${name}`,
    resource_name: name,
    outcome: 'success',
    detail: { changes: { name: [null, name] } },
    ...changes,
  };
}

/** Writes records in one transaction. */
export async function addRecords(
  database: Database,
  entries: readonly AuditEntry[],
): Promise<void> {
  await database.write((sql) => insertRecords(sql, entries));
}

/**
 * Seals up to `size` records as a batch, as the service does. Returns the number of sealed records.
 */
export async function seal(
  database: Database,
  size = 2000,
  { key, at = '2026-11-21T09:30:01.000000' }: { key?: AuditKey; at?: string } = {},
): Promise<number> {
  return database.write(async (sql) => {
    const rows = await sql.all(`${SELECT_RECORDS}batch IS NULL ORDER BY seq LIMIT ?`, [size]);
    const records = rows.map(storedRecord);
    const [first, last] = [records[0], records.at(-1)];
    if (first === undefined || last === undefined) return 0;
    const head = await readHead(sql);
    if (key !== undefined && head?.mac === null) await adoptKey(sql, key, true, at);
    const number = (head?.number ?? 0) + 1;
    const previous = head?.hash ?? NO_PREVIOUS;
    const digest = hashBatch({ previous, number, at });
    for (const record of records) digest.add(record);
    await sql.run('UPDATE audit_records SET batch = ? WHERE batch IS NULL AND seq <= ?', [
      number,
      last.seq,
    ]);
    const hash = digest.end();
    const [count, first_seq, last_seq] = [records.length, first.seq, last.seq];
    const mac =
      key?.hmac(batchText({ number, at, count, first_seq, last_seq, previous, hash })) ?? null;
    await sql.run(
      'INSERT INTO audit_batches (number, at, count, first_seq, last_seq, previous, hash, mac, key_number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      [number, at, count, first_seq, last_seq, previous, hash, mac, key?.number ?? null],
    );
    await changeHead(sql, key, at, { number, hash });
    return count;
  });
}

/**
 * Writes `count` records with the names `0`, `1` and so on, in batches of `size`. `changes`
 * replaces members of each record.
 */
export async function seed(
  database: Database,
  count: number,
  size: number,
  { key, changes }: { key?: AuditKey; changes?: Partial<AuditEntry> } = {},
): Promise<void> {
  for (let at = 0; at < count; at += size) {
    const names = Array.from({ length: Math.min(size, count - at) }, (_, index) => at + index);
    await addRecords(
      database,
      names.map((name) => entry(String(name), changes)),
    );
    await seal(database, size, key === undefined ? {} : { key });
  }
}

/** Returns the lines of a verification of the whole trail by a service. */
export async function verification(client: Client): Promise<TrailVerification[]> {
  const { status, text } = await client.get('/v2/audit/verify');
  if (status !== 200) throw new Error(text);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as TrailVerification);
}
