import { comparisonForm, lastLabel, suffixes } from '../core/text/dns-name.ts';
import type { ZoneNameRefusal } from '../core/errors.ts';
import type { IndexReader } from '../core/resource.ts';
import type { Settings, TldRule } from '../core/settings.ts';
import { tld } from './tld.ts';

export interface TldEntries {
  readonly any: boolean;
  /** Returns whether a name in comparison form is a TLD entry. */
  has(name: string): boolean;
}

/**
 * Checks a zone's name against the TLD entries, in this order. The name must have at least two
 * labels. Its last label or, with the rule `any-suffix`, any suffix must be a TLD entry. The name
 * itself must not be a TLD entry. Without any TLD entries, only the first check applies. `name` is
 * in comparison form. Returns undefined for a valid name.
 */
export function findZoneNameRefusal(
  name: string,
  entries: TldEntries,
  rule: TldRule,
): ZoneNameRefusal | undefined {
  const last = lastLabel(name);
  if (last === name) return { rule: 'more_than_one_label' };
  if (!entries.any) return undefined;
  if (!coveringNames(name, rule).some((suffix) => entries.has(suffix))) {
    const [, ...parents] = suffixes(name);
    return {
      rule: 'tld_entry',
      suffixes: rule === 'any-suffix' ? parents.reverse() : [last],
      tldRule: rule,
    };
  }
  return entries.has(name) ? { rule: 'not_a_tld', name } : undefined;
}

/** Returns the suffixes of `name` that the rule covers. One of them must be a TLD entry. */
export function coveringNames(name: string, rule: TldRule): string[] {
  return rule === 'any-suffix' ? suffixes(name) : [lastLabel(name)];
}

/** `names` are in comparison form. Runs one index query for each suffix that the rule covers. */
export async function findTldEntries(
  reader: IndexReader,
  names: readonly string[],
  rule: TldRule,
): Promise<TldEntries> {
  const wanted = new Set<string>();
  for (const name of names) {
    wanted.add(name);
    for (const covering of coveringNames(name, rule)) wanted.add(covering);
  }
  const found = await reader.present(tld, 'name', [...wanted]);
  const any = found.size > 0 || (await reader.exists(tld, []));
  return { any, has: (name) => found.has(name) };
}

/** Returns whether the TLD entries would reject each zone name now. */
export async function areOutsideTlds(
  reader: IndexReader,
  zoneNames: readonly string[],
  { tldRule }: Settings,
): Promise<boolean[]> {
  const names = zoneNames.map(comparisonForm);
  const entries = await findTldEntries(reader, names, tldRule);
  return names.map((name) => findZoneNameRefusal(name, entries, tldRule) !== undefined);
}
