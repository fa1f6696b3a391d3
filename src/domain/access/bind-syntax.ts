import type { Token } from '../key-formats/read-bind.ts';
import { KeyFileError, type Origin } from '../key-formats/reader.ts';
import { blockOf, missingSemicolon, wordsOf, type Statement } from './bind-lists.ts';

/** The statements with an address match list. */
const LISTS =
  /^(?:acl|allow-(?!new-zones$|v6-synthesis$)[a-z-]+|blackhole|match-clients|match-destinations)$/;

const NEVER_VALUES =
  /^(?:allow-(?:new-zones|notify|query|recursion|transfer|update)[a-z-]*|match-[a-z-]+|update-policy)$/i;

/** The clauses outside of all others. */
const CLAUSES = new Set([
  'acl',
  'controls',
  'dnssec-policy',
  'dyndb',
  'http',
  'include',
  'key',
  'key-store',
  'logging',
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
  'view',
  'zone',
]);

/** The clauses with settings, in which statements of any kind are next to each other. */
const SETTINGS = new Set(['options', 'template', 'view', 'zone']);

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

/** The only words with which an option of a list may begin. */
const OF_TRANSPORT = /^(?:port|transport)$/i;

/**
 * Checks that no statement contains another one, because a semicolon is missing: it would vanish.
 * Throws `KeyFileError` for a file that BIND refuses too.
 */
export function checkStatements(top: readonly Statement[]): void {
  for (const statement of top) {
    const inner = wordTokens(statement)
      .slice(2)
      .find((token) => isName(token, CLAUSES));
    if (inner !== undefined) throw missingSemicolon(inner);
    checkStatement(statement);
  }
}

function checkStatement(statement: Statement): void {
  const name = nameOf(statement);
  if (LISTS.test(name)) checkList(statement, name);
  else if (name === 'update-policy') checkRules(statement);
  else if (SETTINGS.has(name)) checkSettings(blockOf(statement));
}

function checkSettings(statements: readonly Statement[]): void {
  for (const statement of statements) {
    const isClause = SETTINGS.has(nameOf(statement)); // its name may be any word
    const inner = wordTokens(statement)
      .slice(isClause ? 2 : 1)
      .find((token, index) => isNeverValue(token) || (index > 0 && isName(token, NAMES)));
    if (inner !== undefined) throw missingSemicolon(inner);
    checkStatement(statement);
  }
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
    const inner = wordTokens(rule)
      .slice(4)
      .find(({ kind, text }) => kind === 'word' && /^(?:grant|deny)$/i.test(text));
    if (inner !== undefined) throw missingSemicolon(inner);
  }
}

function wordTokens({ parts }: Statement): Token[] {
  return parts.flatMap((part) => ('kind' in part ? [part] : []));
}

function originOf(part: Statement['parts'][number]): Origin | undefined {
  return 'kind' in part ? part : part[0]?.origin;
}

function nameOf(statement: Statement): string {
  return wordsOf(statement)[0]?.toLowerCase() ?? '';
}

function isName({ kind, text }: Token, names: ReadonlySet<string>): boolean {
  return kind === 'word' && names.has(text.toLowerCase());
}

function isNeverValue({ kind, text }: Token): boolean {
  return kind === 'word' && NEVER_VALUES.test(text);
}
