import { linesOf } from '../core/text/lines.ts';
import {
  entryOf,
  KeyFileError,
  type Entry,
  type IncludedFile,
  type Origin,
  type Parts,
  type ReadIncluded,
} from './reader.ts';

/**
 * The address in a rule without keys. No request comes from this address. In Knot, a rule without
 * keys matches every unsigned request. A rule with only `deny: on` matches every request, so later
 * rules would have no effect.
 */
export const NO_ADDRESS = '0.0.0.0/32';

const ITEMS: Readonly<Record<string, keyof Parts>> = {
  id: 'name',
  algorithm: 'algorithm',
  secret: 'secret',
};

/** The key section of a configuration, for example from `keymgr -t` or `knotc conf-export`. */
export function readKnotKeys(text: string, include?: ReadIncluded): Entry[] {
  return knotEntries(text, ['key'], include).map(keyEntryOf);
}

/** An entry of a section: its first item is its id. The section `server` has one entry without id. */
export interface KnotEntry extends Origin {
  readonly section: string;
  readonly header: number;
  /** The last line with an item. */
  end: number;
  readonly items: Map<string, KnotItem>;
}

/** An item of an entry. A repeated item adds to the values. */
interface KnotItem {
  readonly values: string[];
  readonly origin: Origin;
  readonly lines: number[];
}

/**
 * Returns the entries of some sections, in a file and in the files that it includes. A section ends
 * at the end of its file. Calls `onOutermost` for each line outside of all sections, with the name
 * of the section that begins there, if one does. Throws `KeyFileError`.
 */
export function knotEntries(
  text: string,
  sections: readonly string[],
  include: ReadIncluded = () => [],
  onOutermost: (origin: Origin, section?: string) => void = () => undefined,
  file?: IncludedFile,
): KnotEntry[] {
  const entries: KnotEntry[] = [];
  let section = '';
  let header = 0;
  let current: KnotEntry | undefined;
  for (const [index, content] of linesOf(text).entries()) {
    const origin = { line: index + 1, file };
    if (/^\s*(?:#|$|---)/.test(content)) continue;
    if (/^ *\t/.test(content))
      throw new KeyFileError(origin, 'Knot DNS refuses a tab before a section or an item');
    const [, indentation = '', dash, item = '', value = ''] =
      /^(\s*)(-\s*)?([a-z0-9-]+)\s*:(.*)$/i.exec(content) ?? [];
    const isInSection = section !== '' && section !== 'include';
    const isOutermost = indentation === '' && dash === undefined;
    if (!isInSection && !(isOutermost && item !== '')) onOutermost(origin);
    else if (item === '' && !/^\s/.test(content)) onOutermost(origin);
    if (item !== '' && isOutermost) {
      onOutermost(origin, item);
      section = item;
      header = origin.line;
      current = undefined;
      if (item !== 'include') continue;
      for (const pattern of readValues(value, origin).filter((each) => each !== ''))
        for (const included of include({ ...origin, pattern, directories: [] }))
          for (const entry of knotEntries(included.text, sections, include, onOutermost, included))
            entries.push(entry);
    } else if (sections.includes(section)) {
      if (item === '')
        throw new KeyFileError(
          origin,
          `the ${section} section may contain only lines such as \`${EXAMPLES[section] ?? 'acl: transfer'}\``,
        );
      if (dash !== undefined || (current === undefined && section === 'server')) {
        current = { ...origin, section, header, end: origin.line, items: new Map() };
        entries.push(current);
      }
      if (current === undefined)
        throw new KeyFileError(
          origin,
          section === 'key'
            ? 'the first line of a key must be `- id:` and the name of the key'
            : `the first line of an entry in the ${section} section must begin with \`-\``,
        );
      const earlier = current.items.get(item);
      const values = readValues(value, origin);
      current.end = origin.line;
      if (earlier === undefined) current.items.set(item, { values, origin, lines: [origin.line] });
      else {
        earlier.values.push(...values);
        earlier.lines.push(origin.line);
      }
    }
  }
  return entries;
}

const EXAMPLES: Readonly<Record<string, string>> = { key: 'algorithm: hmac-sha256' };

export function keyEntryOf({ line, file, items }: KnotEntry): Entry {
  const parts = Object.entries(ITEMS).flatMap(([item, part]) => {
    const value = items.get(item)?.values.at(-1);
    return value === undefined ? [] : [[part, value] as const];
  });
  return entryOf({ line, file }, Object.fromEntries(parts), true);
}

/** One value of a list, and the comma or bracket after it. */
const VALUE = /\s*(?:"((?:[^"\\]|\\.)*)"\s*|'([^']*)'\s*|([^\s,\]"'][^,\]]*))?([,\]])/y;

/** Returns the values of an item: one value, or a list in brackets. Throws `KeyFileError`. */
function readValues(text: string, origin: Origin): string[] {
  const start = /^\s*\[/.exec(text)?.[0].length;
  if (start === undefined) return [readValue(text, origin)];
  const values: string[] = [];
  VALUE.lastIndex = start;
  for (;;) {
    const found = VALUE.exec(text);
    if (found === null) throw new KeyFileError(origin, 'the list is not closed');
    const [, double, single, plain, end] = found;
    const value = double?.replaceAll('\\"', '"') ?? single ?? plain?.trim();
    if (value !== undefined) values.push(value);
    if (end === ']') return values;
  }
}

/** Returns a value without quotation marks and a comment after it. Throws `KeyFileError`. */
function readValue(given: string, origin: Origin): string {
  const value = given.trim();
  const quote = value[0];
  if (quote !== '"' && quote !== "'") return value.replace(/(?:^|\s)#.*$/, '').trim();
  const [, double, single] = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(value) ?? [];
  const text = double?.replaceAll('\\"', '"') ?? single;
  if (text === undefined) throw new KeyFileError(origin, 'the quotation mark is not closed');
  return text;
}
