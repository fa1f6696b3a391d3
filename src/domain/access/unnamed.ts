import { listName, type Right } from '../brands/brand.ts';
import type { ZoneAccess } from './access.ts';

/** Returns the zones in which no key of Tsigil gets a right, because they name no list for it. */
export function zonesWithoutList(zones: readonly ZoneAccess[], right: Right): readonly string[] {
  const without = zones.flatMap(({ name, named = [] }) =>
    named.includes(listName(right)) || named.includes(listName(right, name)) ? [] : [name],
  );
  return [...new Set(without)];
}
