import { createHash } from 'node:crypto';
import type { Keyring, WrappedKey } from '../../domain/encryption/keyring.ts';
import type { MasterKey } from '../../domain/encryption/master-key.ts';
import type { AlgorithmName } from '../../domain/dns/algorithms.ts';
import { generateSecret, tsigkey } from '../../domain/resources/tsigkey.ts';
import { insertDataKey, loadDataKeys, readDataKeys } from '../sql/data-keys.ts';
import { keyNumberOf } from '../sql/secret-columns.ts';
import type { Database, Sql } from '../sql/sql.ts';
import { isReadable, secretsUnder } from './re-encrypt.ts';

export interface ResetDependencies {
  readonly database: Database;
  /** The keyring with the new master key, unless `createMasterKey` creates that key. */
  readonly keyring: Keyring;
  readonly createMasterKey: (() => MasterKey) | undefined;
  readonly randomBytes: (size: number) => Buffer;
  /** The current time, as a timestamp of the API. */
  readonly now: string;
  /** Writes an audit record in the transaction of the reset. */
  record(sql: Sql, plan: ResetPlan): Promise<void>;
}

/** A key whose secret cannot be decrypted. */
export interface UnreadableKey {
  readonly id: string;
  readonly name: string;
  readonly algorithm: AlgorithmName;
}

/** The keys that a reset changes. */
export interface ResetPlan {
  readonly keys: readonly UnreadableKey[];
  /** The data keys that no master key unwraps. */
  readonly dataKeys: readonly WrappedKey[];
}

const PLACE = { table: tsigkey.collection, column: 'secret', keyColumn: 'secret_key' };

/**
 * Returns the keys with unreadable secrets, and the data keys that no master key unwraps. Changes
 * nothing.
 */
export async function planReset(sql: Sql, keyring: Keyring): Promise<ResetPlan> {
  const dataKeys = await loadDataKeys(sql, keyring);
  const cipher = keyring.cipherOf(PLACE.table, PLACE.column);
  const keys: UnreadableKey[] = [];
  for (const { number } of await readDataKeys(sql))
    for await (const { id, secret } of secretsUnder(sql, PLACE, number)) {
      if (isReadable(() => cipher.decrypt(id, { text: secret, keyNumber: number }))) continue;
      const row = await sql.one(`SELECT name, algorithm FROM ${PLACE.table} WHERE id = ?`, [id]);
      const name = String(row?.name);
      // every stored key has a known algorithm
      if (row !== undefined) keys.push({ id, name, algorithm: row.algorithm as AlgorithmName });
    }
  return { keys, dataKeys };
}

/**
 * Gives each key with an unreadable secret a new random secret, and marks the secret as lost.
 * Deletes the data keys that no master key unwraps. Runs in one transaction. Does not change
 * readable secrets. No service may use the database.
 */
export async function resetSecrets({
  database,
  keyring,
  createMasterKey,
  randomBytes,
  now,
  record,
}: ResetDependencies): Promise<ResetPlan> {
  let plan: ResetPlan = { keys: [], dataKeys: [] };
  await database.migrate(async (sql) => {
    plan = await planReset(sql, keyring);
    await ensureActiveKey(sql, keyring, createMasterKey, now);
    const cipher = keyring.cipherOf(PLACE.table, PLACE.column);
    for (const { id, algorithm } of plan.keys) {
      const secret = generateSecret(algorithm, randomBytes);
      const { text, keyNumber } = cipher.encrypt(id, secret);
      await sql.run(
        `UPDATE ${PLACE.table} SET secret = ?, secret_key = ?, secret_usable = 1, updated_at = ? WHERE id = ?`,
        [text, keyNumber, now, id],
      );
      await mark(sql, { id, digest: digestOf(secret), lostAt: now });
    }
    for (const { number } of plan.dataKeys)
      await sql.run('DELETE FROM data_keys WHERE number = ?', [number]);
    await loadDataKeys(sql, keyring);
    await record(sql, plan);
  });
  return plan;
}

/** Creates an active data key, unless the master keys unwrap the current active data key. */
async function ensureActiveKey(
  sql: Sql,
  keyring: Keyring,
  createMasterKey: (() => MasterKey) | undefined,
  now: string,
): Promise<void> {
  const keys = await readDataKeys(sql);
  const lost = new Set(keyring.load(keys).map(({ number }) => number));
  if (keys.some(({ number, purpose }) => purpose === 'secrets' && !lost.has(number))) return;
  // The file is on disk before the transaction commits, so that no data key exists without its
  // master key.
  const created = keyring.masterKeys.length === 0 ? createMasterKey?.() : undefined;
  if (created !== undefined) keyring.useMasterKeys([created]);
  const number = Math.max(0, ...keys.map((key) => key.number)) + 1;
  await insertDataKey(sql, keyring.newDataKey(number, 'secrets', now));
  await loadDataKeys(sql, keyring);
}

/** The mark of a key whose secret was lost. */
export interface LostSecret {
  readonly id: string;
  /** The digest of the random secret that replaced the lost secret. */
  readonly digest: string;
  readonly lostAt: string;
}

/** Returns the marks of all keys whose secret was lost. */
export async function readLostSecrets(sql: Sql): Promise<LostSecret[]> {
  const rows = await sql.all('SELECT id, digest, lost_at FROM lost_secrets', []);
  return rows.map(({ id, digest, lost_at: lostAt }) => ({
    id: String(id),
    digest: String(digest),
    lostAt: String(lostAt),
  }));
}

/** Stores the marks of keys that were copied from another database. */
export async function copyLostSecrets(
  database: Pick<Database, 'write'>,
  marks: readonly LostSecret[],
): Promise<void> {
  await database.write(async (sql) => {
    for (const each of marks) await mark(sql, each);
  });
}

async function mark(sql: Sql, { id, digest, lostAt }: LostSecret): Promise<void> {
  await sql.run(
    'INSERT INTO lost_secrets (id, digest, lost_at) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, lost_at = excluded.lost_at',
    [id, digest, lostAt],
  );
}

/** Returns the sorted names of the keys that still have the random secret of a reset. */
export async function lostKeys(sql: Sql, keyring: Keyring): Promise<string[]> {
  const rows = await sql.all(
    `SELECT k.id AS id, k.name AS name, k.secret AS secret, k.secret_key AS secret_key, l.digest AS digest
      FROM lost_secrets l JOIN ${PLACE.table} k ON k.id = l.id`,
    [],
  );
  const cipher = keyring.cipherOf(PLACE.table, PLACE.column);
  const lost = rows.filter(({ id, secret, secret_key: keyNumber, digest }) => {
    const stored = { text: String(secret), keyNumber: keyNumberOf(keyNumber) };
    try {
      return digestOf(cipher.decrypt(String(id), stored)) === digest;
    } catch {
      return false; // counted as unreadable
    }
  });
  return lost.map(({ name }) => String(name)).sort();
}

/** Returns whether a key still has the random secret that replaced its lost secret. */
export function isLostSecret(
  mark: LostSecret | undefined,
  { secret }: { readonly secret: string },
): boolean {
  return (
    mark !== undefined &&
    isReadable(() => JSON.stringify(secret)) &&
    digestOf(secret) === mark.digest
  );
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
