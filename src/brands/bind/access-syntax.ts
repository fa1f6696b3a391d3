import type { Token } from '../../formats/read-bind.ts';
import { KeyFileError, type Origin } from '../../formats/reader.ts';
import { hasFaultyEscape, nameForm } from '../../core/text/dns-name.ts';
import { isMisspelt } from '../../core/text/suggestion.ts';
import {
  blockOf,
  missingSemicolon,
  nameOf,
  wordsOf,
  wordTokens,
  type Statement,
} from './access-lists.ts';
import { unknownWord } from '../../access/unknown-word.ts';

/** The statements with an address match list. */
const LISTS =
  /^(?:acl|allow-(?!new-zones$|v6-synthesis$)[a-z-]+|blackhole|match-clients|match-destinations)$/;

const NEVER_VALUES =
  /^(?:allow-(?:new-zones|notify|query|recursion|transfer|update)[a-z-]*|match-[a-z-]+|update-policy)$/i;

/** The clauses outside of all others, of every version of BIND 9. */
const CLAUSES = new Set([
  'acl',
  'controls',
  'dlz',
  'dnssec-policy',
  'dyndb',
  'http',
  'include',
  'key',
  'key-store',
  'logging',
  'lwres',
  'managed-keys',
  'masters',
  'options',
  'parental-agents',
  'plugin',
  'primaries',
  'remote-servers',
  'server',
  'statistics-channels',
  'template',
  'tls',
  'trust-anchors',
  'trusted-keys',
  'view',
  'zone',
]);

/** The clauses with settings, in which statements of any kind are next to each other. */
const SETTINGS = new Set(['options', 'template', 'view', 'zone']);

/** The settings that decide about rights, and stand once in a block. No other is similar to one. */
const DECIDING = [
  ...['allow-transfer', 'allow-update', 'allow-update-forwarding', 'update-policy'],
  ...['match-clients', 'match-destinations', 'match-recursive-only'],
  ...['in-view', 'template', 'type'],
];

/** How many words, its own included, stand before the block of a clause. */
const BEFORE_BLOCK: Readonly<Record<string, readonly number[] | undefined>> = {
  acl: [2],
  controls: [1],
  key: [2],
  logging: [1],
  options: [1],
  server: [2],
  view: [2, 3],
  zone: [2, 3],
};

const BUILT_IN = ['any', 'localhost', 'localnets', 'none'];

/** Common settings that are never the second value of another one. */
const NAMES = new Set([
  ...['acl', 'controls', 'key', 'options', 'server', 'template', 'view', 'zone'],
  ...['also-notify', 'auto-dnssec', 'catalog-zones', 'check-names', 'directory', 'dnssec-policy'],
  ...['dnssec-validation', 'empty-zones-enable', 'file', 'forward', 'forwarders', 'in-view'],
  ...['include', 'inline-signing', 'ixfr-from-differences', 'key-directory', 'listen-on'],
  ...['listen-on-v6', 'masterfile-format', 'masters', 'notify', 'parental-agents', 'pid-file'],
  ...['plugin', 'primaries', 'rate-limit', 'recursion', 'response-policy', 'type', 'version'],
  ...['serial-update-method', 'session-keyfile', 'session-keyname', 'zone-statistics'],
]);

/** Those that a value and the end of the statement follow, unlike a value with this name. */
const FOLLOWED = new Set(['in-view', 'template', 'type', 'zone']);

/** The only words with which an option of a list may begin. */
const OF_TRANSPORT = /^(?:port|transport)$/i;

/** Checks the escapes in the names of keys and zones. Throws `KeyFileError`. */
export function checkNames(tokens: readonly Token[]): void {
  for (const [index, { kind, text }] of tokens.entries())
    if (kind === 'word' && /^!?(?:key|zone)$/i.test(text)) checkEscapes(tokens[index + 1]);
}

function checkEscapes(name: Token | undefined): void {
  if (name !== undefined && hasFaultyEscape(name.text))
    throw new KeyFileError(
      name,
      'an escape in this name is neither three digits up to 255 nor one character',
    );
}

/**
 * Checks that no statement contains another one, because a semicolon is missing: it would vanish.
 * Throws `KeyFileError` for a file that BIND refuses too.
 */
export function checkStatements(top: readonly Statement[]): void {
  checkOnce(top);
  for (const statement of top) {
    const name = nameOf(statement);
    if (!isName(statement.parts[0], CLAUSES)) throw unknownWord(statement.origin, 'option', name);
    const inner = wordTokens(statement)
      .slice(2)
      .find((token) => isName(token, CLAUSES));
    if (inner !== undefined) throw missingSemicolon(inner);
    // Whole files have been put in the place of the others.
    if (name === 'include') throw new KeyFileError(statement.origin, NO_FILE);
    checkStatement(statement);
  }
}

const NO_FILE = 'an include statement must have the path of one file';

function checkStatement(statement: Statement): void {
  const name = nameOf(statement);
  checkClause(statement, name);
  if (LISTS.test(name)) checkList(statement, name);
  else if (name === 'update-policy') checkRules(statement);
  else if (SETTINGS.has(name)) checkSettings(blockOf(statement));
}

