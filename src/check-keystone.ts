import { ServiceError } from './core/errors.ts';
import { describeFault } from './net/faults.ts';
import { keystoneTokens, type KeystoneSettings } from './keystone/keystone.ts';

/** An invalid token. Keystone returns a different error if the service may not validate tokens. */
const UNKNOWN_TOKEN = 'check-of-the-configuration';

const REMEDIES: readonly (readonly [reason: RegExp, advice: string])[] = [
  [
    /returned 401 for the service's own/,
    "Check 'auth.keystone.username', 'password', 'project' and the names of their domains, or the application credential.",
  ],
  [
    /returned 403 for a token validation request/,
    "Assign the role 'service' to the service's user in its project: openstack role add --project PROJECT --user USER service",
  ],
  [/certificate|TLS/i, "Check 'auth.keystone.caFile' and the host in 'auth.keystone.url'."],
  [/./, "Check 'auth.keystone.url' and whether Keystone runs there."],
];

/** Returns what works, as a sentence. Throws `ServiceError` with the reason and a remedy. */
export async function checkKeystone(keystone: KeystoneSettings): Promise<string> {
  const method = keystoneTokens(keystone, {
    validated: () => undefined,
    cacheHit: () => undefined,
  });
  try {
    await method.authenticate(UNKNOWN_TOKEN);
  } catch (error) {
    const { cause } = error instanceof ServiceError ? error.details : { cause: error };
    const reason = cause instanceof Error ? describeFault(cause) : String(cause);
    const remedy = REMEDIES.find(([pattern]) => pattern.test(reason))?.[1] ?? '';
    throw new ServiceError('bad_request', `${reason}. ${remedy}`);
  } finally {
    method.close();
  }
  return `Keystone at '${keystone.url}' responds, and the service may validate tokens.`;
}
