import { withoutPassword } from '../domain/text/database-url.ts';
import { ServiceError } from '../domain/model/errors.ts';
import type { Keyring } from '../domain/encryption/keyring.ts';
import type { Reader } from '../domain/model/ports.ts';
import { parseDatabase } from './databases.ts';
import { NEWEST_SCHEMA, schemaOf, schemaProblem } from './migrate.ts';
import { readLostSecrets, type LostSecret } from './secrets/reset.ts';
import { assertMasterKey, type MasterKeySource } from './secrets/start.ts';
import { readDataKeys } from './sql/data-keys.ts';
import type { DatabaseSettings } from './sql/sql.ts';
import { createReader } from './store.ts';

/** A database to copy from. */
export interface Source {
  readonly reader: Reader;
  /** Whether the secrets and tokens of the database are under data keys. */
  readonly hasDataKeys: boolean;
  /** The marks of keys whose secret was lost. */
  readonly lostSecrets: readonly LostSecret[];
  close(): Promise<void>;
}

/**
 * Opens the database with the URL `setting` read-only. Throws `bad_request` unless the database
 * exists and has the schema of this version. Throws `unavailable` if the database cannot be read,
 * or if `secrets` lacks a master key.
 */
export async function openSource(
  setting: string,
  settings: DatabaseSettings,
  secrets: MasterKeySource & { readonly keyring: Keyring },
): Promise<Source> {
  const { kind, location } = parseDatabase(setting);
  const snapshot = await kind.openSnapshot(location, settings);
  try {
    assertSchema(withoutPassword(setting), await schemaOf(snapshot));
    await assertMasterKey(snapshot, secrets.keyring, secrets);
    const hasDataKeys = (await readDataKeys(snapshot.reads)).length > 0;
    // The configured master keys are those of the target. A source without data keys has none.
    if (!hasDataKeys) secrets.keyring.useMasterKeys([]);
    const lostSecrets = await readLostSecrets(snapshot.reads);
    const reader = createReader(snapshot, secrets.keyring);
    return { reader, hasDataKeys, lostSecrets, close: () => snapshot.close() };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

function assertSchema(name: string, schema: number | undefined): void {
  if (schema === NEWEST_SCHEMA) return;
  const problem =
    schema === undefined
      ? `is not a database of this service. Check --from.`
      : (schemaProblem(schema) ??
        `has schema ${schema}, and this version needs ${NEWEST_SCHEMA}. Run 'tsigil migrate' with this database in the configuration first.`);
  throw new ServiceError('bad_request', `The source '${name}' ${problem}`);
}
