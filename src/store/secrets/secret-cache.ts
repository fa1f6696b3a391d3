/**
 * A bounded cache of decrypted secrets of one column. `get` returns a secret only for the row and
 * the ciphertext that `set` received. A ciphertext that was moved to another row has no entry.
 */
export interface SecretCache {
  get(id: string, ciphertext: string): string | undefined;
  set(id: string, ciphertext: string, secret: string): void;
}

interface Entry {
  readonly ciphertext: string;
  readonly secret: string;
}

/**
 * Creates a cache of at most `most` entries. When the cache is full, a new entry replaces the
 * oldest entry.
 */
export function createSecretCache(most: number): SecretCache {
  const entries = new Map<string, Entry>();
  return {
    get(id, ciphertext) {
      const entry = entries.get(id);
      return entry?.ciphertext === ciphertext ? entry.secret : undefined;
    },
    set(id, ciphertext, secret) {
      if (entries.size >= most && !entries.has(id)) {
        for (const oldest of entries.keys()) {
          entries.delete(oldest);
          break;
        }
      }
      entries.set(id, { ciphertext, secret });
    },
  };
}
