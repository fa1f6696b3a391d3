import type { Keyring, WrappedKey } from '../../core/keyring.ts';
import type { MasterKey } from '../../core/master-key.ts';
import { createSecretsKey, isSecretsKey, loadDataKeys, readDataKeys } from '../../sql/data-keys.ts';
import type { Database, Sql } from '../../sql/sql.ts';
import { allSecrets, SECRET_PLACES, type SecretPlace } from './re-encrypt.ts';

interface ResetDependencies {
  readonly database: Database;
  /** The keyring with the new master key, unless `createMasterKey` creates that key. */
  readonly keyring: Keyring;
  readonly createMasterKey: (() => MasterKey) | undefined;
  /** The current time, as a timestamp of the API. */
  readonly now: string;
  /** Writes an audit record in the transaction of the reset. */
  record(sql: Sql, reset: Reset): Promise<void>;
}

interface UnreadableSecret {
  readonly place: SecretPlace;
  readonly id: string;
  readonly name: string;
}

export interface Reset {
  readonly secrets: readonly UnreadableSecret[];
  /** The data keys that no master key unwraps. */
  readonly dataKeys: readonly WrappedKey[];
}

/** Returns the unreadable secrets, and the data keys that no master key unwraps. Changes nothing. */
export async function findReset(sql: Sql, keyring: Keyring): Promise<Reset> {
  const dataKeys = await loadDataKeys(sql, keyring);
  const secrets: UnreadableSecret[] = [];
  for await (const { place, id, keyNumber, isReadable } of allSecrets(sql, keyring)) {
    if (isReadable || keyNumber === null) continue;
    const row = await sql.one(`SELECT name FROM ${place.table} WHERE id = ?`, [id]);
    if (row !== undefined) secrets.push({ place, id, name: String(row.name) });
  }
  return { secrets, dataKeys };
}

/**
 * Removes each unreadable secret: the resource then has an empty secret. Deletes the data keys that no
 * master key unwraps. Runs in one transaction. Does not change readable secrets. No service may use
 * the database.
 */
export async function resetSecrets({
  database,
  keyring,
  createMasterKey,
  now,
  record,
}: ResetDependencies): Promise<Reset> {
  let reset: Reset = { secrets: [], dataKeys: [] };
  await database.migrate(async (sql) => {
    reset = await findReset(sql, keyring);
    await ensureActiveKey(sql, keyring, createMasterKey, now);
    for (const { place, id } of reset.secrets) {
      const { table, column, keyColumn, facts } = place;
      const changes = [`${column} = ''`, `${keyColumn} = NULL`, ...facts, 'updated_at = ?'];
      await sql.run(`UPDATE ${table} SET ${changes.join(', ')} WHERE id = ?`, [now, id]);
    }
    for (const { number } of reset.dataKeys)
      await sql.run('DELETE FROM data_keys WHERE number = ?', [number]);
    await loadDataKeys(sql, keyring);
    await record(sql, reset);
  });
  return reset;
}

/** Creates an active data key, unless the master keys unwrap the current active data key. */
async function ensureActiveKey(
  sql: Sql,
  keyring: Keyring,
  createMasterKey: (() => MasterKey) | undefined,
  now: string,
): Promise<void> {
  const keys = await readDataKeys(sql);
  const unusable = new Set(keyring.load(keys).map(({ number }) => number));
  if (keys.some((key) => isSecretsKey(key) && !unusable.has(key.number))) return;
  await createSecretsKey(sql, keyring, createMasterKey, now);
  await loadDataKeys(sql, keyring);
}

/** Returns the names of the resources whose secret a reset has removed, sorted within each type. */
export async function lostSecrets(sql: Sql): Promise<string[]> {
  const names: string[] = [];
  for (const { table, column, keyColumn } of SECRET_PLACES) {
    const condition = `${keyColumn} IS NULL AND ${column} = ''`;
    const rows = await sql.all(`SELECT name FROM ${table} WHERE ${condition} ORDER BY name`, []);
    names.push(...rows.map(({ name }) => String(name)));
  }
  return names;
}
