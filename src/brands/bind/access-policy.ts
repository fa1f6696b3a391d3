import { nameForm } from '../../core/text/dns-name.ts';
import type { AccessList } from '../../access/access.ts';
import { blockOf, textOfStatement, wordsOf, type Statement } from './access-lists.ts';

/** The kinds of rules whose identity is not the name of a key. */
const WITHOUT_KEY = /^(?:krb5|ms)-|^(?:tcp|6to4)-self$|^external$/;

/** Those of them that decide about any request, by its address or by another program. */
const OF_ANY_REQUEST = /^(?:tcp|6to4)-self$|^external$/;

const LIMITED = '`update-policy` limits this key to certain names or types';
const EVERY_KEY = '`update-policy` grants this to every key with a matching name';

/**
 * Returns the list for the rules of `update-policy`, of which the first that matches decides. A
 * grant expresses only a rule for all names and types, and no rule that matches several keys,
 * because such a rule also grants later keys.
 */
export function policyOf(
  policy: Statement,
  zone: string,
  place: string,
  definedKeys: readonly string[],
): AccessList {
  const rules = blockOf(policy).map((statement) => ruleOf(wordsOf(statement), zone));
  const identities = rules.flatMap(({ identity }) => identity ?? []);
  const matching = definedKeys.filter((key) => rules.some((rule) => rule.matches(key)));
  const keys = [...new Set([...matching, ...identities])];
  const inexpressible = new Map<string, string>();
  const granted = new Set<string>();
  for (const key of keys) {
    const effective = effectiveOf(rules, key);
    if (!effective.some(({ grants }) => grants)) continue;
    granted.add(key);
    const whole = effective.find((rule) => !rule.grants || rule.isWhole);
    if (whole?.grants !== true) inexpressible.set(key, LIMITED);
    else if (whole.isWildcard) inexpressible.set(key, EVERY_KEY);
  }
  return {
    ranges: [],
    keys,
    place,
    inexpressible,
    permits: ({ key }) => key !== undefined && granted.has(key),
  };
}

/** Returns the rules that decide about requests with a key: an earlier rule may cover a later one. */
function effectiveOf(rules: readonly Rule[], key: string): Rule[] {
  const effective: Rule[] = [];
  // A rule covers only those about the same names, unless it is about many.
  const broad: Rule[] = [];
  const byNames = new Map<string, Rule[]>();
  for (const rule of rules) {
    const { names } = rule;
    const id = `${names.kind} ${names.name}`;
    const same = byNames.get(id) ?? [];
    const decides = rule.matches(key) || (rule.isOfAnyRequest && !rule.grants);
    if (!decides || [...broad, ...same].some((earlier) => earlier.covers(rule))) continue;
    effective.push(rule);
    if (names.isAll || names.kind === 'subdomain') broad.push(rule);
    byNames.set(id, [...same, rule]);
    if (rule.isWhole && rule.matches(key)) break; // nothing is left for later rules
  }
  return effective;
}

/** Returns the rules that grant something to every key whose name matches, as text. */
export function openRulesOf(policy: Statement): string[] {
  return blockOf(policy).flatMap((statement) => {
    const { grants, isWildcard } = ruleOf(wordsOf(statement), '');
    return grants && isWildcard ? [textOfStatement(statement)] : [];
  });
}

interface Rule {
  readonly grants: boolean;
  /** The name of a key in comparison form, or undefined for a rule without a key. */
  readonly identity: string | undefined;
  readonly isWildcard: boolean;
  readonly isOfAnyRequest: boolean;
  /** Whether the rule is about all names and types of the zone. */
  readonly isWhole: boolean;
  readonly names: Names;
  /** In lower case, without limits of their number. Without types, all but those of the zone. */
  readonly types: readonly string[];
  matches(key: string): boolean;
  /** Returns whether the rule decides about every request that a later rule matches. */
  covers(later: Rule): boolean;
}

/** The names that a rule is about: all of the zone, those at or below one, or others. */
interface Names {
  readonly kind: string;
  readonly name: string;
  readonly isAll: boolean;
}

function ruleOf(
  [action = '', identity = '', kind = '', ...rest]: readonly string[],
  zone: string,
): Rule {
  const own = nameForm(identity);
  const type = kind.toLowerCase();
  const hasKey = !WITHOUT_KEY.test(type);
  const isWildcard = hasKey && (own === '*' || own.startsWith('*.'));
  const [first = '', ...others] = rest;
  const names = namesOf(type, nameForm(first), zone);
  const words = (type === 'zonesub' ? rest : others).map((each) => each.toLowerCase());
  // A limit such as `PTR(1)` is about the number of records.
  const types = words.map((each) => each.replace(/\(.*$/, ''));
  return {
    grants: action.toLowerCase() === 'grant',
    identity: hasKey && !isWildcard ? own : undefined,
    isWildcard,
    isOfAnyRequest: OF_ANY_REQUEST.test(type),
    isWhole: names.isAll && words.includes('any'),
    names,
    types,
    matches: (key) => hasKey && (isWildcard ? key.endsWith(own.slice(1)) : key === own),
    covers: (later) => hasKey && coversNames(names, later.names) && coversTypes(types, later.types),
  };
}

function namesOf(kind: string, name: string, zone: string): Names {
  const isAll =
    kind === 'zonesub' ||
    (kind === 'subdomain' && isWithin(zone, name)) ||
    (kind === 'wildcard' && name.startsWith('*') && isBelow(zone, name.slice(2)));
  return { kind, name, isAll };
}

/** Whether the names of a rule contain those of another one. The names of `self` are of each key. */
function coversNames(names: Names, later: Names): boolean {
  if (names.isAll || (names.kind === later.kind && names.name === later.name)) return true;
  const isFixed = ['name', 'subdomain', 'wildcard'].includes(later.kind);
  if (names.kind !== 'subdomain' || !isFixed) return false;
  return isWithin(later.name.replace(/^\*\.?/, ''), names.name);
}

/** The types that a rule without types is not about. */
const OF_ZONE = ['ns', 'soa', 'rrsig', 'nsec', 'nsec3'];

function coversTypes(types: readonly string[], later: readonly string[]): boolean {
  if (types.includes('any')) return true;
  if (later.length === 0) return types.length === 0;
  return later.every((type) =>
    types.length === 0 ? type !== 'any' && !OF_ZONE.includes(type) : types.includes(type),
  );
}

function isWithin(name: string, parent: string): boolean {
  return name === parent || isBelow(name, parent);
}

function isBelow(name: string, parent: string): boolean {
  return name !== parent && (parent === '' || name.endsWith(`.${parent}`));
}
