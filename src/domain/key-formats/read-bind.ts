import { entryOf, KeyFileError, type Entry, type KeyReader, type Parts } from './reader.ts';

interface Token {
  readonly kind: 'word' | 'quoted' | '{' | '}' | ';';
  readonly text: string;
  readonly line: number;
}

/**
 * BIND key clauses anywhere in a configuration: the output of `tsig-keygen`, `named.conf`, and
 * parts of it.
 */
export const bindClauses: KeyReader = {
  source: 'BIND key clauses (tsig-keygen, named.conf)',
  recognises: (text) => /(?:^|[\s;{}/])key\s+(?:"[^"\n]*"|[^\s"{};]+)\s*\{/i.test(text),
  read(text) {
    const tokens = tokensOf(text);
    const entries: Entry[] = [];
    for (const [index, token] of tokens.entries()) {
      const [name, brace] = tokens.slice(index + 1, index + 3);
      // A `key` without a brace after the name is a reference.
      if (!isWord(token, 'key') || !isText(name) || brace?.kind !== '{') continue;
      entries.push(entryOf(token.line, readClause(tokens, index + 3, name.text, token.line)));
    }
    return entries;
  },
};

/**
 * Returns the values of the statements of a key clause. `start` is the index of its first token.
 * Throws `KeyFileError`.
 */
function readClause(tokens: readonly Token[], start: number, name: string, line: number): Parts {
  const parts: Parts = { name };
  for (let index = start; index < tokens.length; index += 3) {
    const [statement, value, semicolon] = tokens.slice(index, index + 3);
    if (statement?.kind === '}') return parts;
    if (!isText(statement) || !isText(value) || semicolon?.kind !== ';') {
      throw new KeyFileError(
        statement?.line ?? line,
        'a key clause holds statements such as `algorithm hmac-sha256;`',
      );
    }
    if (isWord(statement, 'algorithm')) parts.algorithm = value.text;
    else if (isWord(statement, 'secret')) parts.secret = value.text;
    else throw new KeyFileError(statement.line, 'a key clause holds `algorithm` and `secret` only');
  }
  throw new KeyFileError(line, 'the key clause that begins here has no end');
}

function isWord(token: Token, word: string): boolean {
  return token.kind === 'word' && token.text.toLowerCase() === word;
}

function isText(token: Token | undefined): token is Token & { kind: 'word' | 'quoted' } {
  return token?.kind === 'word' || token?.kind === 'quoted';
}

/** Returns the tokens of a configuration without its comments. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let index = 0;
  while (index < text.length) {
    const character = text.charAt(index);
    const end = endOfToken(text, index, line);
    if (character === '{' || character === '}' || character === ';')
      tokens.push({ kind: character, text: character, line });
    else if (character === '"')
      tokens.push({
        kind: 'quoted',
        text: text.slice(index + 1, end - 1).replaceAll(/\\(.)/g, '$1'),
        line,
      });
    else if (!/\s/.test(character) && !isComment(text, index))
      tokens.push({ kind: 'word', text: text.slice(index, end), line });
    for (; index < end; index += 1) if (text[index] === '\n') line += 1;
  }
  return tokens;
}

/**
 * Returns the end of the comment, quoted text, punctuation, blank or word that begins at `start`.
 * Throws `KeyFileError`.
 */
function endOfToken(text: string, start: number, line: number): number {
  const character = text.charAt(start);
  if (text.startsWith('/*', start)) {
    const end = text.indexOf('*/', start + 2);
    if (end < 0) throw new KeyFileError(line, 'the comment that begins here has no end');
    return end + 2;
  }
  if (isComment(text, start)) {
    const end = text.indexOf('\n', start);
    return end < 0 ? text.length : end;
  }
  if (character === '"') {
    for (let index = start + 1; index < text.length; index += text[index] === '\\' ? 2 : 1)
      if (text[index] === '"') return index + 1;
    throw new KeyFileError(line, 'the quotation mark that stands here has no counterpart');
  }
  if (/[\s{};]/.test(character)) return start + 1;
  let end = start + 1;
  while (end < text.length && !/[\s{};"]/.test(text.charAt(end)) && !isComment(text, end)) end += 1;
  return end;
}

function isComment(text: string, index: number): boolean {
  return text[index] === '#' || text.startsWith('//', index) || text.startsWith('/*', index);
}
