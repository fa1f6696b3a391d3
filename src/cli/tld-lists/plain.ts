import { withoutFinalDot } from '../../domain/text/dns-name.ts';
import { asciiForm, linesOf, type TldList } from './list.ts';

/**
 * Reads a list with one name on each line. Ignores blanks around a name, and a period before or
 * after the name. Also ignores comments: `#` or `//` at the beginning of a line, and ` #` after a
 * name. Names keep their case and become A-labels.
 */
export function readPlainList(text: string): TldList {
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
export function readIanaList(text: string): TldList {
  const { entries, ...rest } = readPlainList(text);
  return {
    ...rest,
    entries: entries.map((entry) => ({ ...entry, name: entry.name.toLowerCase() })),
  };
}
