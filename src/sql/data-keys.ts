import type { KeyPurpose, Keyring, WrappedKey } from '../core/keyring.ts';
import type { MasterKey } from '../core/master-key.ts';
import type { Sql } from './sql.ts';

export async function readDataKeys(sql: Sql): Promise<WrappedKey[]> {
  const rows = await sql.all(
    'SELECT number, purpose, wrapped, wrapped_by, created_at FROM data_keys ORDER BY number',
    [],
  );
  return rows.map(
    ({ number, purpose, wrapped, wrapped_by: wrappedBy, created_at: createdAt }) =>
      // the migration defines these columns
      ({ number, purpose, wrapped, wrappedBy, createdAt }) as WrappedKey,
  );
}

export async function insertDataKey(sql: Sql, key: WrappedKey): Promise<void> {
  await sql.run(
    'INSERT INTO data_keys (number, purpose, wrapped, wrapped_by, created_at) VALUES (?, ?, ?, ?, ?)',
    [key.number, key.purpose, key.wrapped, key.wrappedBy, key.createdAt],
  );
}

/** Creates a data key with the next number. Returns the number. */
export async function createDataKey(
  sql: Sql,
  keyring: Keyring,
  purpose: KeyPurpose,
  now: string,
): Promise<number> {
  const numbers = (await readDataKeys(sql)).map(({ number }) => number);
  const number = Math.max(0, ...numbers) + 1;
  await insertDataKey(sql, keyring.newDataKey(number, purpose, now));
  return number;
}

/**
 * Creates the data key of secrets, and before it a master key if there is none: its file is on disk
 * before the transaction commits, so that no data key exists without its master key. Returns the
 * master key that the function created.
 */
export async function createSecretsKey(
  sql: Sql,
  keyring: Keyring,
  createMasterKey: (() => MasterKey) | undefined,
  now: string,
): Promise<MasterKey | undefined> {
  const created = keyring.masterKeys.length === 0 ? createMasterKey?.() : undefined;
  if (created !== undefined) keyring.useMasterKeys([created]);
  await createDataKey(sql, keyring, 'secrets', now);
  return created;
}

export function isSecretsKey({ purpose }: WrappedKey): boolean {
  return purpose === 'secrets';
}

/** Loads the data keys of a database. Returns the data keys that no master key unwraps. */
export async function loadDataKeys(sql: Sql, keyring: Keyring): Promise<readonly WrappedKey[]> {
  return keyring.load(await readDataKeys(sql));
}
