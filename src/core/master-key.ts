import { createHmac } from 'node:crypto';

/** The prefix of every master key. Secret scanners can search for it. */
const MASTER_KEY_PREFIX = 'tsigilmk_';

const KEY_OCTETS = 32;

/** A key that encrypts the data keys in the database. It is stored outside the database. */
export interface MasterKey {
  /** Identifies the key in messages and in the database. Reveals nothing about the key. */
  readonly id: string;
  readonly key: Buffer;
}

export function masterKeyOf(key: Buffer): MasterKey {
  const digest = createHmac('sha256', key).update('tsigil master key id').digest();
  return { id: base32(digest.subarray(0, 5)), key };
}

/** Returns a master key as a line of a master key file. */
export function formatMasterKey({ key }: MasterKey): string {
  return MASTER_KEY_PREFIX + key.toString('base64url');
}

/**
 * Parses the text of a master key file: one key per line, newest first. `#` begins a comment.
 * Returns all keys, or the problem. The problem quotes no part of the text.
 */
export function parseMasterKeys(
  text: string,
): { readonly keys: readonly MasterKey[] } | { readonly problem: string } {
  const keys = new Map<string, MasterKey>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const word = line.replace(/#.*/, '').trim();
    if (word === '') continue;
    const key = parseMasterKey(word);
    if (key === undefined)
      return {
        problem: `line ${index + 1} is not a master key. A master key is '${MASTER_KEY_PREFIX}' followed by 43 characters`,
      };
    keys.set(key.id, key);
  }
  return keys.size === 0 ? { problem: 'the file has no master key' } : { keys: [...keys.values()] };
}

function parseMasterKey(text: string): MasterKey | undefined {
  if (!text.startsWith(MASTER_KEY_PREFIX)) return undefined;
  const encoded = text.slice(MASTER_KEY_PREFIX.length);
  const key = Buffer.from(encoded, 'base64url');
  return key.length === KEY_OCTETS && key.toString('base64url') === encoded
    ? masterKeyOf(key)
    : undefined;
}

/** Encodes five octets as eight base32 characters (RFC 4648 section 6). */
function base32(octets: Buffer): string {
  const bits = [...octets].map((octet) => octet.toString(2).padStart(8, '0')).join('');
  return bits.replaceAll(/.{5}/g, (five) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.charAt(Number.parseInt(five, 2)),
  );
}
