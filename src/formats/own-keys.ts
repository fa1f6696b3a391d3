/**
 * The beginnings of the names of the keys that drivers create on name servers, in comparison form.
 * BIND lists a key whose name begins with a hyphen before all others, because no host name does.
 */
export const OWN_KEYS = { bind: '-tsigil-', powerdns: 'tsigil-stamp-' } as const;

/** Why an import leaves out such a key. */
export const OWN_KEY = 'Tsigil itself creates this key on the name server';

/** Returns whether a name, in comparison form, is one that drivers create on name servers. */
export function isOwnKey(name: string): boolean {
  return Object.values(OWN_KEYS).some((start) => name.startsWith(start));
}
