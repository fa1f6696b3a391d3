import { asciiForm, linesOf, type ListEntry, type RefusedLine, type TldList } from './list.ts';

export const SECTIONS = ['icann', 'private', 'all'] as const;

/** How to handle a rule such as `*.ck`, which a TLD entry cannot express. */
export const WILDCARD_CHOICES = ['parent', 'skip', 'refuse'] as const;

export interface PublicSuffixOptions {
  readonly section: (typeof SECTIONS)[number];
  readonly wildcards: (typeof WILDCARD_CHOICES)[number];
}

/** One rule: the text before the first blank of a line that is not a comment. */
interface Rule {
  readonly line: number;
  readonly text: string;
  /** The section that contains the rule, or undefined for a rule outside both sections. */
  readonly section: string | undefined;
}

/**
 * Reads a list in the format of https://publicsuffix.org/list/. Names become lower-case A-labels.
 * Skips exceptions, such as `!www.ck`: without an entry, the name is not a suffix either. Includes
 * a rule outside both sections for every value of `section`.
 */
export function readPublicSuffixList(
  text: string,
  { section, wildcards }: PublicSuffixOptions,
): TldList {
  const rules = rulesOf(text);
  const wanted = rules.filter(
    (rule) => section === 'all' || rule.section === undefined || rule.section === section,
  );
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  const names = new Set(
    wanted.filter(({ text }) => !/^!|^\*\./.test(text)).map(({ text }) => nameOf(text)),
  );
  for (const { line, text } of wanted) {
    if (text.startsWith('!')) continue;
    const isWildcard = text.startsWith('*.');
    const name = nameOf(isWildcard ? text.slice(2) : text);
    if (name.includes('*'))
      refused.push({ line, text, reason: 'a wildcard is only valid at the beginning of a rule' });
    else if (!isWildcard) entries.push({ line, name });
    else if (wildcards === 'refuse')
      refused.push({ line, text, reason: 'a TLD entry cannot express a wildcard' });
    else if (wildcards === 'parent' && !names.has(name)) {
      names.add(name);
      entries.push({ line, name });
    }
  }
  return { entries, refused, leftOut: rules.length - entries.length - refused.length };
}

function rulesOf(text: string): Rule[] {
  const rules: Rule[] = [];
  let section: string | undefined;
  for (const { number, text: line } of linesOf(text)) {
    if (line.startsWith('//')) {
      const [, edge, name = ''] =
        /^\/\/ ===(BEGIN|END) (ICANN|PRIVATE) DOMAINS===/.exec(line) ?? [];
      if (edge !== undefined) section = edge === 'BEGIN' ? name.toLowerCase() : undefined;
      continue;
    }
    const [rule = ''] = line.split(/\s/, 1);
    if (rule !== '') rules.push({ line: number, text: rule, section });
  }
  return rules;
}

function nameOf(rule: string): string {
  return asciiForm(rule.replace(/^\./, '')).toLowerCase();
}
