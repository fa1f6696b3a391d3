import { entryOf, KeyFileError, type Entry, type KeyReader, type Parts } from './reader.ts';

/** The attributes that begin a section of NSD's configuration other than a key. */
const SECTIONS = [
  'server:',
  'remote-control:',
  'zone:',
  'pattern:',
  'tls-auth:',
  'verify:',
  'dnstap:',
];
/** The attributes of a key. */
const ATTRIBUTES: Readonly<Record<string, keyof Parts>> = {
  'name:': 'name',
  'algorithm:': 'algorithm',
  'secret:': 'secret',
};
/** A comment, quoted text, a word, or an unclosed quotation mark. */
const TOKEN = /#[^\n]*|"[^"\n]*"|'[^'\n]*'|[^\s"']+|["']/g;

/** The key sections of an NSD configuration. */
export const nsdSections: KeyReader = {
  source: 'NSD configuration (nsd.conf)',
  recognises: (text) => /^[ \t]*key:/m.test(text) && /(?:^|\s)name:/.test(text),
  read(text) {
    const found: { line: number; parts: Parts }[] = [];
    let current: Parts | undefined;
    let attribute: keyof Parts | undefined;
    for (const { token, line } of tokensOf(text)) {
      if (attribute !== undefined && current !== undefined) {
        current[attribute] = token.replaceAll(/^["']|["']$/g, '');
        attribute = undefined;
      } else if (token === 'key:') {
        current = {};
        found.push({ line, parts: current });
      } else if (SECTIONS.includes(token)) current = undefined;
      else if (current !== undefined) {
        attribute = Object.hasOwn(ATTRIBUTES, token) ? ATTRIBUTES[token] : undefined;
        if (attribute === undefined)
          throw new KeyFileError(line, 'a key has a name:, an algorithm: and a secret: only');
      }
    }
    return found.map(({ line, parts }): Entry => entryOf(line, parts));
  },
};

function* tokensOf(text: string): Generator<{ token: string; line: number }> {
  let line = 1;
  let counted = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    for (; counted < index; counted += 1) if (text[counted] === '\n') line += 1;
    if (token === '"' || token === "'")
      throw new KeyFileError(line, 'the quotation mark has no counterpart');
    if (!token.startsWith('#')) yield { token, line };
  }
}
