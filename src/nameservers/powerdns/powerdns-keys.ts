import { randomBytes } from 'node:crypto';
import type { DesiredKey } from '../../domain/delivery/desired-state.ts';
import { DriverError } from '../driver.ts';
import type { PowerdnsApi } from './powerdns-api.ts';

/** Creates or changes a key. Returns false if the server already has it. Throws `DriverError`. */
export async function writeKey(
  api: PowerdnsApi,
  key: DesiredKey,
  found: { readonly algorithm: string; readonly secret: string } | undefined,
): Promise<boolean> {
  if (found?.algorithm === key.algorithm && found.secret === key.secret) return false;
  if (found?.algorithm === key.algorithm) {
    await api.changeSecret(key.name, key.secret);
    return true;
  }
  // A request to change the algorithm would add a second key with the same name.
  if (found !== undefined) await api.deleteKey(key.name);
  try {
    await api.createKey(key);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    throw new DriverError(
      error.code,
      error.message.replaceAll(key.secret, '***'),
      error.hint,
      undefined,
    );
  }
  return true;
}

/**
 * Replaces the secret of a key with a random one. The server then refuses the key while its grants
 * are removed. Does nothing if PowerDNS refuses the change, because the driver deletes the key
 * afterwards. Throws `DriverError`.
 */
export async function disableKey(api: PowerdnsApi, name: string): Promise<void> {
  try {
    await api.changeSecret(name, randomBytes(32).toString('base64'));
  } catch (error) {
    if (!(error instanceof DriverError) || error.code !== 'refused_by_server') throw error;
  }
}
