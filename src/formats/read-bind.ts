import { nameForm } from '../core/text/dns-name.ts';
import { OWN_KEY, OWN_KEYS } from './own-keys.ts';
import {
  entryOf,
  KeyFileError,
  type Entry,
  type IncludedFile,
  type Origin,
  type Parts,
  type ReadIncluded,
} from './reader.ts';

/** A token of BIND's configuration grammar, except comments. */
export interface Token extends Origin {
  readonly kind: 'word' | 'quoted' | '{' | '}' | ';';
  readonly text: string;
  /** Where the token begins and ends in the text of its file. */
  readonly start: number;
  readonly end: number;
}

/** BIND key clauses, as `tsig-keygen` prints them, or anywhere in `named.conf` or a part of it. */
export function readBindClauses(text: string, include?: ReadIncluded, path = ''): Entry[] {
  const tokens = allTokens(text, include);
  const uses = controlUses(tokens);
  return clausesIn(tokens).map(({ token, name, parts }): Entry => {
    const use =
      useOf(uses, name, token.file?.path ?? path) ??
      (nameForm(name).startsWith(OWN_KEYS.bind) ? OWN_KEY : undefined);
    return use === undefined
      ? entryOf(token, parts, true)
      : { line: token.line, file: token.file, leftOut: `${name}: ${use}` };
  });
}

/**
 * Returns every key of a text, whatever BIND uses the key for. Without `include`, ignores include
 * statements. Throws `KeyFileError`.
 */
export function readBindKeys(text: string, include?: ReadIncluded): Entry[] {
  return clausesIn(allTokens(text, include)).map(({ token, parts }) => entryOf(token, parts));
}

/** The tokens of included files replace the include statements. Throws `KeyFileError`. */
export function allTokens(text: string, include: ReadIncluded = () => []): readonly Token[] {
  const tokens: Token[] = [];
  const start = { depth: 0, clause: '', directories: [], starts: true };
  addTokens(tokens, text, undefined, include, start);
  return tokens;
}

function clausesIn(tokens: readonly Token[]) {
  return tokens.flatMap((token, index) => {
    const [name, brace] = tokens.slice(index + 1, index + 3);
    // A `key` statement without a brace after the name refers to a key.
    if (!isWord(token, 'key') || !isText(name) || brace?.kind !== '{') return [];
    return [{ token, name: name.text, parts: readClause(tokens, index + 3, name.text, token) }];
  });
}

const BY_CONTROLS = 'a `controls` statement lets this key control the server';
const BY_RNDC = 'rndc controls the server with this key';
export const OF_SESSION = 'named replaces this key at each start, for updates from its own machine';

/** The files in which every key controls the server or belongs to its session, by their names. */
const FILE_USES: Readonly<Record<string, string | undefined>> = {
  'rndc.key': BY_RNDC,
  'rndc.conf': BY_RNDC,
  'session.key': OF_SESSION,
};

/**
 * Returns the keys that must not become keys for DNS requests, by name, and what they are for. To
 * `named` they are ordinary keys: their names in an access list would permit transfers. The first
 * two names are the defaults of `rndc-confgen` and of `session-keyname`.
 */
export function controlUses(tokens: readonly Token[]): ReadonlyMap<string, string> {
  const uses = new Map([
    ['rndc-key', BY_RNDC],
    ['local-ddns', OF_SESSION],
  ]);
  let depth = 0;
  let clause = '';
  for (const [index, token] of tokens.entries()) {
    if (token.kind === '{') depth += 1;
    if (token.kind === '}') depth -= 1;
    const [before, next, end] = [tokens[index - 1], tokens[index + 1], tokens[index + 2]];
    const starts = before === undefined || ['{', '}', ';'].includes(before.kind);
    if (starts && depth === 0) clause = token.text.toLowerCase();
    if (clause === 'controls' && isWord(token, 'keys') && next?.kind === '{')
      for (const name of tokens.slice(index + 2, endOfBlock(tokens, index + 2)))
        if (isText(name)) uses.set(nameForm(name.text), BY_CONTROLS);
    if (!starts || depth !== 1 || !isText(next) || end?.kind !== ';') continue;
    const name = nameForm(next.text);
    // Only rndc.conf has these two; in named.conf, `server` has `keys`.
    if (clause === 'options' && isWord(token, 'default-key')) uses.set(name, BY_RNDC);
    if (clause === 'server' && isWord(token, 'key')) uses.set(name, BY_RNDC);
    if (clause === 'options' && isWord(token, 'session-keyname')) uses.set(name, OF_SESSION);
  }
  return uses;
}

/** Why a key must not become a key for DNS requests. `path` is that of the defining file. */
export function useOf(
  uses: ReturnType<typeof controlUses>,
  name: string,
  path: string,
): string | undefined {
  const file = fileName(path);
  const byFile = Object.hasOwn(FILE_USES, file) ? FILE_USES[file] : undefined;
  return uses.get(nameForm(name)) ?? byFile;
}

