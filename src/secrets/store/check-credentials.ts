import type { Keyring } from '../../core/keyring.ts';
import type { Resource, ResourceType } from '../../core/resource.ts';
import { token } from '../../resources/token.ts';
import { STORED_TYPES } from '../../resources/resources.ts';
import { credentialColumn, MAC_COLUMN } from '../../sql/credential-column.ts';
import { allResources, readerOn } from '../../sql/reader.ts';
import type { Snapshot, Sql } from '../../sql/sql.ts';
import { tablesIn } from '../../sql/table.ts';

/** All types whose rows stand for a credential, and therefore carry a MAC. */
export const CREDENTIAL_TYPES = STORED_TYPES.filter(({ credential }) => credential !== undefined);

/** A row that stands for a credential, as it is stored. */
interface Credential {
  readonly type: ResourceType;
  readonly resource: Resource;
}

/** Returns the number of tokens, and the credentials whose MAC is missing or does not match. */
export async function checkCredentials(
  { dialect, reads }: Pick<Snapshot, 'dialect' | 'reads'>,
  keyring: Keyring,
): Promise<{ checked: number; forged: Credential[] }> {
  const forged: Credential[] = [];
  let checked = 0;
  // Without a keyring, the reader returns rows as they are stored.
  const stored = readerOn(reads, tablesIn(dialect), dialect);
  const verified = readerOn(reads, tablesIn(dialect, keyring), dialect);
  for (const type of CREDENTIAL_TYPES) {
    for await (const rows of allResources(type, verified)) {
      if (type.collection === token.collection) checked += rows.length;
      const ids = rows.filter((row) => isForged(type, row)).map(({ id }) => id);
      for (const resource of await stored.find(type, 'id', ids)) forged.push({ type, resource });
    }
  }
  return { checked, forged };
}

function isForged({ credential }: ResourceType, row: Resource): boolean {
  return credential !== undefined && row[credential.proof] === '';
}

/**
 * Stores the MACs of these credentials. A row that differs from `credentials` by now stays forged,
 * because its MAC does not match.
 */
export async function signCredentials(
  sql: Sql,
  keyring: Keyring,
  credentials: readonly Credential[],
): Promise<void> {
  for (const { type, resource } of credentials) {
    const mac = credentialColumn(type, keyring)?.sign(resource) ?? null;
    await sql.run(`UPDATE ${type.collection} SET ${MAC_COLUMN} = ? WHERE id = ?`, [
      mac,
      resource.id,
    ]);
  }
}

export async function countUnsigned(sql: Sql): Promise<number> {
  let count = 0;
  for (const { collection } of CREDENTIAL_TYPES) {
    const row = await sql.one(
      `SELECT count(*) AS count FROM ${collection} WHERE ${MAC_COLUMN} IS NULL`,
      [],
    );
    count += Number(row?.count);
  }
  return count;
}
