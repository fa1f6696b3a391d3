import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Keyring, SecretCipher } from '../../core/keyring.ts';
import { STORED_TYPES } from '../../resources/resources.ts';
import { pages } from '../../sql/reader.ts';
import { secretColumns } from '../../sql/secret-columns.ts';
import type { Database, Sql, SqlValue } from '../../sql/sql.ts';

export interface SecretPlace {
  readonly table: string;
  readonly column: string;
  readonly keyColumn: string;
  /** The columns that describe a secret, as SQL assignments for a row that has lost it. */
  readonly facts: readonly string[];
}

const FACTS_OF_LOST = { secret_octets: 0, weak: 0, unusable: 1 };

export const SECRET_PLACES: readonly SecretPlace[] = STORED_TYPES.flatMap((type) =>
  secretColumns(type, undefined).map(({ field, keyColumn }) => ({
    table: type.collection,
    column: field,
    keyColumn,
    facts: Object.entries(FACTS_OF_LOST).flatMap(([name, value]) =>
      name in type.fields ? [`${name} = ${value}`] : [],
    ),
  })),
);

/** The number of rows that one transaction encrypts. It is small, so transactions are short. */
const BATCH = 100;

interface SecretRow {
  readonly id: string;
  readonly secret: string;
}

/**
 * Re-encrypts all secrets under the data key `from` with the active data key, in batches. `from` is
 * null for secrets that are not encrypted. Changes only the stored form: no timestamp and no
 * version. Does not overwrite a secret that changed after it was read. Skips rows that cannot be
 * decrypted. Returns the number of encrypted rows.
 */
export async function reEncrypt(
  database: Database,
  keyring: Keyring,
  from: number | null,
  stop: () => boolean = () => false,
): Promise<number> {
  let count = 0;
  for (const place of SECRET_PLACES) {
    const cipher = keyring.cipherOf(place.table, place.column);
    let after = '';
    for (let last = ''; !stop(); after = last) {
      // A transaction of `migrate` sees the newest rows, and only one such transaction runs at a
      // time.
      await database.migrate(async (sql) => {
        const rows = await rowsAfter(sql, place, from, after);
        last = rows.at(-1)?.id ?? '';
        for (const row of rows) count += await encryptRow(sql, place, cipher, from, row);
      });
      if (last === '') break;
      await nextTurn();
    }
  }
  return count;
}

interface StoredSecret {
  readonly place: SecretPlace;
  readonly id: string;
  /** The number of its data key, or null for a secret in clear text. */
  readonly keyNumber: number | null;
  readonly isReadable: boolean;
}

/** Yields all secrets of a database, and decrypts each. Other work runs between the batches. */
export async function* allSecrets(sql: Sql, keyring: Keyring): AsyncGenerator<StoredSecret> {
  for (const place of SECRET_PLACES) {
    const cipher = keyring.cipherOf(place.table, place.column);
    for (const keyNumber of await keyNumbersOf(sql, place)) {
      const batches = pages(
        BATCH,
        (after) => rowsAfter(sql, place, keyNumber, after),
        (row) => row.id,
      );
      for await (const rows of batches)
        for (const { id, secret } of rows) {
          const isReadable = canDecrypt(() => cipher.decrypt(id, { text: secret, keyNumber }));
          yield { place, id, keyNumber, isReadable };
        }
    }
  }
}

/** Null means clear text. Another program may have deleted a data key that encrypts secrets. */
async function keyNumbersOf(
  sql: Sql,
  { table, keyColumn }: SecretPlace,
): Promise<(number | null)[]> {
  const rows = await sql.all(`SELECT DISTINCT ${keyColumn} AS number FROM ${table}`, []);
  return rows.map(({ number }) => (number === null ? null : Number(number)));
}

/** Reads the next `BATCH` rows under a data key, in the order of their ids. */
async function rowsAfter(
  sql: Sql,
  place: SecretPlace,
  keyNumber: number | null,
  after: string,
): Promise<SecretRow[]> {
  const { table, column } = place;
  const { text, parameters } = isKey(place, keyNumber);
  const rows = await sql.all(
    `SELECT id, ${column} AS secret FROM ${table} WHERE ${text} AND id > ? ORDER BY id LIMIT ${BATCH}`,
    [...parameters, after],
  );
  return rows.map(({ id, secret }) => ({ id: String(id), secret: String(secret) }));
}

async function encryptRow(
  sql: Sql,
  place: SecretPlace,
  cipher: SecretCipher,
  from: number | null,
  { id, secret }: SecretRow,
): Promise<number> {
  let clear: string;
  try {
    clear = cipher.decrypt(id, { text: secret, keyNumber: from });
  } catch {
    return 0; // `verifySecrets` reports this row as unreadable
  }
  const stored = cipher.encrypt(id, clear);
  const { table, column, keyColumn } = place;
  const { text, parameters } = isKey(place, from);
  return sql.run(
    `UPDATE ${table} SET ${column} = ?, ${keyColumn} = ? WHERE id = ? AND ${column} = ? AND ${text}`,
    [stored.text, stored.keyNumber, id, secret, ...parameters],
  );
}

/** Null selects secrets in clear text, which are not empty as lost secrets are. */
function isKey(
  { column, keyColumn }: SecretPlace,
  number: number | null,
): { text: string; parameters: SqlValue[] } {
  return number === null
    ? { text: `${keyColumn} IS NULL AND ${column} <> ''`, parameters: [] }
    : { text: `${keyColumn} = ?`, parameters: [number] };
}

/** Counts at most `most` of each table. Null counts secrets that are not encrypted. */
export async function countUnder(sql: Sql, number: number | null, most?: number): Promise<number> {
  const limit = most === undefined ? '' : ` LIMIT ${most}`;
  let count = 0;
  for (const place of SECRET_PLACES) {
    const { text, parameters } = isKey(place, number);
    const row = await sql.one(
      `SELECT count(*) AS count FROM (SELECT 1 FROM ${place.table} WHERE ${text}${limit}) AS counted`,
      parameters,
    );
    count += Number(row?.count);
  }
  return count;
}

export async function namesInClearText(sql: Sql): Promise<string[]> {
  const names: string[] = [];
  for (const place of SECRET_PLACES)
    for (const { name } of await sql.all(
      `SELECT name FROM ${place.table} WHERE ${isKey(place, null).text} ORDER BY name_key`,
      [],
    ))
      names.push(String(name));
  return names;
}

export function canDecrypt(decrypt: () => unknown): boolean {
  try {
    decrypt();
    return true;
  } catch {
    return false;
  }
}
