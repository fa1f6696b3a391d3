import type { TldRule } from './settings.ts';
import { joined } from './text/joined.ts';

const MAX_LISTED = 10;

export type ZoneNameRefusal =
  | { readonly rule: 'more_than_one_label' }
  /** None of `suffixes`, the shortest first, is a TLD entry. */
  | { readonly rule: 'tld_entry'; readonly suffixes: readonly string[]; readonly tldRule: TldRule }
  /** The name is itself a TLD entry. */
  | { readonly rule: 'not_a_tld'; readonly name: string };

export function zoneNameMessage(refusal: ZoneNameRefusal): string {
  if (refusal.rule === 'more_than_one_label')
    return 'More than one label is required. A zone name must be below a top-level domain.';
  if (refusal.rule === 'not_a_tld') {
    const { name } = refusal;
    return `Zone name cannot be the same as a TLD: '${name}' is a TLD entry. Use a name below it, such as 'example.${name}.'.`;
  }
  const { suffixes, tldRule } = refusal;
  if (tldRule === 'last-label')
    return `Invalid TLD: no TLD entry for '${suffixes[0]}'. The last label of a zone name must be a TLD entry.`;
  const listed = suffixes.slice(0, MAX_LISTED).map((suffix) => `'${suffix}'`);
  const more =
    suffixes.length > MAX_LISTED ? [`${suffixes.length - MAX_LISTED} longer suffixes`] : [];
  return `Invalid TLD: no TLD entry for ${joined([...listed, ...more], 'or')}. A zone name must end in a TLD entry.`;
}
