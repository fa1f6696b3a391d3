import { listName, RIGHTS, type Right } from '../../access/rights.ts';
import { allTokens, type Token } from '../../formats/read-bind.ts';
import { placesOf } from '../../access/places.ts';
import { KeyFileError, type Origin } from '../../formats/reader.ts';
import { quoted } from '../../formats/writer.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import { blockOf, treeOf, wordsOf, type Statement } from './access-lists.ts';
import { decidedZonesIn, type DecidedZone } from './access-rights.ts';
import { indentationAt, movedBy, removalOf, type Edit, type Rewriter } from '../rewrite.ts';

type IsKey = (key: string) => boolean;

interface Leaving {
  readonly isKey: IsKey;
  /** Returns what replaces an element that names a list, or undefined to leave it. */
  elementsOf(name: string): readonly string[] | undefined;
}

const NAMES_STAY = () => undefined;
const NOTHING: Leaving = { isKey: () => false, elementsOf: NAMES_STAY };

/**
 * Rewrites the configuration of BIND. In each zone with rights that move, Tsigil's lists come first.
 * They permit the keys everything, so that no element behind them decides about these keys.
 */
export const rewriteBind: Rewriter = ({ path, text: mainText, include }, move) => {
  const top = treeOf(allTokens(mainText, include));
  const moves = movedBy(move);
  const moving = new Set(
    move.rows.flatMap((row) => row.zones.map((zone) => `${row.right} ${zone}`)),
  );
  const zones = decidedZonesIn(top);
  const aclStatements = top.filter((each) => nameOf(each) === 'acl');
  const edits: Edit[] = [];
  const at = placesOf(path);
  const textOf = ({ file }: Token) => file?.text ?? mainText;
  const replace = ({ file }: Token, start: number, end: number, text: string) =>
    void edits.push({ file: file?.path ?? path, start, end, text });

  const endsOf = (statement: Statement): readonly [first: Token, last: Token] => {
    const [first, last] = [statement.tokens[0], statement.tokens.at(-1)];
    if (first === undefined || last === undefined || !isInFile(statement, first.file))
      throw new KeyFileError(at(statement.origin), 'this statement is in several files');
    return [first, last];
  };
  const remove = (statement: Statement) => {
    const [first, last] = endsOf(statement);
    replace(first, ...removalOf(textOf(first), first.start, last.end), '');
  };
  /** Puts elements at the start of a list, and removes keys. The list keeps at least one element. */
  const edit = (list: Statement, added: readonly string[], leaving: Leaving) => {
    const { removedElements, replacements, isEmpty } = without(blockOf(list), leaving);
    const brace = list.tokens.find(({ kind }) => kind === '{');
    if (brace === undefined || removedElements.length + added.length === 0) return;
    const first = isEmpty && added.length === 0 ? ['none'] : added;
    replace(brace, brace.end, brace.end, first.map((each) => ` ${each};`).join(''));
    for (const each of removedElements) remove(each);
    for (const [element, text] of replacements) {
      const [start, end] = endsOf(element);
      replace(start, start.start, end.end, `${text};`);
    }
  };
  const add = (zone: Statement, statement: string) => {
    const [open, close] = zone.tokens.filter(({ kind }) => kind === '{' || kind === '}');
    const before = blockOf(zone).at(-1)?.tokens ?? [];
    const [first, last] = [before[0], before.at(-1)];
    if (open === undefined || close === undefined) return;
    const isNear = first?.file === open.file && last?.file === open.file;
    if (first === undefined || last === undefined || !isNear) {
      replace(close, close.start, close.start, `${statement} `);
      return;
    }
    const indent = indentationAt(textOf(first), first.start);
    const [rest] = /^[ \t]*(?:(?:#|\/\/).*)?\r?\n/.exec(textOf(last).slice(last.end)) ?? [];
    const position = last.end + (rest?.length ?? 0);
    if (indent === undefined || rest === undefined)
      replace(last, last.end, last.end, ` ${statement}`);
    else replace(last, position, position, `${indent}${statement}\n`);
  };

  const own = aclStatements.find((each) =>
    /^tsigil-(?:transfer|update)(?:-|$)/i.test(wordsOf(each)[1] ?? ''),
  );
  if (own !== undefined)
    throw new KeyFileError(at(own.origin), `this list has the name of a list of '${move.file}'`);

  const scopes = top.flatMap((each) =>
    nameOf(each) === 'view' ? [each, ...blockOf(each)] : [each],
  );
  const clauses = scopes.filter(
    (each) => nameOf(each) === 'key' && move.keys.has(nameForm(wordsOf(each)[1] ?? '')),
  );
  const included = `include ${quoted(move.file)};`;
  const [place] = clauses.filter((each) => top.includes(each)).map(endsOf);
  if (place === undefined) edits.push({ file: path, start: 0, end: 0, text: `${included}\n` });
  else {
    const [first, last] = place;
    const isFirst = indentationAt(textOf(first), first.start) !== undefined;
    replace(first, first.start, last.end, isFirst ? included : `\n${included}`);
  }
  for (const clause of clauses) if (clause.tokens[0] !== place?.[0]) remove(clause);

  const leavers = new Map(
    [...usesOf(top, zones, aclStatements)].map(([list, uses]): [Statement, IsKey] => [
      list,
      (key) => uses.every((use) => use !== OTHER && moves(key, use.right, use.zone)),
    ]),
  );
  const named = namedIn(aclStatements);
  for (const { name, statement: zone, lists } of zones)
    for (const right of RIGHTS) {
      const list = lists[right];
      if (list === undefined || !moving.has(`${right} ${name}`)) continue;
      const leaving = leavingFrom(named, leavers, (key) => moves(key, right, name));
      const names = [listName(right), listName(right, name)].map(quoted);
      if (blockOf(zone).includes(list)) edit(list, names, leaving);
      else
        add(zone, `allow-${right} ${textOfBlock([...names, ...textsOf(blockOf(list), leaving)])};`);
    }
  for (const [list, isKey] of leavers) edit(list, [], { isKey, elementsOf: NAMES_STAY });
  return edits;
};

function nameOf(statement: Statement): string | undefined {
  return wordsOf(statement)[0]?.toLowerCase();
}

function isInFile(statement: Statement, file: Origin['file']): boolean {
  return (
    statement.tokens.every((token) => token.file === file) &&
    blockOf(statement).every((each) => isInFile(each, file))
  );
}

function keyOf({ parts: [first, second] }: Statement): string | undefined {
  if (first === undefined || !('kind' in first) || first.text.toLowerCase() !== 'key')
    return undefined;
  return second !== undefined && 'kind' in second ? nameForm(second.text) : undefined;
}

/** Returns the elements of a list within a list that is not negated, or undefined. */
function innerOf({ parts: [first] }: Statement): readonly Statement[] | undefined {
  return first === undefined || 'kind' in first ? undefined : first;
}

/**
 * Returns what leaves a list of a zone: keys, also through named lists. If a named list keeps such a
 * key for another use, the zone gets its other elements instead of its name.
 */
function leavingFrom(
  named: ReadonlyMap<string, Statement>,
  leavers: ReadonlyMap<Statement, IsKey>,
  isKey: IsKey,
): Leaving {
  const keeps = (list: Statement, elements: readonly Statement[]): boolean =>
    elements.some((element) => {
      const key = keyOf(element);
      if (key !== undefined) return isKey(key) && leavers.get(list)?.(key) !== true;
      const other = named.get(nameIn(element) ?? '');
      return (
        keeps(list, innerOf(element) ?? []) || (other !== undefined && keeps(other, blockOf(other)))
      );
    });
  const leaving: Leaving = {
    isKey,
    elementsOf(name) {
      const list = named.get(name);
      if (list === undefined || !keeps(list, blockOf(list))) return undefined;
      return textsOf(blockOf(list), leaving);
    },
  };
  return leaving;
}

function namedIn(aclStatements: readonly Statement[]): ReadonlyMap<string, Statement> {
  return new Map(aclStatements.map((each) => [(wordsOf(each)[1] ?? '').toLowerCase(), each]));
}

/** Returns the name of the list that an element permits, or undefined. */
function nameIn({ parts: [first, ...others] }: Statement): string | undefined {
  return first !== undefined && 'kind' in first && others.length === 0
    ? first.text.toLowerCase()
    : undefined;
}

interface Without {
  readonly removedElements: readonly Statement[];
  readonly replacements: readonly (readonly [element: Statement, text: string])[];
  readonly isEmpty: boolean;
}

function without(elements: readonly Statement[], leaving: Leaving = NOTHING): Without {
  const parts = elements.map((element): Without => {
    const gone = { removedElements: [element], replacements: [], isEmpty: true };
    const key = keyOf(element);
    if (key !== undefined && leaving.isKey(key)) return gone;
    const instead = leaving.elementsOf(nameIn(element) ?? '');
    if (instead?.length === 0) return gone;
    if (instead !== undefined)
      return {
        removedElements: [],
        replacements: [[element, textOfBlock(instead)]],
        isEmpty: false,
      };
    const inner = without(innerOf(element) ?? [], leaving);
    return inner.removedElements.length > 0 && inner.isEmpty ? gone : { ...inner, isEmpty: false };
  });
  return {
    removedElements: parts.flatMap(({ removedElements }) => removedElements),
    replacements: parts.flatMap(({ replacements }) => replacements),
    isEmpty: parts.every(({ isEmpty }) => isEmpty),
  };
}

function textsOf(elements: readonly Statement[], leaving?: Leaving): string[] {
  return elements.flatMap((element) => {
    const { removedElements, replacements } = without([element], leaving);
    if (removedElements.includes(element)) return [];
    const [instead] = replacements;
    if (instead?.[0] === element) return [instead[1]];
    // What a negated list names stays in it.
    const within = innerOf(element) === undefined ? undefined : leaving;
    const texts = element.parts.map((part) => {
      if (!('kind' in part)) return textOfBlock(textsOf(part, within));
      return part.kind === 'quoted' ? `"${part.text.replaceAll('"', '\\"')}"` : part.text;
    });
    return [texts.join(' ')];
  });
}

function textOfBlock(texts: readonly string[]): string {
  return `{ ${texts.map((text) => `${text}; `).join('')}}`;
}

/** A use of a list for something else than the rights in known zones. */
const OTHER = Symbol('other');

type Use = typeof OTHER | { readonly zone: string; readonly right: Right };

/** Returns for what each list outside of zones, and each named list, is used. */
function usesOf(
  top: readonly Statement[],
  zones: readonly DecidedZone[],
  aclStatements: readonly Statement[],
): ReadonlyMap<Statement, readonly Use[]> {
  const decided = new Map<Statement, Use[]>();
  const found = new Map<Statement, Use[]>();
  for (const { name, statement, lists } of zones)
    for (const right of RIGHTS) {
      const list = lists[right];
      if (list === undefined) continue;
      const uses = decided.get(list) ?? [];
      uses.push({ zone: name, right });
      decided.set(list, uses);
      if (!blockOf(statement).includes(list)) found.set(list, uses);
    }
  const named = namedIn(aclStatements);
  const mark = (element: Statement, uses: readonly Use[], within: readonly Statement[] = []) => {
    for (const word of wordsOf(element)) {
      const acl = named.get(word.replace(/^!/, '').toLowerCase());
      if (acl === undefined || within.includes(acl)) continue;
      const known = found.get(acl) ?? [];
      for (const use of uses) known.push(use);
      found.set(acl, known);
      for (const each of blockOf(acl)) mark(each, uses, [...within, acl]);
    }
    for (const each of blockOf(element)) mark(each, uses, within);
  };
  const visit = (statement: Statement) => {
    if (nameOf(statement) === 'acl') return;
    const uses = decided.get(statement);
    if (uses === undefined)
      mark({ ...statement, parts: statement.parts.filter((part) => 'kind' in part) }, [OTHER]);
    for (const each of blockOf(statement))
      if (uses === undefined) visit(each);
      else mark(each, uses);
  };
  for (const each of top) visit(each);
  return found;
}
