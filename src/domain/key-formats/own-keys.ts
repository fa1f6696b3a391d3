/**
 * The beginnings of the names of the keys that Tsigil itself creates on name servers, by driver.
 * BIND shows by the marker key which content it has loaded. Its name begins with a hyphen, which no
 * label of a host name does, so that BIND lists it before every other key. PowerDNS stores the stamp
 * of the last delivery as the secret of a key.
 */
export const OWN_KEYS = { bind: '-tsigil-', powerdns: 'tsigil-stamp-' } as const;

/** Why an import leaves out such a key. */
export const OWN_KEY = 'Tsigil itself creates this key on the name server';

/** Returns whether a name, in comparison form, is one that Tsigil creates on name servers. */
export function isOwnKey(name: string): boolean {
  return Object.values(OWN_KEYS).some((start) => name.startsWith(start));
}
