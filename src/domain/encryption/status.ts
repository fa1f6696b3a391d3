import type { AuditEntry } from '../audit/record.ts';
import type { KeyState } from './keyring.ts';

/** A data key, and how many secrets it encrypts. */
export interface DataKeyStatus {
  readonly number: number;
  readonly state: KeyState;
  /** The id of the master key that wraps it. */
  readonly masterKey: string;
  readonly createdAt: string;
  readonly secrets: number;
}

/** The state of the encryption of a database. */
export interface EncryptionStatus {
  /** The ids of this process's master keys. The first one wraps. */
  readonly masterKeys: readonly string[];
  readonly dataKeys: readonly DataKeyStatus[];
  /** The number of secrets that are not encrypted. */
  readonly clearText: number;
  /** The number of secrets that this process failed to decrypt and has not seen repaired. */
  readonly unreadable: number;
  /** The number of keys whose secret was lost, and replaced by a random one. */
  readonly lostCount: number;
  /** The number of the data key that signs the audit trail. Null without encryption. */
  readonly auditKey: number | null;
  /** The names of the first 100 keys whose secret was lost, and replaced by a random one. */
  readonly lost: readonly string[];
  readonly required: boolean;
}

/** A secret that cannot be decrypted. */
export interface UnreadableSecret {
  readonly collection: string;
  readonly id: string;
}

/** The result of decrypting every secret. */
export interface Verification {
  readonly checked: number;
  /** The first 100 secrets that cannot be decrypted. */
  readonly unreadable: readonly UnreadableSecret[];
  readonly unreadableCount: number;
}

/**
 * Operations on the keys of a database. Each throws `unavailable` if the database fails. Those that
 * change keys write `entry` to the audit trail in the same transaction.
 */
export interface Encryption {
  status(): Promise<EncryptionStatus>;
  /** Decrypts every secret. */
  verify(): Promise<Verification>;
  /**
   * Creates a data key for new secrets, and encrypts all others again in the background. Throws
   * `bad_request` without a master key.
   */
  rotateDataKey(entry?: AuditEntry): Promise<EncryptionStatus>;
  /**
   * Reads the master keys again, and wraps all data keys with the first one. Throws
   * `key_not_distributed` while another process lacks that key, and `bad_request` if the master
   * keys cannot be read.
   */
  rotateMasterKey(entry?: AuditEntry): Promise<EncryptionStatus>;
  /** Deletes the retired data keys. */
  prune(entry?: AuditEntry): Promise<EncryptionStatus>;
}
