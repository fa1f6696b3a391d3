import { defineAction } from './action.ts';
import type { AuditEntry } from '../audit/record.ts';
import { auditEntry } from '../operations/audit-entry.ts';
import type { Dependencies } from '../operations/change.ts';
import type { KeyState } from '../encryption/keyring.ts';
import type { Encryption, EncryptionStatus } from '../encryption/status.ts';
import { ServiceError, type ErrorCode } from '../model/errors.ts';
import {
  anyText,
  array,
  boolean,
  enumeration,
  integer,
  nullable,
  timestamp,
} from '../model/field.ts';
import { described, responseObject, sequence } from '../model/object.ts';
import { tsigkey } from '../resources/tsigkey.ts';

/** The rights to see the state of the encryption, and to change keys. */
export const ENCRYPTION_RIGHTS = { get: 'encryption:get', manage: 'encryption:manage' } as const;

const STATES: readonly KeyState[] = ['active', 'draining', 'retired'];

/** The state of the encryption in a response. */
export const ENCRYPTION_STATUS = responseObject({
  master_keys: described(
    array(anyText(), 0, 1000),
    'The ids of the configured master keys. The first one encrypts data keys.',
  ),
  data_keys: described(
    sequence(
      responseObject({
        number: described(integer(1), 'The number of the data key.'),
        state: described(
          enumeration(STATES),
          'Whether the key encrypts new secrets, still has secrets, or can be deleted.',
        ),
        master_key: described(anyText(), 'The id of the master key that encrypts the data key.'),
        created_at: described(timestamp(), 'The time of its creation.'),
        secrets: described(integer(0), 'The number of secrets that it encrypts.'),
      }),
    ),
    'All data keys, oldest first.',
  ),
  clear_text: described(integer(0), 'The number of secrets that are not encrypted.'),
  unreadable: described(
    integer(0),
    'The number of secrets that this process could not decrypt, and that were not repaired since.',
  ),
  lost_count: described(
    integer(0),
    'The number of keys whose secret was lost and replaced by a random one.',
  ),
  audit_key: described(
    nullable(integer(1)),
    'The number of the data key that signs the audit trail. Null without encryption.',
  ),
  lost: described(
    array(anyText(), 0, 100),
    'The names of the first 100 keys whose secret was lost and replaced by a random one.',
  ),
  required: described(boolean(), 'Whether `encryption.required` is set.'),
});

/** The result of the check of all secrets in a response. */
export const SECRET_VERIFICATION = responseObject({
  checked: described(integer(0), 'The number of secrets.'),
  unreadable_count: described(integer(0), 'The number of secrets that are unreadable.'),
  unreadable: described(
    sequence(
      responseObject({
        collection: described(anyText(), 'The collection of the resource.'),
        id: described(anyText(), 'The id of the resource.'),
      }),
    ),
    'The first 100 resources whose secret is unreadable.',
  ),
});

const EXAMPLE: EncryptionStatus = {
  masterKeys: ['7Q4KZ2XA'],
  dataKeys: [
    {
      number: 1,
      state: 'active',
      masterKey: '7Q4KZ2XA',
      createdAt: '2026-11-21T09:30:00.000000',
      secrets: 12,
    },
  ],
  clearText: 0,
  unreadable: 0,
  lostCount: 0,
  auditKey: 2,
  lost: [],
  required: false,
};

function responseOf({
  masterKeys,
  dataKeys,
  clearText,
  unreadable,
  lostCount,
  auditKey,
  lost,
  required,
}: EncryptionStatus) {
  return {
    master_keys: masterKeys,
    data_keys: dataKeys.map(({ number, state, masterKey, createdAt, secrets }) => ({
      number,
      state,
      master_key: masterKey,
      created_at: createdAt,
      secrets,
    })),
    clear_text: clearText,
    unreadable,
    lost_count: lostCount,
    audit_key: auditKey,
    lost,
    required,
  };
}

const RESPONSE = {
  kind: described(ENCRYPTION_STATUS, 'The state of the encryption of secrets.'),
  schemaName: 'EncryptionStatus',
  description: 'The state of the encryption.',
  examples: { one: { summary: 'One data key.', value: responseOf(EXAMPLE) } },
};

/** Defines an action that changes keys and returns the state of the encryption. */
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
    errors,
    response: RESPONSE,
    async run({ dependencies, context }) {
      const entry = auditEntry(context, {
        at: dependencies.clock(),
        action: `encryption:${name}`,
        type: { collection: 'encryption' },
      });
      const status = await run(encryptionOf(dependencies), entry);
      dependencies.recording?.recorded(entry);
      return responseOf(status);
    },
  });
}

/** The operations on the keys that encrypt secrets. */
export const ENCRYPTION_ACTIONS = [
  defineAction({
    path: '/v2/encryption',
    method: 'GET',
    right: ENCRYPTION_RIGHTS.get,
    operationId: 'get_encryption',
    summary: 'Get the state of the encryption',
    description: 'Returns the ids of master keys, all data keys, and counts of secrets.',
    type: tsigkey,
    response: RESPONSE,
    run: async ({ dependencies }) => responseOf(await encryptionOf(dependencies).status()),
  }),
  defineAction({
    path: '/v2/encryption/verify',
    method: 'POST',
    right: ENCRYPTION_RIGHTS.get,
    operationId: 'verify_secrets',
    summary: 'Decrypt every secret',
    description: 'Decrypts every secret, and returns the ids of those that cannot be decrypted.',
    type: tsigkey,
    response: {
      kind: SECRET_VERIFICATION,
      schemaName: 'SecretVerification',
      description: 'The result of the check.',
      examples: {
        one: {
          summary: 'Every secret is readable.',
          value: { checked: 12, unreadable_count: 0, unreadable: [] },
        },
      },
    },
    async run({ dependencies }) {
      const { checked, unreadable, unreadableCount } = await encryptionOf(dependencies).verify();
      return { checked, unreadable_count: unreadableCount, unreadable };
    },
  }),
  keyAction(
    'rotate-data-key',
    'Rotate the data key',
    'Creates a data key for new secrets. All other secrets are encrypted again in the background.',
    (encryption, entry) => encryption.rotateDataKey(entry),
  ),
  keyAction(
    'rotate-master-key',
    'Rotate the master key',
    'Reads the file of master keys again, and encrypts all data keys with its first key. Returns 409 while another process does not have that key.',
    (encryption, entry) => encryption.rotateMasterKey(entry),
    ['key_not_distributed'],
  ),
  keyAction(
    'prune',
    'Delete retired data keys',
    'Deletes the data keys that encrypt no secret and are no longer used.',
    (encryption, entry) => encryption.prune(entry),
  ),
];

function encryptionOf({ encryption }: Dependencies): Encryption {
  if (encryption === undefined)
    throw new ServiceError('unavailable', 'The keys of the database are not available');
  return encryption;
}
