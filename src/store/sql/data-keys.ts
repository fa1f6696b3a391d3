import type { Keyring, WrappedKey } from '../../domain/encryption/keyring.ts';
import type { Sql } from './sql.ts';

/** Returns all data keys, in the order of their numbers. */
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

/** Loads the data keys of a database. Returns the data keys that no master key unwraps. */
export async function loadDataKeys(sql: Sql, keyring: Keyring): Promise<readonly WrappedKey[]> {
  return keyring.load(await readDataKeys(sql));
}
