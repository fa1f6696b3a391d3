import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type {
  AuditKey,
  FoundKeys,
  KeyPurpose,
  Keyring,
  SecretCipher,
  SecretRow,
  WrappedKey,
} from '../../core/keyring.ts';
import type { MasterKey } from '../../core/master-key.ts';
import { ServiceError } from '../../core/errors.ts';
import { messageOf } from '../../net/faults.ts';
import { open, seal } from './aes-gcm.ts';

/** The maximum number of cached secrets per column. 4000 secrets use about 2 MB. */
const CACHED_SECRETS = 4000;

const COUNTED_ROWS = 10_000;

const KEY_OCTETS = 32;
const WRAP_LABEL = 'tsigil data key wrap 1';

interface OpenKey extends WrappedKey {
  readonly key: Buffer;
  /** The keys that a MAC key yields, one for each use. */
  readonly macs: { readonly audit: Buffer; readonly credentials: Buffer };
}

/**
 * Creates a keyring without data keys. Without master keys, the keyring stores secrets in clear
 * text. `read` reads the current master keys.
 */
export function createKeyring(
  initialKeys: readonly MasterKey[],
  read: () => FoundKeys = () => ({ keys: initialKeys }),
): Keyring {
  let masterKeys = initialKeys;
  const loaded = new Map<number, OpenKey | undefined>();
  let active: OpenKey | undefined;
  let mac: OpenKey | undefined;
  let acceptsClearText = true;
  const unreadable = new Map<string, SecretRow>();

  const unwrap = (key: WrappedKey, using = masterKeys): OpenKey | undefined => {
    const masterKey = using.find(({ id }) => id === key.wrappedBy);
    if (masterKey === undefined) return undefined;
    try {
      return openKey(key, open(wrappingKey(masterKey), contextOf(key), key.wrapped));
    } catch {
      return undefined; // the row was changed, or belongs to another master key with this id
    }
  };

  const wrap = (key: Buffer, details: Omit<WrappedKey, 'wrapped' | 'wrappedBy'>): WrappedKey => {
    const [masterKey] = masterKeys;
    if (masterKey === undefined) throw new Error('No master key is configured');
    const wrapped = seal(wrappingKey(masterKey), contextOf(details), key);
    return { ...details, wrapped, wrappedBy: masterKey.id };
  };

  const ciphers = new Map<string, SecretCipher>();
  const cipherOf = (table: string, column: string): SecretCipher => {
    const place = `${table}.${column}`;
    const cipher = ciphers.get(place) ?? createCipher(table, column);
    ciphers.set(place, cipher);
    return cipher;
  };

  const createCipher = (table: string, column: string): SecretCipher => {
    const cache = createSecretCache(CACHED_SECRETS);
    const contextFor = (id: string) => secretContext({ table, column, id });
    const decrypt = (id: string, keyNumber: number | null, text: string): string => {
      if (keyNumber === null) {
        if (acceptsClearText || text === '') return text; // a lost secret is empty
        throw new Error('the secret is not encrypted');
      }
      const key = loaded.get(keyNumber);
      if (key === undefined) throw new Error(`data key ${keyNumber} is not available`);
      return open(key.key, contextFor(id), text).toString();
    };
    return {
      encrypt(id, secret) {
        if (secret === '') return { text: '', keyNumber: null };
        if (active === undefined) {
          if (masterKeys.length > 0 && loaded.size > 0)
            throw new Error('No data key is available to encrypt a secret');
          return { text: secret, keyNumber: null };
        }
        const text = seal(active.key, contextFor(id), Buffer.from(secret));
        cache.set(id, text, secret);
        unreadable.delete(contextFor(id));
        return { text, keyNumber: active.number };
      },
      decrypt(id, { text, keyNumber }) {
        const cached = keyNumber === null ? undefined : cache.get(id, text);
        if (cached !== undefined) return cached;
        try {
          const secret = decrypt(id, keyNumber, text);
          if (keyNumber !== null) cache.set(id, text, secret);
          if (unreadable.size > 0) unreadable.delete(contextFor(id));
          return secret;
        } catch (cause) {
          if (unreadable.size < COUNTED_ROWS) unreadable.set(contextFor(id), { table, column, id });
          throw new Error(
            `The ${column} of ${table} '${id}' cannot be decrypted with data key ${keyNumber}: ${messageOf(cause)}`,
            { cause },
          );
        }
      },
    };
  };

  return {
    cipherOf,
    auditKey: () => auditKeyOf(mac),
    credentialMac(table, members) {
      if (masterKeys.length === 0) return null;
      const signed = JSON.stringify([table, ...members.filter(([, value]) => value !== null)]);
      return mac && hmac(mac.macs.credentials, signed);
    },
    isLoaded: (number) => loaded.has(number),
    load(keys) {
      // A number always identifies the same data key.
      const added = keys.filter(({ number }) => loaded.get(number) === undefined);
      if (added.some((key) => unwrap(key) === undefined)) {
        const present = read().keys;
        if (added.every((key) => unwrap(key, present) !== undefined)) masterKeys = present;
      }
      for (const key of added) loaded.set(key.number, unwrap(key));
      const newest = (purpose: KeyPurpose) =>
        keys.map(({ number }) => loaded.get(number)).findLast((key) => key?.purpose === purpose);
      active = newest('secrets') ?? active;
      mac = newest('mac') ?? mac;
      return keys.filter(({ number }) => loaded.get(number) === undefined);
    },
    readMasterKeys(keys) {
      const { keys: found, problem } = read();
      const lacking = keys.filter((key) => unwrap(key, found) === undefined);
      const refused = problem ?? problemWith(found, lacking, masterKeys.length > 0);
      if (refused !== undefined) throw new ServiceError('bad_request', refused);
      masterKeys = found;
    },
    get masterKeys() {
      return masterKeys;
    },
    useMasterKeys(keys) {
      masterKeys = keys;
    },
    newDataKey: (number, purpose, createdAt) =>
      wrap(randomBytes(KEY_OCTETS), { number, purpose, createdAt }),
    rewrap(key) {
      const opened = unwrap(key);
      if (opened === undefined) throw new Error(`No master key unwraps data key ${key.number}`);
      const { number, purpose, createdAt } = key;
      return wrap(opened.key, { number, purpose, createdAt });
    },
    requireEncryption() {
      acceptsClearText = false;
    },
    unreadable: () => [...unreadable.values()],
    forget: (row) => void unreadable.delete(secretContext(row)),
  };
}

