import { listName, type Right } from './rights.ts';
import { firstOf } from '../core/text/first-of.ts';
import type { ZoneAccess } from './access.ts';
import { zonesText } from './warnings.ts';

const SHOWN_PLACES = 10;

/**
 * Returns the zones in which no key of Tsigil gets a right, because they name no list for it. A zone
 * whose policy decides about updates can name none.
 */
export function zonesWithoutList(zones: readonly ZoneAccess[], right: Right): readonly string[] {
  const without = zones.flatMap(({ name, named = [], policy }) =>
    (right === 'update' && policy !== undefined) ||
    named.includes(listName(right)) ||
    named.includes(listName(right, name))
      ? []
      : [name],
  );
  return [...new Set(without)];
}

export function policyZonesText(zones: readonly ZoneAccess[]): string | undefined {
  const found = zones.flatMap(({ name, policy }) =>
    policy === undefined ? [] : [{ name, policy }],
  );
  if (found.length === 0) return undefined;
  const places = [...new Set(found.map(({ policy }) => policy))];
  const names = zonesText([...new Set(found.map(({ name }) => name))]);
  return `${names} (${firstOf(places, SHOWN_PLACES, String).join(', ')})`;
}