/** Returns the index of the brace that ends the block without nested blocks at `start`. */
function endOfBlock(tokens: readonly Token[], start: number): number {
  const end = tokens.findIndex(({ kind }, index) => index >= start && kind === '}');
  return end < 0 ? tokens.length : end;
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** An included file continues at the position of its include statement. */
interface Position {
  depth: number;
  /** The name of the outermost clause. */
  clause: string;
  directories: readonly string[];
  /** Whether a statement starts at the next token. */
  starts: boolean;
}

/** Included tokens replace their include statement even within a key clause. */
function addTokens(
  tokens: Token[],
  text: string,
  file: IncludedFile | undefined,
  include: ReadIncluded,
  position: Position,
): void {
  const own = tokensOf(text, file);
  for (let index = 0; index < own.length; index += 1) {
    const [token, value, end] = own.slice(index, index + 3);
    if (token === undefined) return;
    const { depth, starts, directories } = position;
    if (starts && isWord(token, 'include') && isText(value) && end?.kind === ';') {
      const { line } = token;
      for (const included of include({ line, file, pattern: value.text, directories }))
        addTokens(tokens, included.text, included, include, position);
      index += 2;
      continue;
    }
    if (starts && depth === 0) position.clause = token.text.toLowerCase();
    const isDirectory = starts && depth === 1 && isWord(token, 'directory') && isText(value);
    // Include statements after the option `directory` are relative to that directory, even outside
    // the clause `options`.
    if (isDirectory && position.clause === 'options')
      position.directories = [...directories, value.text];
    if (token.kind === '{') position.depth += 1;
    if (token.kind === '}') position.depth -= 1;
    position.starts = ['{', '}', ';'].includes(token.kind);
    tokens.push(token);
  }
}

/** `start` is the index of the first token in the clause. Throws `KeyFileError`. */
function readClause(tokens: readonly Token[], start: number, name: string, origin: Origin): Parts {
  const parts: Parts = { name };
  for (let index = start; index < tokens.length; index += 3) {
    const [statement, value, semicolon] = tokens.slice(index, index + 3);
    if (statement?.kind === '}') return parts;
    if (!isText(statement) || !isText(value) || semicolon?.kind !== ';') {
      throw new KeyFileError(
        statement ?? origin,
        'a key clause may contain only statements such as `algorithm hmac-sha256;`',
      );
    }
    if (isWord(statement, 'algorithm')) parts.algorithm = value.text;
    else if (isWord(statement, 'secret')) parts.secret = value.text;
    else
      throw new KeyFileError(statement, 'a key clause may contain only `algorithm` and `secret`');
  }
  throw new KeyFileError(origin, 'the key clause that begins here has no end');
}

function isWord(token: Token, word: string): boolean {
  return token.kind === 'word' && token.text.toLowerCase() === word;
}

function isText(token: Token | undefined): token is Token & { kind: 'word' | 'quoted' } {
  return token?.kind === 'word' || token?.kind === 'quoted';
}

function tokensOf(text: string, file: IncludedFile | undefined): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let index = 0;
  while (index < text.length) {
    const character = text.charAt(index);
    const end = endOfToken(text, index, { line, file });
    const origin = { line, file, start: index, end };
    if (character === '{' || character === '}' || character === ';')
      tokens.push({ kind: character, text: character, ...origin });
    else if (character === '"')
      tokens.push({
        kind: 'quoted',
        // A backslash before anything else belongs to the text.
        text: text.slice(index + 1, end - 1).replaceAll('\\"', '"'),
        ...origin,
      });
    else if (!/\s/.test(character) && !isComment(text, index))
      tokens.push({ kind: 'word', text: text.slice(index, end), ...origin });
    for (; index < end; index += 1) if (text[index] === '\n') line += 1;
  }
  return tokens;
}

/** The end of the token, comment or blank that begins at `start`. Throws `KeyFileError`. */
function endOfToken(text: string, start: number, origin: Origin): number {
  const character = text.charAt(start);
  if (text.startsWith('/*', start)) {
    const end = text.indexOf('*/', start + 2);
    if (end < 0) throw new KeyFileError(origin, 'the comment that begins here has no end');
    return end + 2;
  }
  if (isComment(text, start)) {
    const end = text.indexOf('\n', start);
    return end < 0 ? text.length : end;
  }
  if (character === '"') {
    for (let index = start + 1; index < text.length; index += text[index] === '\\' ? 2 : 1)
      if (text[index] === '"') return index + 1;
    throw new KeyFileError(origin, 'the quotation mark here is not closed');
  }
  if (/[\s{};]/.test(character)) return start + 1;
  let end = start + 1;
  while (end < text.length && !/[\s{};"]/.test(text.charAt(end)) && !isComment(text, end)) end += 1;
  return end;
}

function isComment(text: string, index: number): boolean {
  return text[index] === '#' || text.startsWith('//', index) || text.startsWith('/*', index);
}