function checkSettings(statements: readonly Statement[]): void {
  checkOnce(statements);
  for (const statement of statements) {
    const name = nameOf(statement);
    const [first] = statement.parts;
    if (first === undefined || !('kind' in first) || first.kind !== 'word')
      throw unknownWord(statement.origin, 'option', '');
    if (!NAMES.has(name) && isMisspelt(name, [...DECIDING, 'zone']))
      throw unknownWord(statement.origin, 'option', name);
    const isNamed = SETTINGS.has(name) || name === 'dyndb'; // its name may be any word
    const inner = wordTokens(statement)
      .slice(isNamed ? 2 : 1)
      .find(
        (token, index, rest) =>
          isNeverValue(token) ||
          (isName(token, NAMES) && (index > 0 || (isName(token, FOLLOWED) && rest.length > 1))),
      );
    if (inner !== undefined) throw missingSemicolon(inner);
    if (name === 'include') throw new KeyFileError(statement.origin, NO_FILE);
    checkStatement(statement);
  }
}

/** Checks that only the words of a clause stand before its block, because others would vanish. */
function checkClause(statement: Statement, name: string): void {
  const counts = Object.hasOwn(BEFORE_BLOCK, name) ? BEFORE_BLOCK[name] : undefined;
  if (counts === undefined) return;
  const words = wordTokens(statement);
  const blocks = statement.parts.length - words.length;
  if (blocks === 1 && counts.includes(words.length)) return;
  throw new KeyFileError(
    words[counts.at(-1) ?? 0] ?? statement.origin,
    `the block of \`${name}\` does not stand where it belongs`,
  );
}

/** Checks that nothing is stated twice, because named refuses that, and one of both would vanish. */
function checkOnce(statements: readonly Statement[]): void {
  const seen = new Set(BUILT_IN.map((list) => `acl ${list}`));
  for (const statement of statements) {
    const id = idOf(statement);
    if (id === undefined) continue;
    if (seen.has(id))
      throw new KeyFileError(statement.origin, `this \`${nameOf(statement)}\` is here already`);
    seen.add(id);
  }
  const update = statements.find((each) => nameOf(each) === 'allow-update');
  if (update !== undefined && seen.has('update-policy'))
    throw new KeyFileError(update.origin, '`allow-update` must not stand beside `update-policy`');
}

/** Returns what only one statement of a block can have, or undefined. */
function idOf(statement: Statement): string | undefined {
  const [first = '', second = '', type = 'in'] = wordsOf(statement);
  const name = first.toLowerCase();
  const isTemplate = name === 'template' && statement.parts.length > 2;
  if (isTemplate) return `template ${second}`;
  if (name === 'options' || DECIDING.includes(name)) return name;
  if (name === 'acl') return `acl ${second.toLowerCase()}`;
  if (name === 'view') return `view ${second} ${type.toLowerCase()}`;
  return name === 'zone' ? `zone ${nameForm(second)} ${type.toLowerCase()}` : undefined;
}

function checkList(statement: Statement, name: string): void {
  const words = wordTokens(statement);
  const block = statement.parts.findIndex((part) => !('kind' in part));
  if (block < 0)
    throw new KeyFileError(statement.origin, `the list of \`${name}\` must be in braces`);
  const [own, ...options] = name === 'acl' ? words.slice(1) : words;
  const other = options.find(
    (token, index) =>
      name !== 'allow-transfer' || (index % 2 === 0 && !OF_TRANSPORT.test(token.text)),
  );
  if (own === undefined || other !== undefined)
    throw new KeyFileError(
      other ?? statement.origin,
      `this does not belong before the list of \`${name}\``,
    );
  checkElements(blockOf(statement));
}

function checkElements(elements: readonly Statement[]): void {
  for (const element of elements) {
    const parts = element.parts.filter((part) => !('kind' in part) || part.text !== '!');
    const [first, second, third] = parts;
    if (first === undefined) continue;
    if (!('kind' in first)) {
      checkElements(first);
      if (second !== undefined) throw missingSemicolon(originOf(second) ?? element.origin);
      continue;
    }
    const name = first.text.toLowerCase().replace(/^!/, '');
    if (name === 'geoip' || name === 'ecs') continue;
    const next = name === 'key' ? third : second;
    if (next !== undefined) throw missingSemicolon(originOf(next) ?? element.origin);
  }
}

function checkRules(policy: Statement): void {
  for (const rule of blockOf(policy)) {
    for (const word of wordTokens(rule)) checkEscapes(word);
    const inner = wordTokens(rule)
      .slice(4)
      .find(({ kind, text }) => kind === 'word' && /^(?:grant|deny)$/i.test(text));
    if (inner !== undefined) throw missingSemicolon(inner);
  }
}

function originOf(part: Statement['parts'][number]): Origin | undefined {
  return 'kind' in part ? part : part[0]?.origin;
}

function isName(part: Statement['parts'][number] | undefined, names: ReadonlySet<string>): boolean {
  return (
    part !== undefined &&
    'kind' in part &&
    part.kind === 'word' &&
    names.has(part.text.toLowerCase())
  );
}

function isNeverValue({ kind, text }: Token): boolean {
  return kind === 'word' && NEVER_VALUES.test(text);
}
