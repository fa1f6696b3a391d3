import { withoutPassword } from '../core/text/database-url.ts';
import { ServiceError } from '../core/errors.ts';
import type { Keyring } from '../core/keyring.ts';
import type { Reader } from '../core/ports.ts';
import { parseDatabase } from '../sql/databases.ts';
import { NEWEST_SCHEMA, schemaOf, schemaProblem } from '../sql/migrate.ts';
import { namesInClearText } from '../secrets/store/re-encrypt.ts';
import { assertMasterKey, hasContent, type MasterKeySource } from '../secrets/store/start.ts';
import { readDataKeys } from '../sql/data-keys.ts';
import type { DatabaseSettings, Snapshot, Sql } from '../sql/sql.ts';
import { createReader } from './store.ts';

export interface Source extends Snapshot {
  readonly reader: Reader;
  readonly hasDataKeys: boolean;
}

/**
 * Opens the database with the URL `setting` read-only. Throws `bad_request` unless the database
 * exists and has the schema of this version. Throws `unavailable` if the database cannot be read,
 * or if `secrets` lacks a master key. Throws `bad_request` for content that no key protects if
 * encryption is required: a copy would encrypt and sign what another program may have stored.
 */
export async function openSource(
  setting: string,
  settings: DatabaseSettings,
  secrets: MasterKeySource & { readonly keyring: Keyring; readonly required: boolean },
): Promise<Source> {
  const { kind, location } = parseDatabase(setting);
  const snapshot = await kind.openSnapshot(location, settings);
  try {
    assertSchema(withoutPassword(setting), await schemaOf(snapshot));
    await assertMasterKey(snapshot, secrets.keyring, secrets);
    const hasDataKeys = (await readDataKeys(snapshot.reads)).length > 0;
    if (secrets.required) await assertProtected(snapshot.reads, hasDataKeys);
    // The configured master keys are those of the target. A source without data keys has none.
    if (!hasDataKeys) secrets.keyring.useMasterKeys([]);
    const reader = createReader(snapshot, secrets.keyring);
    return { ...snapshot, reader, hasDataKeys };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

async function assertProtected(sql: Sql, hasDataKeys: boolean): Promise<void> {
  if (!hasDataKeys && (await hasContent(sql)))
    throw new ServiceError(
      'bad_request',
      'The source has no data keys, so nothing proves who stored its tokens and secrets. If its service has used no master key until now, set encryption.required to false for this command',
    );
  const names = await namesInClearText(sql);
  if (names.length > 0)
    throw new ServiceError(
      'bad_request',
      `The source has ${names.length} secrets in clear text, such as the one of '${names[0]}', and nothing proves who stored them. Check and accept them at the source: tsigil encryption accept`,
    );
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
