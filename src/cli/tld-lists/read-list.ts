import { readDesignateCsv } from './designate-csv.ts';
import { withoutRepeats, type ListEntry, type TldList } from './list.ts';
import { readIanaList, readPlainList } from './plain.ts';
import { readPublicSuffixList, type PublicSuffixOptions } from './public-suffix.ts';

/** The formats of lists of top-level domains. */
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

/** Returns the format that `text` appears to have. */
export function detectFormat(text: string, delimiter: string): ListFormat {
  if (/^\s*# Version \d+, Last Updated /.test(text)) return 'iana';
  if (/^\/\/|^\*\.|^!/m.test(text)) return 'psl';
  const lines = text.replaceAll(/^[^\S\r\n]*#.*|\s#.*$/gm, '').split(/[\r\n]+/);
  return lines.some((line) => line.includes(delimiter) || line.startsWith('"')) ? 'csv' : 'plain';
}
