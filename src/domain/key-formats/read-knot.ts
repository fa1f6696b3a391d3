import {
  entryOf,
  KeyFileError,
  linesOf,
  type Entry,
  type KeyReader,
  type Parts,
} from './reader.ts';

/** The items of Knot's key section that define a key. */
const ITEMS: Readonly<Record<string, keyof Parts>> = {
  id: 'name',
  algorithm: 'algorithm',
  secret: 'secret',
};

/**
 * The key section of a Knot DNS configuration, for example from `keymgr -t` or `knotc conf-export`.
 */
export const knotSections: KeyReader = {
  source: 'Knot DNS configuration (keymgr -t, knot.conf)',
  recognises: (text) => /^key:/m.test(text) && /^[ \t]*-[ \t]*id[ \t]*:/m.test(text),
  read(text) {
    const found: { line: number; parts: Parts }[] = [];
    let inside = false;
    for (const [index, content] of linesOf(text).entries()) {
      const line = index + 1;
      if (/^\s*(?:#|$|---)/.test(content)) continue;
      const [, indentation = '', dash, item = '', value = ''] =
        /^(\s*)(-\s*)?([a-z0-9-]+)\s*:(.*)$/i.exec(content) ?? [];
      if (item !== '' && indentation === '' && dash === undefined) inside = item === 'key';
      if (!inside || (indentation === '' && dash === undefined && item !== '')) continue;
      if (item === '')
        throw new KeyFileError(
          line,
          'the key section holds lines such as `algorithm: hmac-sha256`',
        );
      if (dash !== undefined) found.push({ line, parts: {} });
      const part = Object.hasOwn(ITEMS, item) ? ITEMS[item] : undefined;
      const current = found.at(-1);
      if (current === undefined)
        throw new KeyFileError(line, 'the first line of a key is `- id:` and its name');
      if (part !== undefined) current.parts[part] = readValue(value, line);
    }
    return found.map(({ line, parts }): Entry => entryOf(line, parts));
  },
};

/**
 * Returns a value without its quotation marks and without a comment after it. Throws
 * `KeyFileError`.
 */
function readValue(text: string, line: number): string {
  const value = text.trim();
  const mark = value[0];
  if (mark !== '"' && mark !== "'") return value.replace(/\s#.*$/, '').trim();
  const end = value.indexOf(mark, 1);
  if (end < 0) throw new KeyFileError(line, 'the quotation mark has no counterpart');
  return value.slice(1, end);
}
