import { nameForm } from '../../core/text/dns-name.ts';
import type { Finding, Reference, Role, ZoneAccess } from '../../access/access.ts';
import {
  blockOf,
  matchListOf,
  named,
  wordsOf,
  type FindList,
  type Statement,
} from './access-lists.ts';
import type { PlaceOf } from '../../access/places.ts';
import { openRulesOf } from './access-policy.ts';

/** The statements that use keys for something besides the rights of grants. */
const ROLES: Readonly<Record<string, Role | undefined>> = {
  ...Object.fromEntries(
    ['', '-cache', '-cache-on', '-on'].map((end) => [`allow-query${end}`, 'query']),
  ),
  'allow-recursion': 'query',
  'allow-recursion-on': 'query',
  'allow-notify': 'notify',
  'match-clients': 'view',
  ...Object.fromEntries(
    [
      'also-notify',
      'default-masters',
      'default-primaries',
      'masters',
      'parental-agents',
      'primaries',
      'remote-servers',
      'server',
    ].map((name) => [name, 'requester']),
  ),
};

export function referencesIn(
  statements: readonly Statement[],
  find: FindList,
  at: PlaceOf,
  zone?: string,
): Reference[] {
  return statements.flatMap((statement): Reference[] => {
    const [first = '', second = ''] = wordsOf(statement);
    const name = first.toLowerCase();
    const role = Object.hasOwn(ROLES, name) ? ROLES[name] : undefined;
    if (role === undefined) {
      const below = name === 'zone' ? nameForm(second) : zone;
      return ['acl', 'key'].includes(name) ? [] : referencesIn(blockOf(statement), find, at, below);
    }
    const keys =
      role === 'requester' ? signersIn(statement) : matchListOf(blockOf(statement), find).keys;
    const place = at(statement.origin);
    return keys.map((key) => ({ key, role, place, ...(zone === undefined ? {} : { zone }) }));
  });
}

/** Returns the keys in `ADDRESS key NAME;` and in `keys NAME;` or `keys { NAME; };`. */
function signersIn(statement: Statement): string[] {
  return blockOf(statement).flatMap((each) => {
    const words = wordsOf(each);
    const inBlock = /^keys$/i.test(words[0] ?? '') ? blockOf(each).flatMap(wordsOf) : [];
    const after = words.flatMap((word, index) => (/^keys?$/i.test(word) ? words[index + 1] : []));
    const names = [...inBlock, ...after].flatMap((name) => name ?? []);
    return [...names.map(nameForm), ...signersIn(each)];
  });
}

/** BIND ignores a key in a list that is not in `defined`. */
export function undefinedKeys(
  definedNames: ReadonlySet<string>,
  zones: readonly ZoneAccess[],
  references: readonly Reference[],
): Finding[] {
  const used = new Map<string, string>();
  const lists = zones.flatMap(({ lists: { transfer, update } }) => [transfer, update]);
  for (const list of new Set(lists))
    for (const key of list?.keys ?? []) if (!used.has(key)) used.set(key, list?.place ?? '');
  for (const { key, place } of references) if (!used.has(key)) used.set(key, place);
  return [...used].flatMap(([key, place]) =>
    definedNames.has(key)
      ? []
      : [{ kind: 'undefined_key', place, text: `The key '${key}' is used here, but not defined` }],
  );
}

function everywhere(statements: readonly Statement[], name: string): Statement[] {
  const below = statements.flatMap((each) => everywhere(blockOf(each), name));
  return [...named(statements, name), ...below];
}

export function openPolicies(top: readonly Statement[], at: PlaceOf): Finding[] {
  return everywhere(top, 'update-policy').flatMap((policy) =>
    openRulesOf(policy).map((rule) => ({
      kind: 'every_key',
      place: at(policy.origin),
      text: `'${rule}' permits updates to every key with a matching name, also to keys added later`,
    })),
  );
}

/** Zones may exist that are not in the configuration. */
export function otherZones(top: readonly Statement[], at: PlaceOf): Finding[] {
  const adding = everywhere(top, 'allow-new-zones').filter((each) =>
    /^(?:1|true|yes)$/i.test(wordsOf(each)[1] ?? ''),
  );
  const loading = ['dlz', 'dyndb']
    .flatMap((name) => everywhere(top, name))
    .filter((each) => blockOf(each).length > 0);
  return [...adding, ...everywhere(top, 'catalog-zones'), ...loading].map((statement) => ({
    kind: 'other_zones',
    place: at(statement.origin),
    text: `'${wordsOf(statement)[0] ?? ''}' adds zones that are not in this file: those not listed here were not read, so no key gets rights there`,
  }));
}
