import { KeyFileError, type Origin } from '../../formats/reader.ts';
import type { Token } from '../../formats/read-bind.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import { contains, type Range, type Requester } from '../../access/access.ts';
import { readRange } from '../../access/ranges.ts';

export interface Statement {
  readonly origin: Origin;
  readonly parts: readonly (Token | readonly Statement[])[];
  /** All its tokens outside of its blocks, with the braces and the semicolon. */
  readonly tokens: readonly Token[];
}

/** No configuration nests its blocks deeper, and BIND refuses lists that contain themselves. */
const MAX_DEPTH = 100;

/** The statements that go on behind a block: in `controls`, and these options. */
const GOES_ON =
  /^(?:deny-answer-(?:addresses|aliases)|inet|response-padding|response-policy|unix)$/i;

/** The statements with blocks that a library reads. */
const OF_LIBRARY = /^(?:dyndb|plugin)$/i;

/** Returns the statements of a configuration. Throws `KeyFileError`. */
export function treeOf(tokens: readonly Token[]): readonly Statement[] {
  let index = 0;
  const block = (opening: Token | undefined, depth: number, within: string): Statement[] => {
    if (opening !== undefined && depth > MAX_DEPTH)
      throw new KeyFileError(opening, `the blocks are nested more than ${MAX_DEPTH} deep`);
    const statements: Statement[] = [];
    let [parts, own]: [(Token | readonly Statement[])[], Token[]] = [[], []];
    const endStatement = () => {
      const [origin] = own;
      if (origin !== undefined && parts.length > 0) statements.push({ origin, parts, tokens: own });
      [parts, own] = [[], []];
    };
    const isFree = OF_LIBRARY.test(within);
    for (; index < tokens.length; index += 1) {
      const token = tokens[index];
      if (token === undefined || token.kind === '}') break;
      const before = parts.at(-1);
      const name = nameIn(parts);
      const ends = before !== undefined && !('kind' in before) && !isFree && !goesOn(name, within);
      if (ends && token.kind !== ';') throw missingSemicolon(token);
      own.push(token);
      if (token.kind === '{') {
        index += 1;
        parts.push(block(token, depth + 1, isFree ? within : name));
        own.push(...tokens.slice(index, index + 1));
      } else if (token.kind === ';') endStatement();
      else parts.push(token);
    }
    const end = tokens[index];
    if (opening !== undefined && end === undefined)
      throw new KeyFileError(opening, 'the block that begins here has no end');
    if (opening === undefined && end !== undefined)
      throw new KeyFileError(end, 'this brace closes no block');
    const [unfinished] = own;
    if (unfinished !== undefined && !isFree)
      throw end === undefined
        ? new KeyFileError(unfinished, 'the statement that begins here has no `;` at its end')
        : missingSemicolon(end);
    endStatement();
    return statements;
  };
  return block(undefined, 0, '');
}

function nameIn([first]: Statement['parts']): string {
  return first !== undefined && 'kind' in first ? first.text : '';
}

function goesOn(name: string, within: string): boolean {
  return GOES_ON.test(name) || (/^catalog-zones$/i.test(within) && /^zone$/i.test(name));
}

export function missingSemicolon(origin: Origin): KeyFileError {
  return new KeyFileError(origin, 'a `;` is missing before what begins here');
}

/** Returns the words of a statement, without its blocks. */
export function wordsOf(statement: Statement): string[] {
  return wordTokens(statement).map(({ text }) => text);
}

/** Returns the first word of a statement, in lower case. */
export function nameOf(statement: Statement): string {
  return wordsOf(statement)[0]?.toLowerCase() ?? '';
}

export function wordTokens({ parts }: Statement): Token[] {
  return parts.flatMap((part) => ('kind' in part ? [part] : []));
}

/** Returns the statements in all blocks of a statement. */
export function blockOf({ parts }: Statement): readonly Statement[] {
  return parts.flatMap((part) => ('kind' in part ? [] : part));
}

export function named(statements: readonly Statement[], name: string): Statement[] {
  return statements.filter((each) => nameOf(each) === name);
}

/** Returns a statement on one line. */
export function textOfStatement({ parts }: Statement): string {
  return parts
    .map((part) =>
      'kind' in part
        ? part.text
        : `{ ${part.map((each) => `${textOfStatement(each)}; `).join('')}}`,
    )
    .join(' ');
}

/** An address match list. The last element that decides is a key, or not. */
export interface MatchList {
  readonly ranges: readonly Range[];
  /** The networks as text, and whether the list permits or refuses them. */
  readonly signs: readonly (readonly [network: string, yes: boolean])[];
  readonly namesLocal: boolean;
  readonly keys: readonly string[];
  /** Why the evaluation may differ from the server's. */
  readonly doubt?: string;
  decide(requester: Requester): { readonly yes: boolean; readonly byKey: boolean } | undefined;
}

interface Element {
  readonly negated: boolean;
  readonly inner: MatchList;
}

