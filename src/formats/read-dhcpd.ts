import { nameForm } from '../core/text/dns-name.ts';
import {
  entryOf,
  KeyFileError,
  type Entry,
  type IncludedFile,
  type Origin,
  type Parts,
  type ReadIncluded,
} from './reader.ts';

interface Token extends Origin {
  readonly text: string;
}

/** A key clause. `use` says why it must not become a key for DNS requests. */
interface DhcpdKey {
  readonly entry: Entry;
  readonly use?: string;
}

/** A comment, quoted text, a brace or semicolon, a word, or an unclosed quotation mark. */
const TOKEN = /#[^\n]*|"[^"\n]*"|[{};]|[^\s{};"#]+|"/g;

/** Key clauses of ISC DHCP, which need no semicolon behind them. They sign updates. */
export function readDhcpdClauses(text: string, include?: ReadIncluded): Entry[] {
  return dhcpdKeys(text, include).map(({ entry, use }) =>
    use === undefined || !('key' in entry)
      ? entry
      : { line: entry.line, file: entry.file, leftOut: `${entry.key.name}: ${use}` },
  );
}

/** Returns the keys of a file and of the files that it includes. Throws `KeyFileError`. */
export function dhcpdKeys(text: string, include: ReadIncluded = () => []): DhcpdKey[] {
  const tokens = [...tokensOf(text, undefined, include)];
  const controlling = new Set(
    tokens.flatMap(({ text: word }, index) =>
      word.toLowerCase() === 'omapi-key' ? nameForm(tokens[index + 1]?.text ?? '') : [],
    ),
  );
  return tokens.flatMap((token, index): DhcpdKey[] => {
    const [name, brace] = tokens.slice(index + 1, index + 3);
    // A `key` statement without a brace after the name refers to a key.
    if (token.text.toLowerCase() !== 'key' || brace?.text !== '{') return [];
    const parts = clauseOf(tokens, index + 3, name?.text ?? '', token);
    const entry = entryOf(token, parts, true);
    return controlling.has(nameForm(name?.text ?? ''))
      ? [{ entry, use: 'this key controls the DHCP server' }]
      : [{ entry }];
  });
}

/** Returns the parts of the key clause that has its first statement at `start`. */
function clauseOf(tokens: readonly Token[], start: number, name: string, origin: Origin): Parts {
  const parts: Parts = { name };
  for (let index = start; index < tokens.length; index += 3) {
    const [member, value, end] = tokens.slice(index, index + 3);
    if (member?.text === '}') return parts;
    const part = member?.text.toLowerCase();
    if ((part !== 'algorithm' && part !== 'secret') || end?.text !== ';')
      throw new KeyFileError(
        member ?? origin,
        'a key clause may contain only statements such as `algorithm hmac-sha256;`',
      );
    parts[part] = value?.text ?? '';
  }
  throw new KeyFileError(origin, 'the key clause that begins here has no end');
}

function* tokensOf(
  text: string,
  file: IncludedFile | undefined,
  include: ReadIncluded,
): Generator<Token> {
  let [line, counted] = [1, 0];
  let statement: Origin | undefined;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    for (; counted < index; counted += 1) if (text[counted] === '\n') line += 1;
    const origin = { line, file };
    if (token === '"') throw new KeyFileError(origin, 'the quotation mark here is not closed');
    if (token.startsWith('#')) continue;
    const plain = token.replaceAll('"', '');
    if (statement !== undefined)
      for (const each of include({ ...statement, pattern: plain, directories: [] }))
        yield* tokensOf(each.text, each, include);
    else if (token.toLowerCase() !== 'include') yield { text: plain, ...origin };
    statement = token.toLowerCase() === 'include' ? origin : undefined;
  }
}
