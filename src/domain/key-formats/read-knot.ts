import {
  entryOf,
  KeyFileError,
  linesOf,
  type Entry,
  type IncludedFile,
  type KeyReader,
  type Origin,
  type Parts,
  type ReadIncluded,
} from './reader.ts';

const ITEMS: Readonly<Record<string, keyof Parts>> = {
  id: 'name',
  algorithm: 'algorithm',
  secret: 'secret',
};

/** A section or an item that only a Knot configuration has. */
const DISTINCTIVE =
  /^(?:acl|control|database|log|policy|remote|statistics|submission|template)[ \t]*:|^[ \t]*-[ \t]*(?:domain|id|target)[ \t]*:/m;

/**
 * The key section of a Knot DNS configuration, for example from `keymgr -t` or `knotc conf-export`.
 */
export const knotSections: KeyReader = {
  source: 'Knot DNS configuration (keymgr -t, knot.conf)',
  includes: {
    relativeTo: 'file',
    mayMatchNothing: true,
    braces: false,
    skipsFolders: true,
  },
  recognises: (text) =>
    (/^key:/m.test(text) && /^[ \t]*-[ \t]*id[ \t]*:/m.test(text)) ||
    (/^include[ \t]*:/m.test(text) && DISTINCTIVE.test(text)),
  read: (text, include = () => []) => readFile(text, undefined, include),
};

/**
 * Returns the entries of a file and of the files that it includes. A section ends at the end of its
 * file.
 */
function readFile(text: string, file: IncludedFile | undefined, include: ReadIncluded): Entry[] {
  const entries: Entry[] = [];
  let current: { origin: Origin; parts: Parts } | undefined;
  const finish = () => {
    if (current !== undefined) entries.push(entryOf(current.origin, current.parts));
    current = undefined;
  };
  let inside = false;
  for (const [index, content] of linesOf(text).entries()) {
    const origin = { line: index + 1, file };
    if (/^\s*(?:#|$|---)/.test(content)) continue;
    const [, indentation = '', dash, item = '', value = ''] =
      /^(\s*)(-\s*)?([a-z0-9-]+)\s*:(.*)$/i.exec(content) ?? [];
    const isSection = item !== '' && indentation === '' && dash === undefined;
    if (isSection) {
      finish();
      inside = item === 'key';
      if (item !== 'include') continue;
      for (const pattern of readPatterns(value, origin))
        for (const included of include({ ...origin, pattern, directories: [] }))
          for (const entry of readFile(included.text, included, include)) entries.push(entry);
    }
    if (!inside || isSection) continue;
    if (item === '')
      throw new KeyFileError(
        origin,
        'the key section may contain only lines such as `algorithm: hmac-sha256`',
      );
    if (dash !== undefined) {
      finish();
      current = { origin, parts: {} };
    }
    const part = Object.hasOwn(ITEMS, item) ? ITEMS[item] : undefined;
    if (current === undefined)
      throw new KeyFileError(
        origin,
        'the first line of a key must be `- id:` and the name of the key',
      );
    if (part !== undefined) current.parts[part] = readValue(value, origin);
  }
  finish();
  return entries;
}

/**
 * Returns the patterns of an include statement: one pattern, or a list in brackets. Throws
 * `KeyFileError`.
 */
function readPatterns(text: string, origin: Origin): string[] {
  const list = /^\s*\[([^\]]*)\]/.exec(text)?.[1];
  return (list?.split(',') ?? [text])
    .map((pattern) => readValue(pattern, origin))
    .filter((pattern) => pattern !== '');
}

/**
 * Returns a value without its quotation marks and without a comment after it. Throws
 * `KeyFileError`.
 */
function readValue(text: string, origin: Origin): string {
  const value = text.trim();
  const quote = value[0];
  if (quote !== '"' && quote !== "'") return value.replace(/\s#.*$/, '').trim();
  const end = value.indexOf(quote, 1);
  if (end < 0) throw new KeyFileError(origin, 'the quotation mark is not closed');
  return value.slice(1, end);
}
