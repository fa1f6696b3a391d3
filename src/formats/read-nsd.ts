import {
  entryOf,
  KeyFileError,
  type Entry,
  type IncludedFile,
  type Origin,
  type Parts,
  type ReadIncluded,
} from './reader.ts';

/** The attributes that begin a section of NSD's configuration. */
export const NSD_SECTIONS = [
  'server:',
  'remote-control:',
  'key:',
  'zone:',
  'pattern:',
  'tls-auth:',
  'verify:',
  'dnstap:',
];
const ATTRIBUTES: Readonly<Record<string, keyof Parts>> = {
  'name:': 'name',
  'algorithm:': 'algorithm',
  'secret:': 'secret',
};
/** A comment, quoted text, a word, or an unclosed quotation mark. */
const TOKEN = /#[^\n]*|"[^"\n]*"|'[^'\n]*'|[^\s"']+|["']/g;

/** A part of the text of a file, in UTF-16 units. */
export interface NsdSpan extends Origin {
  readonly start: number;
  readonly end: number;
}

interface Token extends NsdSpan {
  readonly token: string;
}

export function readNsdKeys(text: string, include?: ReadIncluded): Entry[] {
  return nsdEntries(text, include)
    .filter(({ section }) => section === 'key:')
    .map(keyEntryOf);
}

/** An attribute of a section, such as `provide-xfr:`, with its values. */
export interface NsdAttribute extends NsdSpan {
  readonly name: string;
  readonly values: string[];
  readonly spans: NsdSpan[];
}

/** A section of NSD's configuration. `section` is the attribute that begins it. */
export interface NsdEntry extends NsdSpan {
  readonly section: string;
  readonly attributes: NsdAttribute[];
}

/** Returns the sections of a file and of the files that it includes. Throws `KeyFileError`. */
export function nsdEntries(text: string, include: ReadIncluded = () => []): NsdEntry[] {
  const entries: NsdEntry[] = [];
  for (const { token, ...span } of withIncluded(text, undefined, include)) {
    const current = entries.at(-1);
    const name = token.toLowerCase();
    if (current === undefined && !NSD_SECTIONS.includes(name))
      throw new KeyFileError(span, 'this belongs to no section, such as `zone:`');
    if (NSD_SECTIONS.includes(name)) entries.push({ section: name, attributes: [], ...span });
    else if (/^[a-z][a-z0-9-]*:$/.test(name))
      current?.attributes.push({ name, values: [], spans: [], ...span });
    else if (current?.attributes.length === 0 && current.section === 'key:')
      throw new KeyFileError(span, ONLY);
    else {
      const attribute = current?.attributes.at(-1);
      attribute?.values.push(unquoted(token));
      attribute?.spans.push(span);
    }
  }
  return entries;
}

const ONLY = 'a key may contain only `name:`, `algorithm:` and `secret:`';

/** Returns a section `key:` as the entry of a key file. Throws `KeyFileError`. */
export function keyEntryOf({ attributes, line, file }: NsdEntry): Entry {
  const parts: Parts = {};
  for (const { name, values, ...origin } of attributes) {
    const part = Object.hasOwn(ATTRIBUTES, name) ? ATTRIBUTES[name] : undefined;
    const [value, ...more] = values;
    if (part === undefined || more.length > 0) throw new KeyFileError(origin, ONLY);
    if (value !== undefined) parts[part] = value;
  }
  // The default of NSD.
  return entryOf({ line, file }, { algorithm: 'hmac-sha256', ...parts }, true);
}

/** The tokens of an included file replace its include statement, even within a key. */
function* withIncluded(
  text: string,
  file: IncludedFile | undefined,
  include: ReadIncluded,
): Generator<Token> {
  let statement: Origin | undefined;
  for (const found of tokensOf(text, file)) {
    if (statement !== undefined) {
      const wanted = {
        line: statement.line,
        file,
        pattern: unquoted(found.token),
        directories: [],
      };
      statement = undefined;
      for (const included of include(wanted)) yield* withIncluded(included.text, included, include);
    } else if (found.token.toLowerCase() === 'include:') statement = found;
    else yield found;
  }
}

function unquoted(token: string): string {
  return token.replaceAll(/^["']|["']$/g, '');
}

function* tokensOf(text: string, file: IncludedFile | undefined): Generator<Token> {
  let line = 1;
  let counted = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    for (; counted < index; counted += 1) if (text[counted] === '\n') line += 1;
    if (token === '"' || token === "'")
      throw new KeyFileError({ line, file }, 'the quotation mark is not closed');
    if (!token.startsWith('#'))
      yield { token, line, file, start: index, end: index + token.length };
  }
}
