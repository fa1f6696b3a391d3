import { withoutFinalDot } from '../core/text/dns-name.ts';
import { looksLikeJson } from '../core/text/json.ts';
import { readCsv } from './designate-csv.ts';
import { asciiForm, linesOf, withoutRepeats, type ListEntry, type TldList } from './list.ts';
import { readJsonList } from './read-json.ts';
import { readPublicSuffixList, type PublicSuffixOptions } from './public-suffix.ts';

export const LIST_FORMATS = ['csv', 'iana', 'psl', 'plain', 'json'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

export interface ListOptions extends PublicSuffixOptions {
  /** The character between the fields of a CSV record. */
  readonly delimiter: string;
}

/** Never throws: `refused` contains the lines that cannot be imported. */
export function readTldList(text: string, format: ListFormat, options: ListOptions): TldList {
  const readers: Readonly<Record<ListFormat, () => TldList>> = {
    csv: () => readCsv(text, options.delimiter),
    iana: () => readIanaList(text),
    psl: () => readPublicSuffixList(text, options),
    plain: () => readPlainList(text),
    json: () => readJsonList(text),
  };
  return withoutRepeats(withoutUnfit(readers[format](), format));
}

/**
 * The maximum length of an entry. A longer entry means that the file has another format, and would
 * not fit in a request.
 */
const MAX_CHARACTERS = 2000;

const HEADER = /^(?:name|tlds?|domains?|description)$/i;

/** The id of a resource, which would be a valid name. */
const ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/** Returns the list without what another kind of file has in place of names. */
function withoutUnfit(list: TldList, format: ListFormat): TldList {
  const mayBeHeader = list.hasHeader !== true && (format === 'csv' || format === 'plain');
  const header = mayBeHeader && list.entries.length > 1 ? list.entries[0] : undefined;
  const reasons = new Map<ListEntry, string>();
  for (const entry of list.entries) {
    const reason = unfitReason(entry, entry === header);
    if (reason !== undefined) reasons.set(entry, reason);
  }
  const refused = [...reasons].map(([{ line, name: text }, reason]) => ({ line, text, reason }));
  return {
    ...list,
    entries: list.entries.filter((entry) => !reasons.has(entry)),
    refused: [...list.refused, ...refused],
  };
}

function unfitReason({ name, description }: ListEntry, isFirst: boolean): string | undefined {
  if (name.length + (description?.length ?? 0) > MAX_CHARACTERS)
    return `more than ${MAX_CHARACTERS} characters`;
  if (ID.test(name)) return 'this is an id instead of a name';
  return isFirst && HEADER.test(name) && HEADER.test(description ?? name)
    ? 'this may be a header; if it is the top-level domain, write it behind another one'
    : undefined;
}

export function detectFormat(text: string, delimiter: string): ListFormat {
  if (looksLikeJson(text)) return 'json';
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
