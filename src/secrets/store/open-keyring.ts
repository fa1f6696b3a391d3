import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ServiceError } from '../../core/errors.ts';
import type { Keyring } from '../../core/keyring.ts';
import type { MasterKey } from '../../core/master-key.ts';
import { parseDatabase } from '../../sql/databases.ts';
import { assertSchema } from '../../sql/migrate.ts';
import { createKeyring } from './create-keyring.ts';
import {
  createMasterKeyFile,
  findMasterKeys,
  readMasterKeyFile,
  type MasterKeySettings,
} from './master-keys.ts';
import {
  assertMasterKey,
  startEncryption,
  type EncryptionReport,
  type MasterKeySource,
} from './start.ts';
import type { Database, DatabaseSettings, Snapshot } from '../../sql/sql.ts';

export interface DatabaseAccess {
  readonly database: string;
  readonly databasePool: DatabaseSettings;
  readonly encryption: MasterKeySettings & { readonly required: boolean };
}

/** The keyring of a database before its data keys are loaded. */
export interface OpenedKeyring extends MasterKeySource {
  readonly keyring: Keyring;
  readonly required: boolean;
  /** The master key file, or the file in which the service creates the first key. */
  readonly file: string | undefined;
  readonly isReadable: boolean;
  readonly otherOwner: number | undefined;
  readonly createMasterKey: (() => MasterKey) | undefined;
}

/** Returns the master key file beside an embedded database, or undefined for other databases. */
function defaultFile(database: string): string | undefined {
  const { kind, location } = parseDatabase(database);
  return kind.shared ? undefined : join(kind.folder(location), 'master.key');
}

/**
 * Finds the master keys for `database`, the value of the setting `database`. Throws `unavailable`
 * if the master key file cannot be used and the database does not exist yet.
 */
export function openKeyring(
  database: string,
  settings: DatabaseAccess['encryption'],
): OpenedKeyring {
  const { kind, location } = parseDatabase(database);
  const ownFile = defaultFile(database);
  const found = findMasterKeys(settings, ownFile);
  if (found?.problem !== undefined && !kind.shared && !existsSync(resolve(location)))
    throw new ServiceError('unavailable', found.problem);
  return {
    keyring: createKeyring(
      found?.keys ?? [],
      () => findMasterKeys(settings, ownFile) ?? { keys: [] },
    ),
    required: settings.required,
    source: found?.source,
    problem: found?.problem,
    file: found === undefined ? ownFile : found.file,
    isReadable: found?.isReadable === true,
    otherOwner: found?.otherOwner,
    createMasterKey: ownFile === undefined ? undefined : () => createAt(ownFile),
  };
}

/**
 * Finds the master keys that decrypt a database: in `file`, or else in the settings and beside the
 * database. Also finds the keys beside the configured database, because `database` may be a backup
 * of the configured database.
 */
export function openSourceKeyring(
  database: string,
  config: Pick<DatabaseAccess, 'database' | 'encryption'>,
  file: string | undefined,
): MasterKeySource & { readonly keyring: Keyring; readonly required: boolean } {
  const remedy = 'Set --from-master-key-file to the file that contains this key';
  const places = new Set([database, config.database].map(defaultFile));
  const found =
    file === undefined
      ? [
          findMasterKeys(config.encryption, undefined) ?? [],
          ...[...places].map((place) => findMasterKeys({}, place) ?? []),
        ].flat()
      : [readMasterKeyFile(file)];
  const keyring = createKeyring(found.flatMap(({ keys }) => keys));
  return {
    keyring,
    required: config.encryption.required,
    source: found.length === 0 ? undefined : found.map(({ source }) => source).join(', '),
    problem: found.find(({ problem }) => problem !== undefined)?.problem,
    remedy,
  };
}

function createAt(file: string): MasterKey {
  try {
    return createMasterKeyFile(file);
  } catch (cause) {
    throw new ServiceError('unavailable', `The master key cannot be created in '${file}'`, {
      cause,
    });
  }
}

/**
 * Checks that the configured master keys fit a database. Changes nothing. Throws `unavailable` if a
 * needed or required master key is missing, or if its file cannot be used.
 */
export async function assertKeys(
  database: Pick<Snapshot, 'dialect' | 'reads'>,
  opened: OpenedKeyring,
): Promise<void> {
  await assertMasterKey(database, opened.keyring, opened);
  const { keyring, required, createMasterKey } = opened;
  if (!required || keyring.masterKeys.length > 0 || createMasterKey !== undefined) return;
  throw new ServiceError(
    'unavailable',
    'No master key is configured. Create one with: tsigil encryption new-master-key --file FILE. Then set encryption.masterKeyFile to this file in every process. To store secrets in clear text instead, set encryption.required to false',
  );
}

/**
 * Checks the schema and the master key, and then calls `updateSchema`, which returns the steps that
 * it applied. Throws `unavailable` if the secrets cannot be used.
 */
export async function prepareSecrets(
  database: Database,
  opened: OpenedKeyring,
  updateSchema: () => Promise<readonly number[]>,
  now: () => string,
  accept = false,
): Promise<{ report: EncryptionReport; steps: readonly number[] }> {
  await assertSchema(database);
  await assertKeys(database, opened);
  const steps = await updateSchema();
  const start = { ...opened, now: now(), accept };
  return { report: await startEncryption(database, opened.keyring, start), steps };
}

/**
 * Logs what the service did with secrets at startup. Warns about secrets in clear text, and about a
 * master key file that other users can read or change.
 */
export function logSecrets(
  log: Record<'info' | 'warn', (fields: object, message: string) => void>,
  { keyring, file, isReadable, otherOwner }: OpenedKeyring,
  { createdMasterKey, clear, unsigned }: EncryptionReport,
): void {
  if (createdMasterKey !== undefined)
    log.info(
      { file, masterKey: createdMasterKey.id },
      'Created the master key. Store a copy, but not with the backups: without it, the secrets are lost.',
    );
  if (clear > 0)
    log.warn(
      { secrets: clear },
      'Another program stored secrets in clear text. They are refused. Check and accept them: tsigil encryption accept',
    );
  if (unsigned > 0)
    log.warn(
      { tokens: unsigned },
      'Tokens that were stored without a master key are refused. Check and accept them: tsigil encryption accept',
    );
  if (keyring.masterKeys.length === 0)
    log.warn(
      {},
      'Secrets are stored in clear text, because no master key is configured. Set encryption.masterKeyFile.',
    );
  if (isReadable)
    log.warn(
      { file },
      `Every user of this machine can read the master key. Run: chmod o= '${file}'`,
    );
  if (otherOwner !== undefined)
    log.warn(
      { file, owner: otherOwner },
      'Another user owns the master key file, and can read and change it. Run: chown root FILE',
    );
}
