import { withoutFinalDot } from '../text/dns-name.ts';
import { readDesignateCsv } from './designate-csv.ts';
import { asciiForm, linesOf, withoutRepeats, type ListEntry, type TldList } from './list.ts';
import { readPublicSuffixList, type PublicSuffixOptions } from './public-suffix.ts';

export const LIST_FORMATS = ['csv', 'iana', 'psl', 'plain'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

export interface ListOptions extends PublicSuffixOptions {
  /** The character between the fields of a CSV record. */
  readonly delimiter: string;
}

/**
 * Reads `text` in the given format. Never throws: `refused` contains the lines that cannot be
 * imported.
 */
export function readTldList(text: string, format: ListFormat, options: ListOptions): TldList {
  const readers: Readonly<Record<ListFormat, () => TldList>> = {
    csv: () => readDesignateCsv(text, options.delimiter),
    iana: () => readIanaList(text),
    psl: () => readPublicSuffixList(text, options),
    plain: () => readPlainList(text),
  };
  return withoutRepeats(withoutOverlong(readers[format]()));
}

/**
 * The maximum length of an entry. A longer entry means that the file has another format, and would
 * not fit in a request.
 */
const MAX_CHARACTERS = 2000;

function withoutOverlong(list: TldList): TldList {
  const isOverlong = ({ name, description = '' }: ListEntry) =>
    name.length + description.length > MAX_CHARACTERS;
  const refused = list.entries.filter(isOverlong).map(({ line, name }) => ({
    line,
    text: name,
    reason: `more than ${MAX_CHARACTERS} characters`,
  }));
  return {
    ...list,
    entries: list.entries.filter((entry) => !isOverlong(entry)),
    refused: [...list.refused, ...refused],
  };
}

export function detectFormat(text: string, delimiter: string): ListFormat {
  if (/^\s*# Version \d+, Last Updated /.test(text)) return 'iana';
  if (/^\/\/|^\*\.|^!/m.test(text)) return 'psl';
  const lines = text.replaceAll(/^[^\S\r\n]*#.*|\s#.*$/gm, '').split(/[\r\n]+/);
  return lines.some((line) => line.includes(delimiter) || line.startsWith('"')) ? 'csv' : 'plain';
}

/**
 * Reads a list with one name on each line. Ignores blanks around a name, and a period before or
 * after the name. Also ignores comments: `#` or `//` at the beginning of a line, and ` #` after a
 * name. Names keep their case and become A-labels.
 */
function readPlainList(text: string): TldList {
  const entries = linesOf(text).flatMap(({ number, text: line }) => {
    const word = line.replace(/^\s*(?:#|\/\/).*|\s#.*$/, '').trim();
    return word === ''
      ? []
      : [{ line: number, name: asciiForm(withoutFinalDot(word.replace(/^\./, ''))) }];
  });
  return { entries, refused: [], leftOut: 0 };
}

/**
 * Reads IANA's list of top-level domains (tlds-alpha-by-domain.txt): a comment line, then one name
 * in upper case on each line. Names become lower case.
 */
function readIanaList(text: string): TldList {
  const { entries, ...rest } = readPlainList(text);
  return {
    ...rest,
    entries: entries.map((entry) => ({ ...entry, name: entry.name.toLowerCase() })),
  };
}
