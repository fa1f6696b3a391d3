import { comparisonForm, lastLabel, suffixes } from '../text/dns-name.ts';
import type { ZoneNameRefusal } from '../model/errors.ts';
import type { IndexReader } from '../model/resource.ts';
import type { Settings, TldRule } from '../model/settings.ts';
import { tld } from './tld.ts';

/** What the checks of zone names need to know about the TLD entries. */
export interface TldEntries {
  readonly any: boolean;
  /** Tells whether a name in comparison form is an entry. */
  has(name: string): boolean;
}

/**
 * The checks of a zone's name against the TLD entries, in their order: it has two labels or more; while there is no entry,
 * nothing else is checked; its last label, or under the other rule any suffix, is an entry; it is not itself an entry.
 * `name` is in comparison form. Returns undefined for a name that may be used.
 */
export function refuseZoneName(
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

/** The names of which one must be an entry for `name` to be used. */
function coveringNames(name: string, rule: TldRule): string[] {
  return rule === 'any-suffix' ? suffixes(name) : [lastLabel(name)];
}

/** Looks up what `refuseZoneName` needs for these names, which are in comparison form: one indexed look-up for each suffix that the rule asks about. */
export async function findTldEntries(
  reader: IndexReader,
  names: readonly string[],
  rule: TldRule,
): Promise<TldEntries> {
  if (!(await reader.exists(tld, []))) return { any: false, has: () => false };
  const wanted = new Set<string>();
  for (const name of names) {
    wanted.add(name);
    for (const covering of coveringNames(name, rule)) wanted.add(covering);
  }
  const found = await reader.present(tld, 'name', [...wanted]);
  return { any: true, has: (name) => found.has(name) };
}

/** Tells of each zone name whether it could not be created today. */
export async function areOutsideTlds(
  reader: IndexReader,
  zoneNames: readonly string[],
  { tldRule }: Settings,
): Promise<boolean[]> {
  const names = zoneNames.map(comparisonForm);
  const entries = await findTldEntries(reader, names, tldRule);
  return names.map((name) => refuseZoneName(name, entries, tldRule) !== undefined);
}
