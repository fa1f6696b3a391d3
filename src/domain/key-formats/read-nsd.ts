import {
  entryOf,
  KeyFileError,
  type Entry,
  type IncludedFile,
  type KeyReader,
  type Origin,
  type Parts,
  type ReadIncluded,
} from './reader.ts';

/** The attributes that begin any section of NSD's configuration except a key. */
const SECTIONS = [
  'server:',
  'remote-control:',
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

/** An attribute that only an NSD configuration has. */
const DISTINCTIVE =
  /^[ \t]*(?:dnstap|ip-address|pattern|remote-control|server-count|tls-auth|verify|zonefile|zonesdir):/m;

interface Token extends Origin {
  readonly token: string;
}

/** The key sections of an NSD configuration. */
export const nsdSections: KeyReader = {
  source: 'NSD configuration (nsd.conf)',
  includes: {
    relativeTo: 'working directory',
    mayMatchNothing: true,
    braces: true,
    skipsFolders: false,
  },
  recognises: (text) =>
    (/^[ \t]*key:/m.test(text) && /(?:^|\s)name:/.test(text)) ||
    (/^[ \t]*include:/m.test(text) && DISTINCTIVE.test(text)),
  read(text, include = () => []) {
    const found: { origin: Origin; parts: Parts }[] = [];
    let current: Parts | undefined;
    let attribute: keyof Parts | undefined;
    for (const { token, ...origin } of withIncluded(text, undefined, include)) {
      if (attribute !== undefined && current !== undefined) {
        current[attribute] = unquoted(token);
        attribute = undefined;
      } else if (token === 'key:') {
        current = {};
        found.push({ origin, parts: current });
      } else if (SECTIONS.includes(token)) current = undefined;
      else if (current !== undefined) {
        attribute = Object.hasOwn(ATTRIBUTES, token) ? ATTRIBUTES[token] : undefined;
        if (attribute === undefined)
          throw new KeyFileError(
            origin,
            'a key may contain only `name:`, `algorithm:` and `secret:`',
          );
      }
    }
    return found.map(({ origin, parts }): Entry => entryOf(origin, parts));
  },
};

/**
 * Yields the tokens of a file. The tokens of an included file replace its include statement, even
 * within a key.
 */
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
    if (!token.startsWith('#')) yield { token, line, file };
  }
}
