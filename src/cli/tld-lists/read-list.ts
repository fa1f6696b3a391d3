import { readDesignateCsv } from './designate-csv.ts';
import { refuseRepeats, type ListEntry, type TldList } from './list.ts';
import { readIanaList, readPlainList } from './plain.ts';
import { readPublicSuffixList, type PublicSuffixOptions } from './public-suffix.ts';

/** The forms in which lists of top-level domains are known to come. */
export const LIST_FORMATS = ['csv', 'iana', 'psl', 'plain'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

/** How to read a list. */
export interface ListOptions extends PublicSuffixOptions {
  /** What stands between the fields of a CSV record. */
  readonly delimiter: string;
}

/** Reads `text` in the given form. Never throws: what cannot be taken is among the refused lines. */
export function readTldList(text: string, format: ListFormat, options: ListOptions): TldList {
  const readers: Readonly<Record<ListFormat, () => TldList>> = {
    csv: () => readDesignateCsv(text, options.delimiter),
    iana: () => readIanaList(text),
    psl: () => readPublicSuffixList(text, options),
    plain: () => readPlainList(text),
  };
  return refuseRepeats(refuseOverlong(readers[format]()));
}

/** Far beyond any entry: what is longer is a mistake in the form of the file, and would not fit in a request. */
const MAX_CHARACTERS = 2000;

function refuseOverlong(list: TldList): TldList {
  const isOverlong = ({ name, description = '' }: ListEntry) => name.length + description.length > MAX_CHARACTERS;
  const refused = list.entries.filter(isOverlong).map(({ line, name }) => ({ line, text: name, reason: `more than ${MAX_CHARACTERS} characters` }));
  return { ...list, entries: list.entries.filter((entry) => !isOverlong(entry)), refused: [...list.refused, ...refused] };
}

/** The form that `text` seems to have. */
export function detectFormat(text: string, delimiter: string): ListFormat {
  if (/^\s*# Version \d+, Last Updated /.test(text)) return 'iana';
  if (/^\/\/|^\*\.|^!/m.test(text)) return 'psl';
  const lines = text.replaceAll(/^\s*#.*|\s#.*$/gm, '').split(/[\r\n]+/);
  return lines.some((line) => line.includes(delimiter) || line.startsWith('"')) ? 'csv' : 'plain';
}
