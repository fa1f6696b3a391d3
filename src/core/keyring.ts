import type { MasterKey } from './master-key.ts';
import { perType } from './resource.ts';

/** The database stores the values of these fields encrypted. */
export const encryptedFields = perType((type): readonly string[] =>
  Object.keys(type.fields).filter((name) => type.fields[name]?.secret === true),
);

/**
 * The purpose of a data key: to encrypt secrets, or to derive the keys of all MACs. The MAC key is
 * never replaced while a master key unwraps it, because what it signed cannot be signed again
 * unseen.
 */
export type KeyPurpose = 'secrets' | 'mac';

/** The first key wraps data keys, and all unwrap them. Without keys, `problem` states why. */
export interface FoundKeys {
  readonly keys: readonly MasterKey[];
  readonly problem?: string | undefined;
}

/** A data key as the database stores it: encrypted with a master key ("wrapped"). */
export interface WrappedKey {
  readonly number: number;
  readonly purpose: KeyPurpose;
  /** The wrapped key in base64url: nonce, ciphertext and tag. */
  readonly wrapped: string;
  readonly wrappedBy: string;
  /** The time of creation, in the timestamp format of the API. */
  readonly createdAt: string;
}

/** A secret in its stored form. If `keyNumber` is null, `text` is the unencrypted secret. */
export interface StoredSecret {
  readonly text: string;
  readonly keyNumber: number | null;
}

export interface SecretCipher {
  /**
   * Encrypts a secret of the row with this id. Without data keys, returns the secret unencrypted.
   * Throws `Error` if data keys exist but none can be used.
   */
  encrypt(id: string, secret: string): StoredSecret;
  /**
   * Returns the secret of the row with this id. Throws `Error` if the secret cannot be decrypted,
   * or if it is not encrypted although encryption is required.
   */
  decrypt(id: string, stored: StoredSecret): string;
}

/** The key of the audit trail, derived from the MAC key. */
export interface AuditKey {
  readonly number: number;
  /** Returns the HMAC-SHA-256 of a text in base64url. */
  hmac(text: string): string;
}

/** The data keys of a process in memory, and the master keys that wrap them. */
export interface Keyring {
  /** A cipher cannot decrypt a ciphertext that was moved to another column or row. */
  cipherOf(table: string, column: string): SecretCipher;
  /** Returns the audit key; undefined if no master key unwraps the MAC key, or none exists. */
  auditKey(): AuditKey | undefined;
  /**
   * Returns the MAC of a row that stands for a credential, over its table and all given members
   * except null ones. Returns null if no master key is configured, and undefined if a master key is
   * configured, but no MAC key is available.
   */
  credentialMac(
    table: string,
    members: readonly (readonly [name: string, value: unknown])[],
  ): string | null | undefined;
  /** Returns whether the data key with this number was loaded, even if it cannot be unwrapped. */
  isLoaded(number: number): boolean;
  /**
   * Adds the data keys of the database. If a new one cannot be unwrapped, reads the master keys
   * again, because another process may have changed the master key. Returns the data keys that no
   * master key unwraps. Data keys that were unwrapped before stay usable, also those that were
   * deleted meanwhile, so that a row that was read before can still be decrypted.
   */
  load(keys: readonly WrappedKey[]): readonly WrappedKey[];
  /** Empty if no master key is configured. */
  readonly masterKeys: readonly MasterKey[];
  /**
   * Reads the master keys again, and uses them. Throws `bad_request`, and changes nothing, if they
   * cannot be used or do not unwrap all of these data keys.
   */
  readMasterKeys(keys: readonly WrappedKey[]): void;
  /** Replaces the master keys. Call `load` afterwards. */
  useMasterKeys(keys: readonly MasterKey[]): void;
  /** Returns a new data key, wrapped by the first master key. */
  newDataKey(number: number, purpose: KeyPurpose, createdAt: string): WrappedKey;
  /** Wraps a data key with the first master key. Throws `Error` if it cannot be unwrapped. */
  rewrap(key: WrappedKey): WrappedKey;
  /** Makes all ciphers refuse secrets that are not encrypted. */
  requireEncryption(): void;
  /** Returns the rows whose secret this process could not decrypt, up to 10,000. */
  unreadable(): readonly SecretRow[];
  forget(row: SecretRow): void;
}

export interface SecretRow {
  readonly table: string;
  readonly column: string;
  readonly id: string;
}
