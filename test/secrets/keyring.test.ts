import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { WrappedKey } from '../../src/core/keyring.ts';
import { masterKeyOf } from '../../src/core/master-key.ts';
import { createKeyring } from '../../src/secrets/store/create-keyring.ts';

const NOW = '2026-01-02T03:04:05.000006';
const SECRET = '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=';

const master = masterKeyOf(randomBytes(32));
let keyring: ReturnType<typeof createKeyring>;
let first: WrappedKey;
beforeEach(() => {
  keyring = createKeyring([master]);
  first = keyring.newDataKey(1, 'secrets', NOW);
  keyring.load([first]);
});

/** Returns a keyring with the same keys and an empty cache. */
function another(): ReturnType<typeof createKeyring> {
  const other = createKeyring([master]);
  other.load([first]);
  return other;
}

/** Returns `text` with one bit of the octet at `index` changed. */
function flipped(text: string, index: number): string {
  const octets = Buffer.from(text, 'base64url');
  octets.writeUInt8(octets.readUInt8(index) ^ 1, index);
  return octets.toString('base64url');
}

describe('the cipher of a column', () => {
  test.each([SECRET, 'ä\u{1f511}', 'x'.repeat(255)])(
    'decrypts a text that it encrypted: %j',
    (text) => {
      const cipher = keyring.cipherOf('tsigkeys', 'secret');
      const stored = cipher.encrypt('a', text);
      expect(stored.keyNumber).toBe(1);
      expect(stored.text).toMatch(/^[A-Za-z0-9_-]+$/);
      if (text.length > 3) expect(stored.text).not.toContain(text);
      expect(cipher.decrypt('a', stored)).toBe(text);
      expect(another().cipherOf('tsigkeys', 'secret').decrypt('a', stored)).toBe(text);
    },
  );

  test('stores a lost secret as an empty text, also if encryption is required', () => {
    keyring.requireEncryption();
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const lost = { text: '', keyNumber: null };
    expect(cipher.encrypt('a', '')).toEqual(lost);
    expect(cipher.decrypt('a', lost)).toBe('');
    expect(() => cipher.decrypt('a', { text: SECRET, keyNumber: null })).toThrow('not encrypted');
  });

  test('encrypts the same secret with another nonce each time', () => {
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const texts = Array.from({ length: 300 }, () => cipher.encrypt('a', SECRET).text);
    expect(new Set(texts.map((text) => text.slice(0, 16))).size).toBe(300);
  });

  test('refuses a changed nonce, ciphertext or tag, even if the row is cached', () => {
    for (const ring of [keyring, another()]) {
      const cipher = ring.cipherOf('tsigkeys', 'secret');
      const stored = keyring.cipherOf('tsigkeys', 'secret').encrypt('a', SECRET);
      cipher.decrypt('a', stored);
      const length = Buffer.from(stored.text, 'base64url').length;
      for (let index = 0; index < length; index += 1) {
        const text = flipped(stored.text, index);
        expect(() => cipher.decrypt('a', { ...stored, text })).toThrow("secret of tsigkeys 'a'");
      }
    }
  });

  test('refuses every truncated ciphertext', () => {
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const stored = cipher.encrypt('a', SECRET);
    const octets = Buffer.from(stored.text, 'base64url');
    for (let length = 0; length < octets.length; length += 1) {
      const text = octets.subarray(0, length).toString('base64url');
      expect(() => cipher.decrypt('a', { ...stored, text })).toThrow();
    }
  });

  test('refuses the ciphertext of another row, column or table, even if both rows are cached', () => {
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const [a, b] = [cipher.encrypt('a', SECRET), cipher.encrypt('b', 'other')];
    expect(() => cipher.decrypt('a', b)).toThrow();
    expect(() => cipher.decrypt('b', a)).toThrow();
    expect(() => keyring.cipherOf('tsigkeys', 'name').decrypt('a', a)).toThrow();
    expect(() => keyring.cipherOf('hooks', 'secret').decrypt('a', a)).toThrow();
    expect([cipher.decrypt('a', a), cipher.decrypt('b', b)]).toEqual([SECRET, 'other']);
  });

  test('refuses the ciphertext of another data key', () => {
    const second = { ...keyring.newDataKey(2, 'secrets', NOW) };
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const { text } = cipher.encrypt('a', SECRET);
    keyring.load([first, second]);
    expect(cipher.encrypt('a', SECRET).keyNumber).toBe(2);
    const cold = createKeyring([master]);
    cold.load([first, second]);
    expect(() =>
      cold.cipherOf('tsigkeys', 'secret').decrypt('a', { text, keyNumber: 2 }),
    ).toThrow();
    expect(cold.cipherOf('tsigkeys', 'secret').decrypt('a', { text, keyNumber: 1 })).toBe(SECRET);
  });

  test('stores secrets in clear text without a data key, and accepts clear text until encryption is required', () => {
    const clear = createKeyring([]);
    const cipher = clear.cipherOf('tsigkeys', 'secret');
    expect(cipher.encrypt('a', SECRET)).toEqual({ text: SECRET, keyNumber: null });
    expect(cipher.decrypt('a', { text: SECRET, keyNumber: null })).toBe(SECRET);
    clear.requireEncryption();
    expect(() => cipher.decrypt('a', { text: SECRET, keyNumber: null })).toThrow('not encrypted');
  });

  test('states the row and the data key in errors, but no secret or ciphertext', () => {
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const { text } = cipher.encrypt('a', SECRET);
    const failure = (() => {
      try {
        return cipher.decrypt('b', { text, keyNumber: 1 });
      } catch (error) {
        return (error as Error).message;
      }
    })();
    expect(failure).toMatch(/^The secret of tsigkeys 'b' cannot be decrypted with data key 1: /);
    expect(failure).not.toContain(text);
  });

  test('counts each unreadable row once, until the row has a readable secret or is gone', () => {
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const stored = cipher.encrypt('a', SECRET);
    for (const id of ['b', 'b', 'c']) expect(() => cipher.decrypt(id, stored)).toThrow();
    expect(keyring.unreadable().map(({ id }) => id)).toEqual(['b', 'c']);
    cipher.encrypt('b', SECRET);
    expect(keyring.unreadable()).toHaveLength(1);
    keyring.forget({ table: 'tsigkeys', column: 'secret', id: 'c' });
    expect(keyring.unreadable()).toEqual([]);
  });

  test('decrypts correctly even with more rows than it caches', () => {
    const cipher = keyring.cipherOf('tsigkeys', 'secret');
    const rows = Array.from({ length: 4500 }, (_, index) => {
      const id = `row-${index}`;
      return { id, stored: cipher.encrypt(id, `secret ${index}`) };
    });
    for (const [index, { id, stored }] of rows.entries())
      expect(cipher.decrypt(id, stored)).toBe(`secret ${index}`);
  });
});

