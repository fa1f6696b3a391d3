/**
 * The beginnings of the names of the keys that Tsigil itself creates on name servers, by driver.
 * BIND shows by the marker key which content it has loaded. PowerDNS stores the stamp of the last
 * delivery as the secret of a key.
 */
export const OWN_KEYS = { bind: '0-tsigil-', powerdns: 'tsigil-stamp-' } as const;

/** Returns whether a name, in comparison form, is one that Tsigil creates on name servers. */
export function isOwnKey(name: string): boolean {
  return Object.values(OWN_KEYS).some((start) => name.startsWith(start));
}
