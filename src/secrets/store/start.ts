import { ServiceError } from '../../core/errors.ts';
import type { Keyring, WrappedKey } from '../../core/keyring.ts';
import type { MasterKey } from '../../core/master-key.ts';
import { token } from '../../resources/token.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { adoptKey } from '../../audit/store/head.ts';
import {
  createDataKey,
  createSecretsKey,
  isSecretsKey,
  loadDataKeys,
  readDataKeys,
} from '../../sql/data-keys.ts';
import type { Database, Snapshot, Sql } from '../../sql/sql.ts';
import { countUnsigned } from './check-credentials.ts';
import { countUnder } from './re-encrypt.ts';
import { capitalised } from '../../core/text/capitalised.ts';

export interface MasterKeySource {
  /** Its name in messages, such as `'/etc/tsigil/master.key'`. Undefined if no source is set. */
  readonly source?: string | undefined;
  /** A sentence that names the source and its problem, and what to do next. */
  readonly problem?: string | undefined;
  /** What to do if a master key is missing. The default remedy is for a service. */
  readonly remedy?: string | undefined;
}

interface EncryptionStart extends MasterKeySource {
  /** Whether the operator has accepted what the database holds without the MAC of any key. */
  readonly accept?: boolean;
  /** Creates a master key in the folder of the database, and returns the key once it is on disk. */
  readonly createMasterKey?: (() => MasterKey) | undefined;
  /** The current time, as a timestamp of the API. */
  readonly now: string;
}

export interface EncryptionReport {
  readonly createdMasterKey?: MasterKey;
  /** The number of secrets that the service refuses because they are in clear text. */
  readonly clear: number;
  /** The number of tokens that the service refuses because they have no MAC. */
  readonly unsigned: number;
}

const NO_SECRETS_KEY =
  'The database lacks the data key of its secrets, so another program deleted it. Restore a backup. Without one, replace the secrets: tsigil encryption reset';

const CONFIGURE = 'Set encryption.masterKeyFile to the file that contains this key';

/**
 * Checks that the master keys of `keyring` unwrap every data key of a database, and loads the data
 * keys. Changes nothing. Throws `unavailable` if a master key is missing or its file cannot be used,
 * or if another program deleted or changed a data key. The message contains the ids of the needed
 * master keys.
 */
export async function assertMasterKey(
  { dialect, reads }: Pick<Snapshot, 'dialect' | 'reads'>,
  keyring: Keyring,
  { source, problem, remedy = CONFIGURE }: MasterKeySource,
): Promise<void> {
  const table = await reads.one(dialect.tableExists, ['data_keys']);
  const keys = table === undefined ? [] : await readDataKeys(reads);
  const wrapped = keyring.load(keys);
  const needed = keys.length === 0 ? '' : `${encryptedWith(keys)} `;
  if (problem !== undefined) throw new ServiceError('unavailable', `${needed}${problem}`);
  if (keys.length > 0 && !keys.some(isSecretsKey))
    throw new ServiceError('unavailable', NO_SECRETS_KEY);
  if (wrapped.length === 0) return;
  const own = keyring.masterKeys.map(({ id }) => id);
  const damaged = wrapped.find(({ wrappedBy }) => own.includes(wrappedBy));
  if (damaged !== undefined)
    throw new ServiceError(
      'unavailable',
      `Master key ${damaged.wrappedBy} does not unwrap data key ${damaged.number}, so another program changed it in the database. Restore a backup`,
    );
  const ids = own.join(', ');
  const found =
    source === undefined
      ? 'No master key is configured.'
      : `${capitalised(source)} contains ${ids}.`;
  throw new ServiceError('unavailable', `${encryptedWith(wrapped)} ${found} ${remedy}`);
}

/**
 * Creates the first data key of a database with the current schema, unless no master key is
 * configured. From then on, secrets in clear text are refused, because another program must have
 * stored them. Throws `unavailable` if the database lacks data keys but not content, because
 * whoever can write to it can delete the keys and replace the content.
 */
export async function startEncryption(
  database: Database,
  keyring: Keyring,
  { accept = false, createMasterKey, now, ...source }: EncryptionStart,
): Promise<EncryptionReport> {
  let created: MasterKey | undefined;
  const keys = await readDataKeys(database.reads);
  if (keys.length === 0) {
    if (keyring.masterKeys.length === 0 && createMasterKey === undefined)
      return { clear: 0, unsigned: 0 };
    await database.migrate(async (sql) => {
      created = await createFirstKey(sql, keyring, { accept, createMasterKey, now });
    });
  }
  await assertMasterKey(database, keyring, source); // loads keys that another process has just created
  if (keyring.masterKeys.length > 0 && !keys.some(isMacKey)) {
    await database.migrate((sql) => ensureMacKey(sql, keyring, now, false));
  }
  if (!accept) keyring.requireEncryption();
  const unsigned = await countUnsigned(database.reads);
  const clear = await countUnder(database.reads, null);
  return { clear, unsigned, ...(created === undefined ? {} : { createdMasterKey: created }) };
}

/**
 * Creates the first data key, unless another process has created it. Returns the master key that
 * the function created for the data key. Throws `unavailable` for content that no key protects.
 */
async function createFirstKey(
  sql: Sql,
  keyring: Keyring,
  { accept, createMasterKey, now }: Pick<EncryptionStart, 'accept' | 'createMasterKey' | 'now'>,
): Promise<MasterKey | undefined> {
  if ((await readDataKeys(sql)).length > 0) return undefined;
  if (accept !== true && (await hasContent(sql)))
    throw new ServiceError(
      'unavailable',
      'The database has tokens or TSIG keys, but no key that protects them. If it was used without a master key until now, check and accept what it contains: tsigil encryption accept. Otherwise, another program deleted the keys: restore a backup',
    );
  const created = await createSecretsKey(sql, keyring, createMasterKey, now);
  await ensureMacKey(sql, keyring, now, true);
  return created;
}

function isMacKey({ purpose }: WrappedKey): boolean {
  return purpose === 'mac';
}

/**
 * Creates the MAC key, unless another process has created it. `isFirst` is false if the database
 * had data keys before. Loads the data keys.
 */
async function ensureMacKey(
  sql: Sql,
  keyring: Keyring,
  now: string,
  isFirst: boolean,
): Promise<void> {
  const isNew = !(await readDataKeys(sql)).some(isMacKey);
  if (isNew) await createDataKey(sql, keyring, 'mac', now);
  await loadDataKeys(sql, keyring);
  const key = keyring.auditKey();
  if (isNew && key !== undefined) await adoptKey(sql, key, isFirst, now);
}

export async function hasContent(sql: Sql): Promise<boolean> {
  for (const table of [tsigkey.collection, token.collection])
    if ((await sql.one(`SELECT 1 AS found FROM ${table} LIMIT 1`, [])) !== undefined) return true;
  return false;
}

function encryptedWith(keys: readonly WrappedKey[]): string {
  const ids = [...new Set(keys.map(({ wrappedBy }) => wrappedBy))];
  return `Secrets are encrypted with master key ${ids.join(', ')}.`;
}
