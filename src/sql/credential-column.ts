import { isSameHash } from '../core/token-hash.ts';
import type { Keyring } from '../core/keyring.ts';
import { ServiceError } from '../core/errors.ts';
import type { Fields, Resource, ResourceType } from '../core/resource.ts';
import type { SqlRow, SqlValue } from './sql.ts';

export const MAC_COLUMN = 'mac';

/** Signs and checks the rows of a type of credentials. */
interface CredentialColumn {
  /**
   * Returns the MAC to store with a resource; null without a master key. Throws `bad_request` for a
   * resource that `check` found forged: copying it must not make it genuine.
   */
  sign(resource: Resource): SqlValue;
  /** Empties the proof of a decoded row whose MAC does not match. */
  check(row: SqlRow): void;
}

/**
 * Returns the column with the MACs of a type; undefined for a type that is no credential. Without
 * a keyring, as in the thread for scans, rows are neither signed nor checked.
 */
export function credentialColumn<F extends Fields>(
  { collection, noun, fields, credential }: ResourceType<F>,
  keyring: Keyring | undefined,
): CredentialColumn | undefined {
  if (credential === undefined) return undefined;
  const { proof, unsigned } = credential;
  const signed = ['id', ...Object.keys(fields)].filter((name) => !unsigned.includes(name));
  const macOf = (row: Readonly<Record<string, unknown>>) =>
    keyring?.credentialMac(
      collection,
      signed.map((name) => [name, row[name]]),
    );
  return {
    sign(resource) {
      if (resource[proof] === '')
        throw new ServiceError(
          'bad_request',
          `Another program stored or changed the ${noun} '${resource.id}' in the database. Delete it, or run: tsigil encryption accept`,
        );
      const mac = macOf(resource);
      if (keyring !== undefined && mac === undefined)
        throw new ServiceError('unavailable', 'The MAC key of the database is not available');
      return mac ?? null;
    },
    check(row) {
      const wanted = keyring === undefined ? null : macOf(row);
      if (wanted === null) return; // no master key is configured
      if (wanted === undefined || !isSameHash(String(row[MAC_COLUMN]), wanted)) row[proof] = '';
    },
  };
}