describe('data keys', () => {
  test('remain usable after the master keys are replaced', () => {
    const ring = createKeyring([master]);
    const kept = ring.newDataKey(1, 'secrets', NOW);
    ring.load([kept]);
    const column = ring.cipherOf('tsigkeys', 'secret');
    const stored = column.encrypt('a', SECRET);
    ring.useMasterKeys([masterKeyOf(randomBytes(32))]);
    expect(ring.load([kept])).toEqual([]);
    expect(ring.load([])).toEqual([]); // after another process has deleted the key
    expect(column.decrypt('a', stored)).toBe(SECRET);
    expect(column.encrypt('b', SECRET).keyNumber).toBe(1);
  });

  test('are unwrapped with the master keys of now, if another process has changed the master key', () => {
    const newer = masterKeyOf(randomBytes(32));
    let found = { keys: [master] };
    const ring = createKeyring([master], () => found);
    ring.load([first]);
    found = { keys: [newer, master] };
    const second = createKeyring([newer]).newDataKey(2, 'secrets', NOW);
    expect(ring.load([first, second])).toEqual([]);
    expect(ring.masterKeys).toEqual([newer, master]);
    expect(ring.cipherOf('tsigkeys', 'secret').encrypt('a', SECRET).keyNumber).toBe(2);
  });

  test('that no master key unwraps prevent encryption, and no secret is stored in clear text', () => {
    const ring = createKeyring([master]);
    ring.load([createKeyring([masterKeyOf(randomBytes(32))]).newDataKey(1, 'secrets', NOW)]);
    expect(() => ring.cipherOf('tsigkeys', 'secret').encrypt('a', SECRET)).toThrow(
      'No data key is available',
    );
  });

  test('cannot be used with another master key, and are reported', () => {
    const other = createKeyring([masterKeyOf(randomBytes(32))]);
    expect(other.load([first])).toEqual([first]);
    expect(other.isLoaded(1)).toBe(true);
    expect(() => other.cipherOf('t', 'c').decrypt('a', { text: 'x', keyNumber: 1 })).toThrow(
      'data key 1 is not available',
    );
  });

  test.each(['number', 'wrapped'] as const)(
    'are reported as not unwrapped if the column %s was changed',
    (column) => {
      const changed = {
        ...first,
        ...(column === 'number' ? { number: 2 } : { wrapped: flipped(first.wrapped, 20) }),
      };
      expect(createKeyring([master]).load([changed])).toEqual([changed]);
    },
  );

  test('can be unwrapped with any of the master keys, and are wrapped again with the first master key', () => {
    const newer = masterKeyOf(randomBytes(32));
    const ring = createKeyring([newer, master]);
    expect(ring.load([first])).toEqual([]);
    const again = ring.rewrap(first);
    expect([first.wrappedBy, again.wrappedBy]).toEqual([master.id, newer.id]);
    const { text, keyNumber } = keyring.cipherOf('t', 'c').encrypt('a', SECRET);
    const alone = createKeyring([newer]);
    expect(alone.load([again])).toEqual([]);
    expect(alone.cipherOf('t', 'c').decrypt('a', { text, keyNumber })).toBe(SECRET);
  });

  test('cannot be created or wrapped again without the master key', () => {
    expect(() => createKeyring([]).newDataKey(1, 'secrets', NOW)).toThrow('No master key');
    expect(() => createKeyring([masterKeyOf(randomBytes(32))]).rewrap(first)).toThrow('data key 1');
  });
});
