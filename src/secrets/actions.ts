import {
  actionsWith,
  type ActionDependencies,
  type ActionGroup,
} from '../resources/operations/action.ts';
import { auditEntry, type AuditEntry } from '../core/audit-record.ts';
import {
  ENCRYPTION_STATUS,
  SECRET_VERIFICATION,
  type Encryption,
  type EncryptionStatus,
} from './encryption-status.ts';
import type { ErrorCode } from '../core/errors.ts';
import { described } from '../core/object.ts';
import { tsigkey } from '../resources/tsigkey.ts';

export const ENCRYPTION_RIGHTS = { get: 'encryption:get', manage: 'encryption:manage' } as const;

export interface EncryptionDependencies extends ActionDependencies {
  readonly encryption: Encryption;
}

const defineAction = actionsWith<EncryptionDependencies>();

const GROUP: ActionGroup = {
  name: 'encryption',
  description:
    'The secrets in the database are encrypted. These operations show the keys that encrypt them, check every secret, and replace the keys.',
};

const EXAMPLE: EncryptionStatus = {
  master_keys: ['7Q4KZ2XA'],
  data_keys: [
    {
      number: 1,
      master_key: '7Q4KZ2XA',
      created_at: '2026-11-21T09:30:00.000000',
      secrets: 12,
    },
  ],
  clear_text: 0,
  unreadable: 0,
  master_key_copied: true,
  lost_count: 0,
  mac_key: 2,
  lost: [],
  required: false,
};

const RESPONSE = {
  kind: described(ENCRYPTION_STATUS, 'The state of the encryption of secrets.'),
  schemaName: 'EncryptionStatus',
  description: 'The state of the encryption.',
  examples: { one: { summary: 'One data key.', value: EXAMPLE } },
};

function keyAction(
  name: string,
  summary: string,
  description: string,
  run: (encryption: Encryption, entry: AuditEntry) => Promise<EncryptionStatus>,
  errors: readonly ErrorCode[] = [],
) {
  return defineAction({
    path: `/v2/encryption/${name}`,
    method: 'POST',
    right: ENCRYPTION_RIGHTS.manage,
    operationId: name.replaceAll('-', '_'),
    summary,
    description,
    type: tsigkey,
    group: GROUP,
    errors,
    response: RESPONSE,
    async run({ dependencies, context }) {
      const entry = auditEntry(context, {
        at: dependencies.clock(),
        action: `encryption:${name}`,
        type: { collection: 'encryption' },
      });
      const status = await run(dependencies.encryption, entry);
      dependencies.recording.recorded(entry);
      return status;
    },
  });
}

export const ENCRYPTION_ACTIONS = [
  defineAction({
    path: '/v2/encryption',
    method: 'GET',
    right: ENCRYPTION_RIGHTS.get,
    operationId: 'get_encryption',
    summary: 'Get the state of the encryption',
    description: 'Returns the data keys, the ids of the master keys, and counts of secrets.',
    type: tsigkey,
    group: GROUP,
    response: RESPONSE,
    run: ({ dependencies }) => dependencies.encryption.status(),
  }),
  defineAction({
    path: '/v2/encryption/verify',
    method: 'POST',
    right: ENCRYPTION_RIGHTS.get,
    operationId: 'verify_secrets',
    summary: 'Check every secret and every token',
    description:
      'Decrypts every secret, and checks the MAC of every token. Returns the first 100 resources whose secrets cannot be decrypted, and the first 100 tokens that another program stored or changed in the database.',
    type: tsigkey,
    group: GROUP,
    response: {
      kind: SECRET_VERIFICATION,
      schemaName: 'SecretVerification',
      description: 'The result of the check.',
      examples: {
        one: {
          summary: 'Every secret is readable, and every token is genuine.',
          value: {
            checked: 12,
            unreadable_count: 0,
            unreadable: [],
            credentials_checked: 3,
            forged_count: 0,
            forged: [],
          },
        },
      },
    },
    run: ({ dependencies }) => dependencies.encryption.verify(),
  }),
  keyAction(
    'rotate',
    'Encrypt all secrets with a new key',
    'Creates a data key for new secrets. The service encrypts all other secrets with this key in the background, and then deletes the former key. Returns 409 until the last rotation is complete.',
    (encryption, entry) => encryption.rotate(entry),
    ['rotation_in_progress'],
  ),
  keyAction(
    'rotate-master-key',
    'Rotate the master key',
    'Reads the master key file again, and encrypts all data keys with the first key in the file. Copy the file to every machine of the service first.',
    (encryption, entry) => encryption.rotateMasterKey(entry),
  ),
  keyAction(
    'confirm-copy',
    'Confirm that the master key is copied',
    'Notes that somebody has copied the master key to a place without backups of the database. It holds until the master key is replaced.',
    (encryption, entry) => encryption.confirmCopy(entry),
  ),
];
