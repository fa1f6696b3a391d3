import { randomBytes } from 'node:crypto';
import { powerdns } from './brand.ts';
import type { Key, KeyMaterial } from '../../formats/key.ts';
import { DriverError } from '../driver.ts';
import type { PowerdnsApi } from './api.ts';

/**
 * Creates a key, or changes the algorithm or secret of the key `found`, which the server has.
 * Throws `DriverError`.
 */
export async function writeKey(
  api: PowerdnsApi,
  key: Key,
  found: KeyMaterial | undefined,
): Promise<void> {
  if (found?.algorithm === key.algorithm) return api.changeSecret(key.name, key.secret);
  // A request to change the algorithm would add a second key with the same name.
  if (found !== undefined) await api.deleteKey(key.name);
  await api.createKey(key);
}

/** The beginning of a stamp's secret. The random octets after it are known to no one. */
const STAMP_OCTETS = 24;

/** Returns the key whose secret ends with a stamp. No zone accepts this key. */
export function stampKey(id: string, stamp: string) {
  const secret = Buffer.concat([randomBytes(STAMP_OCTETS), Buffer.from(stamp, 'hex')]);
  return {
    name: stampName(id),
    algorithm: 'hmac-sha256',
    secret: secret.toString('base64'),
  };
}

export function stampName(id: string): string {
  return `${powerdns.ownKeys}${id}`;
}

/** Returns the stamp in the secret of the key `stampName`, which a server may lack. */
export function stampIn(found: KeyMaterial | undefined): string | undefined {
  return found && Buffer.from(found.secret, 'base64').subarray(STAMP_OCTETS).toString('hex');
}

/** The beginning of each random secret, in base64. */
const MARK = Buffer.from('tsigil-disabled').toString('base64');

/**
 * Returns a secret that no one else knows, for a key that the server must not accept. The secret
 * begins with `MARK`, so that the driver recognises its keys without the records of a failed pass.
 */
export function randomSecret(): string {
  return MARK + randomBytes(33).toString('base64');
}

/** Returns whether a key has a secret from `randomSecret`. */
export function isDisabledKey({ secret }: KeyMaterial): boolean {
  return secret.startsWith(MARK);
}

/**
 * Replaces the secret of a key with a random one. The server then refuses the key while its grants
 * are removed. Does nothing if PowerDNS refuses the change, because the driver deletes the key
 * afterwards. Throws `DriverError`.
 */
export async function disableKey(api: PowerdnsApi, name: string): Promise<void> {
  try {
    await api.changeSecret(name, randomSecret());
  } catch (error) {
    if (!(error instanceof DriverError) || error.code !== 'refused_by_server') throw error;
  }
}

export function isStamp(name: string): boolean {
  return name.startsWith(powerdns.ownKeys);
}
