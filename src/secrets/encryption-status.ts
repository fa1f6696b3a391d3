import type { AuditEntry } from '../core/audit-record.ts';
import {
  anyText,
  array,
  boolean,
  integer,
  nullable,
  timestamp,
  type ValueOf,
} from '../core/field.ts';
import { described, list, responseObject } from '../core/object.ts';

export const ENCRYPTION_STATUS = responseObject({
  master_keys: described(
    array(anyText(), 0, 1000),
    'The ids of the configured master keys. The first key encrypts data keys.',
  ),
  data_keys: described(
    list(
      responseObject({
        number: described(integer(1), 'The number of the data key.'),
        master_key: described(anyText(), 'The id of the master key that encrypts the data key.'),
        created_at: described(timestamp(), 'The time when the data key was created.'),
        secrets: described(integer(0), 'The number of secrets that the data key encrypts.'),
      }),
    ),
    'The data key that encrypts new secrets. During a rotation, first the former data key.',
  ),
  clear_text: described(integer(0), 'The number of secrets that are not encrypted.'),
  unreadable: described(
    integer(0),
    'The number of secrets that this process could not decrypt and that have not been repaired.',
  ),
  master_key_copied: described(
    boolean(),
    'Whether somebody has confirmed that the first master key is copied to another place. True without a master key.',
  ),
  lost_count: described(
    integer(0),
    'The number of keys without a secret, because it was lost with the master key.',
  ),
  mac_key: described(
    nullable(integer(1)),
    'The number of the data key from which the keys that sign tokens and the audit trail are derived. Null without encryption.',
  ),
  lost: described(
    array(anyText(), 0, 100),
    'The names of the first 100 keys whose secret was lost.',
  ),
  required: described(boolean(), 'Whether `encryption.required` is set.'),
});

export type EncryptionStatus = ValueOf<typeof ENCRYPTION_STATUS>;

/** What needs a person. */
export type EncryptionSummary = Pick<
  EncryptionStatus,
  'clear_text' | 'unreadable' | 'master_key_copied' | 'lost_count' | 'lost'
>;

const RESOURCES = list(
  responseObject({
    collection: described(anyText(), 'The collection of the resource.'),
    id: described(anyText(), 'The id of the resource.'),
  }),
);

export const SECRET_VERIFICATION = responseObject({
  checked: described(integer(0), 'The number of checked secrets.'),
  unreadable_count: described(integer(0), 'The number of secrets that are unreadable.'),
  unreadable: described(RESOURCES, 'The first 100 resources whose secret is unreadable.'),
  credentials_checked: described(integer(0), 'The number of checked tokens.'),
  forged_count: described(
    integer(0),
    'The number of tokens and console sessions that the service refuses, because another program stored or changed them in the database.',
  ),
  forged: described(RESOURCES, 'The first 100 of these tokens and sessions.'),
});

export type SecretVerification = ValueOf<typeof SECRET_VERIFICATION>;

/**
 * Each operation throws `unavailable` if the database fails. Operations that change keys write
 * `entry` to the audit trail in the same transaction.
 */
export interface Encryption {
  status(): Promise<EncryptionStatus>;
  /** Counts at most `most` secrets in clear text of each table, and none of those that are well. */
  summary(most: number): Promise<EncryptionSummary>;
  /** Decrypts every secret, and checks the MAC of every token. */
  verify(): Promise<SecretVerification>;
  /**
   * Creates a data key for new secrets. The service encrypts all other secrets with this key in the
   * background, and then deletes the former key. Throws `rotation_in_progress` until then, and
   * `bad_request` if the master keys cannot be used.
   */
  rotate(entry: AuditEntry): Promise<EncryptionStatus>;
  /**
   * Reads the master keys again, and wraps all data keys with the first key. Throws `bad_request` if
   * the master keys cannot be used.
   */
  rotateMasterKey(entry: AuditEntry): Promise<EncryptionStatus>;
  /** Notes that the first master key is copied to another place. */
  confirmCopy(entry: AuditEntry): Promise<EncryptionStatus>;
}
