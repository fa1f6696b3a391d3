import { encryptedFields, type Keyring, type SecretCipher } from '../core/keyring.ts';
import { sortFields, type Fields, type ResourceType } from '../core/resource.ts';
import { unreadable } from '../core/unreadable.ts';
import type { SqlRow, SqlValue } from './sql.ts';

/** A column with a secret, and the column with the number of its data key. */
interface SecretColumn {
  readonly field: string;
  readonly keyColumn: string;
  /** Undefined if there is no keyring, as in the thread for scans. */
  readonly cipher: SecretCipher | undefined;
}

function keyColumnOf(field: string): string {
  return `${field}_key`;
}

/**
 * Returns the secrets of a type: its fields with `secret: true`. Throws `Error` if lists could be
 * filtered or sorted by a secret, because the database has only its ciphertext.
 */
export function secretColumns<F extends Fields>(
  type: ResourceType<F>,
  keyring: Keyring | undefined,
): readonly SecretColumn[] {
  const { collection, filters, lookups = {}, unique, owner } = type;
  const compared = [
    ...Object.keys(filters),
    ...Object.values(sortFields(type)),
    ...Object.values(lookups).map((lookup) => ('field' in lookup ? lookup.field : '')),
    ...[unique?.field, unique?.per, owner].flatMap((field) => field ?? []),
  ];
  const fields = encryptedFields(type);
  const stray = fields.find((field) => compared.includes(field));
  if (stray !== undefined)
    throw new Error(
      `The secret '${stray}' of ${collection} cannot be a filter, sort key or lookup`,
    );
  return fields.map((field) => ({
    field,
    keyColumn: keyColumnOf(field),
    cipher: keyring?.cipherOf(collection, field),
  }));
}

/**
 * Returns the secret of a row, or an `Unreadable`, so that callers can still replace or delete a row
 * whose secret cannot be decrypted.
 */
export function readSecret({ field, keyColumn, cipher }: SecretColumn, row: SqlRow): unknown {
  if (cipher === undefined) return row[keyColumn] === null ? row[field] : SEALED;
  try {
    return cipher.decrypt(String(row.id), {
      text: String(row[field]),
      keyNumber: keyNumberOf(row[keyColumn]),
    });
  } catch (cause) {
    return unreadable(cause);
  }
}

/** Returns the value of a column with the number of a data key. Null means clear text. */
function keyNumberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Throws `unreadable_secret` for a secret that `readSecret` could not decrypt. */
export function writeSecret(
  { cipher }: SecretColumn,
  id: string,
  secret: unknown,
): readonly [text: SqlValue, keyNumber: SqlValue] {
  const text = String(secret);
  if (cipher === undefined) return [text, null];
  const stored = cipher.encrypt(id, text);
  return [stored.text, stored.keyNumber];
}

const SEALED = unreadable(new Error('Secrets cannot be decrypted without a keyring'));
