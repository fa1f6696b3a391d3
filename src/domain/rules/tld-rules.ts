import type { Lock } from '../model/ports.ts';
import { uniqueFormOf } from '../model/query.ts';
import type { Change } from '../model/resource.ts';
import { tld } from '../resources/tld.ts';

/** A change of an entry's name affects the zones whose check reads the old or the new name. */
export function tldLocks(change: Change<(typeof tld)['fields']>): readonly Lock[] {
  const names = new Set([change.uniqueForm]);
  if (change.operation === 'update') {
    if (change.resource.name !== change.current.name) names.add(uniqueFormOf(tld, change.current));
    if (names.size === 1) return [];
  }
  return [...names].map((key) => ({ type: tld, key, exclusive: true }));
}
