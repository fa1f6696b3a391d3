import { comparisonForm } from '../text/dns-name.ts';
import type { AccessList } from './access.ts';
import { blockOf, textOfStatement, wordsOf, type Statement } from './bind-lists.ts';

/** The kinds of rules whose identity is not the name of a key. */
const WITHOUT_KEY = /^(?:krb5|ms)-|^(?:tcp|6to4)-self$|^external$/;

const LIMITED = '`update-policy` limits this key to certain names or types';
const EVERY_KEY = '`update-policy` grants this to every key with a matching name';

/**
 * Returns the list for the rules of `update-policy`. A grant expresses only a rule for all names
 * and types, and no rule that matches several keys, because such a rule also grants later keys.
 */
export function policyOf(
  policy: Statement,
  zone: string,
  place: string,
  defined: readonly string[],
): AccessList {
  const rules = blockOf(policy).map(wordsOf).map(ruleOf);
  const identities = rules.flatMap(({ identity }) => identity ?? []);
  const matching = defined.filter((key) => rules.some((rule) => rule.matches(key)));
  const keys = [...new Set([...matching, ...identities])];
  const inexpressible = new Map<string, string>();
  for (const key of keys) {
    const own = rules.filter((rule) => rule.matches(key));
    const whole = own.find((rule) => !rule.grants || rule.isWhole(zone));
    if (whole?.grants !== true) inexpressible.set(key, LIMITED);
    else if (whole.isWildcard) inexpressible.set(key, EVERY_KEY);
  }
  const granted = new Set(
    keys.filter((key) => rules.some((rule) => rule.grants && rule.matches(key))),
  );
  return {
    ranges: [],
    keys,
    place,
    inexpressible,
    permits: ({ key }) => key !== undefined && granted.has(key),
  };
}

/** Returns the rules that grant something to every key whose name matches, as text. */
export function openRulesOf(policy: Statement): string[] {
  return blockOf(policy).flatMap((statement) => {
    const { grants, isWildcard } = ruleOf(wordsOf(statement));
    return grants && isWildcard ? [textOfStatement(statement)] : [];
  });
}

interface Rule {
  readonly grants: boolean;
  /** The name of a key in comparison form, or undefined for a rule without a key. */
  readonly identity: string | undefined;
  readonly isWildcard: boolean;
  matches(key: string): boolean;
  isWhole(zone: string): boolean;
}

function ruleOf([action = '', identity = '', kind = '', ...rest]: readonly string[]): Rule {
  const name = comparisonForm(identity);
  const type = kind.toLowerCase();
  const hasKey = !WITHOUT_KEY.test(type);
  const isWildcard = hasKey && (name === '*' || name.startsWith('*.'));
  return {
    grants: action.toLowerCase() === 'grant',
    identity: hasKey && !isWildcard ? name : undefined,
    isWildcard,
    matches: (key) => hasKey && (isWildcard ? key.endsWith(name.slice(1)) : key === name),
    isWhole(zone) {
      const [first = '', second = ''] = rest.map((word) => word.toLowerCase());
      return type === 'zonesub'
        ? rest.length === 1 && first === 'any'
        : type === 'subdomain' &&
            rest.length === 2 &&
            comparisonForm(first) === zone &&
            second === 'any';
    },
  };
}