/** Returns why master keys cannot be used, or undefined if they unwrap every data key. */
function problemWith(
  masterKeys: readonly MasterKey[],
  lackingKeys: readonly WrappedKey[],
  isEncrypted: boolean,
): string | undefined {
  if (masterKeys.length === 0)
    return isEncrypted
      ? 'The master key file no longer exists. Restore it'
      : 'No master key is configured. Set encryption.masterKeyFile and restart the service';
  if (lackingKeys.length === 0) return undefined;
  const ids = [...new Set(lackingKeys.map(({ wrappedBy }) => wrappedBy))].join(', ');
  return `The source of master keys contains ${masterKeys.map(({ id }) => id).join(', ')} and lacks master key ${ids}. Add the line of that key after the line of the new key`;
}

function auditKeyOf(key: OpenKey | undefined): AuditKey | undefined {
  return key && { number: key.number, hmac: (text) => hmac(key.macs.audit, text) };
}

function openKey(wrapped: WrappedKey, key: Buffer): OpenKey {
  const macs = {
    audit: derive(key, 'tsigil audit mac 1'),
    credentials: derive(key, 'tsigil credential mac 1'),
  };
  return { ...wrapped, key, macs };
}

function hmac(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** Derives a key for one use from another key (RFC 5869). */
function derive(key: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', use, KEY_OCTETS));
}

/** Returns the key that wraps data keys. The master key itself encrypts nothing. */
function wrappingKey({ key }: MasterKey): Buffer {
  return derive(key, WRAP_LABEL);
}

function secretContext({ table, column, id }: SecretRow): string {
  return `tsigil/1/${table}/${column}/${id}`;
}

function contextOf({ number, purpose }: { number: number; purpose: KeyPurpose }): string {
  return `data_keys/${number}/${purpose}`;
}

/**
 * A bounded cache of decrypted secrets of one column. `get` returns a secret only for the row and
 * the ciphertext that `set` received. A ciphertext that was moved to another row has no entry.
 */
interface SecretCache {
  get(id: string, ciphertext: string): string | undefined;
  set(id: string, ciphertext: string, secret: string): void;
}

interface Entry {
  readonly id: string;
  readonly ciphertext: string;
  readonly secret: string;
}

/** When the cache is full, a new entry replaces the oldest entry. */
function createSecretCache(most: number): SecretCache {
  const entries = new Map<number, Entry>();
  return {
    get(id, ciphertext) {
      const entry = entries.get(shortForm(ciphertext));
      return entry?.ciphertext === ciphertext && entry.id === id ? entry.secret : undefined;
    },
    set(id, ciphertext, secret) {
      const key = shortForm(ciphertext);
      if (entries.size >= most && !entries.has(key)) {
        for (const oldest of entries.keys()) {
          entries.delete(oldest);
          break;
        }
      }
      entries.set(key, { id, ciphertext, secret });
    },
  };
}

/**
 * Returns a number from the first characters of a ciphertext, which are random. Finding a number in
 * a map takes a third of the time of finding an id, whose text must be hashed.
 */
function shortForm(ciphertext: string): number {
  let form = 0;
  for (let index = 0; index < 5; index += 1) form = (form << 6) ^ ciphertext.charCodeAt(index);
  return form;
}
