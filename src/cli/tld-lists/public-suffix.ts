import { asciiForm, linesOf, type ListEntry, type RefusedLine, type TldList } from './list.ts';

/** The parts of the Public Suffix List that can be asked for. */
export const SECTIONS = ['icann', 'private', 'all'] as const;

/** What can become of a rule such as `*.ck`, for which a table of names has no form. */
export const WILDCARD_CHOICES = ['parent', 'skip', 'refuse'] as const;

/** What to take of a Public Suffix List. */
export interface PublicSuffixOptions {
  readonly section: (typeof SECTIONS)[number];
  readonly wildcards: (typeof WILDCARD_CHOICES)[number];
}

/** One rule: what stands before the first blank of a line that is no comment. */
interface Rule {
  readonly line: number;
  readonly text: string;
  /** The section that it stands in; none for rules outside both. */
  readonly section: string | undefined;
}

/**
 * Reads a list in the form of https://publicsuffix.org/list/. Names become lower case and ASCII. An exception (`!www.ck`) is
 * left out: it says that a name is no suffix, which it is not without an entry either. A rule that is outside both sections
 * is taken whatever section is asked for.
 */
export function readPublicSuffixList(text: string, { section, wildcards }: PublicSuffixOptions): TldList {
  const rules = rulesOf(text);
  const wanted = rules.filter((rule) => section === 'all' || rule.section === undefined || rule.section === section);
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  const names = new Set(wanted.filter(({ text }) => !/^!|^\*\./.test(text)).map(({ text }) => nameOf(text)));
  for (const { line, text } of wanted) {
    if (text.startsWith('!')) continue;
    const isWildcard = text.startsWith('*.');
    const name = nameOf(isWildcard ? text.slice(2) : text);
    if (name.includes('*')) refused.push({ line, text, reason: 'a rule can only begin with *.' });
    else if (!isWildcard) entries.push({ line, name });
    else if (wildcards === 'refuse') refused.push({ line, text, reason: 'an entry cannot stand for every name below another' });
    else if (wildcards === 'parent' && !names.has(name)) {
      names.add(name);
      entries.push({ line, name });
    }
  }
  return { entries, refused, leftOut: rules.length - entries.length - refused.length };
}

function rulesOf(text: string): Rule[] {
  let section: string | undefined;
  return linesOf(text).flatMap(({ number, text: line }) => {
    const [, edge, name = ''] = /^\/\/ ===(BEGIN|END) (ICANN|PRIVATE) DOMAINS===/.exec(line) ?? [];
    if (edge !== undefined) section = edge === 'BEGIN' ? name.toLowerCase() : undefined;
    const [rule = ''] = line.split(/\s/, 1);
    return rule === '' || line.startsWith('//') ? [] : [{ line: number, text: rule, section }];
  });
}

function nameOf(rule: string): string {
  return asciiForm(rule.replace(/^\./, '')).toLowerCase();
}