/** Returns the list that the name of an `acl` statement stands for. */
export type FindList = (name: string) => MatchList | undefined;

/**
 * Returns an address match list. The first element that matches decides. A nested list that decides
 * "no" does not match, so the list goes on behind it.
 */
export function matchListOf(statements: readonly Statement[], find: FindList): MatchList {
  if (statements.every((each) => textOfStatement(each).toLowerCase() === 'none')) return EMPTY;
  const elements = statements.map(({ parts }) => elementOf(parts, find));
  const inner = elements.map((element) => element.inner);
  const signs = elements.flatMap(({ negated, inner: each }) =>
    each.signs.map(([range, yes]) => [range, yes !== negated] as const),
  );
  const doubt = inner.find((each) => each.doubt !== undefined)?.doubt ?? contradictionOf(signs);
  return {
    ranges: inner.flatMap(({ ranges }) => ranges),
    signs,
    namesLocal: inner.some(({ namesLocal }) => namesLocal),
    keys: [...new Set(inner.flatMap(({ keys }) => keys))],
    ...(doubt === undefined ? {} : { doubt }),
    decide(requester) {
      for (const { negated, inner: each } of elements) {
        const decision = each.decide(requester);
        if (decision?.yes === true) return { yes: !negated, byKey: decision.byKey };
      }
      return undefined;
    },
  };
}

/**
 * BIND merges nested lists, so a network that one permits and another refuses is refused, even if
 * the first element permits it.
 */
function contradictionOf(signs: MatchList['signs']): string | undefined {
  const seen = new Map<string, boolean>();
  for (const [network, yes] of signs) {
    if (seen.get(network) === !yes)
      return 'the list permits a network in one place, and refuses it in another';
    seen.set(network, yes);
  }
  return undefined;
}

function elementOf(parts: Statement['parts'], find: FindList): Element {
  const [first, ...rest] = parts;
  if (first === undefined || !('kind' in first))
    return { negated: false, inner: matchListOf(first ?? [], find) };
  if (first.kind === 'word' && first.text.startsWith('!')) {
    const text = first.text.slice(1);
    const { negated, inner } = elementOf(text === '' ? rest : [{ ...first, text }, ...rest], find);
    return { negated: !negated, inner };
  }
  const [second] = rest;
  if (second !== undefined && 'kind' in second && first.text.toLowerCase() === 'key')
    return { negated: false, inner: keyList(nameForm(second.text)) };
  if (second !== undefined)
    return {
      negated: false,
      inner: doubtful(`'${textOfStatement({ origin: first, parts, tokens: [] })}'`),
    };
  const name = first.text.toLowerCase();
  if (name === 'none') return { negated: true, inner: ANY };
  const inner = BUILT_IN.get(name) ?? addressList(first.text) ?? find(name);
  return { negated: false, inner: inner ?? doubtful(`the acl '${first.text}', which is missing`) };
}

const NOTHING = { ranges: [], signs: [], namesLocal: false, keys: [] };
const MATCH = { yes: true, byKey: false };

/** A list of `none` refuses nothing in another list, unlike `any` that is negated in several lists. */
const EMPTY: MatchList = { ...NOTHING, decide: () => undefined };

export const ANY: MatchList = { ...NOTHING, signs: [['any', true]], decide: () => MATCH };

const BUILT_IN: ReadonlyMap<string, MatchList> = new Map([
  ['any', ANY],
  ['localhost', localList(({ local }) => local === 'localhost')],
  ['localnets', localList(({ local }) => local !== undefined)],
]);

function localList(isLocal: (requester: Requester) => boolean): MatchList {
  return {
    ...NOTHING,
    namesLocal: true,
    decide: (requester) => (isLocal(requester) ? MATCH : undefined),
  };
}

function keyList(key: string): MatchList {
  return {
    ...NOTHING,
    keys: [key],
    decide: (requester) => (requester.key === key ? { yes: true, byKey: true } : undefined),
  };
}

function doubtful(element: string): MatchList {
  return {
    ...NOTHING,
    doubt: `the list contains ${element}, which grants cannot express`,
    decide: () => undefined,
  };
}

/** Returns the list of a network such as `192.0.2.1`, `10/8` or `2001:db8::/32`. */
function addressList(text: string): MatchList | undefined {
  const [address = '', length] = text.split('%')[0]?.split('/') ?? [];
  // BIND accepts IPv4 networks without their last zeros.
  const labels = /^\d+(?:\.\d+){0,2}\.?$/.test(address)
    ? address.replace(/\.$/, '').split('.')
    : [];
  const whole = labels.length === 0 ? address : [...labels, '0', '0', '0'].slice(0, 4).join('.');
  const range = readRange(length === undefined ? whole : `${whole}/${length}`);
  if (range === undefined) return undefined;
  return {
    ...NOTHING,
    ranges: [range],
    signs: [[`${range.first}-${range.last}`, true]],
    decide: ({ address: from }) => (contains(range, from) ? MATCH : undefined),
  };
}
