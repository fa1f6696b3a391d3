import { randomBytes } from 'node:crypto';
import { listsOf, RIGHTS, type DesiredState } from '../domain/delivery/desired-state.ts';
import type { Key } from '../domain/key-formats/key.ts';
import { OWN_KEYS } from '../domain/key-formats/own-keys.ts';
import { comparisonForm } from '../domain/text/dns-name.ts';
import type { AccessLists } from './file-server.ts';

/** The file that BIND includes: keys and named access lists. */

/**
 * Which access lists for single zones the file contains: all, only lists for transfers, or only
 * lists with keys. Lists from the former file always stay.
 */
export const ZONE_LISTS = ['all', 'transfer', 'keys'] as const;

/**
 * The marker key: a key with a random secret, in no access list. Its name has the stamp of the
 * delivery, so it shows which content BIND has loaded. BIND 9.18 lists no keys after the first node of
 * its tree that is not a key itself, such as `0` if the keys are `x.0` and `y.0`. The hyphen sorts
 * this name before all nodes.
 */
export const MARKER = /^key "(-tsigil-[0-9a-f]{16})".*\n/m;

/** Returns the line with the marker key of a stamp. */
export function marker(stamp: string): string {
  const secret = randomBytes(32).toString('base64');
  return clause({ name: `${OWN_KEYS.bind}${stamp}`, algorithm: 'hmac-sha256', secret });
}

/** Returns the access lists in the content of a file. */
export function listsIn(content: string): AccessLists {
  const lists = content.matchAll(/^acl "(tsigil-[a-z0-9._-]+)" \{(.*)\};$/gm);
  return new Map(
    [...lists].map(([, name = '', elements = '']) => [
      name,
      [...elements.matchAll(/key "([^"]+)"/g)].map(([, key = '']) => comparisonForm(key)),
    ]),
  );
}

/**
 * Returns the keys and access lists. A list without keys is `none`. A list stays in the file after
 * its zone is deleted. BIND does not start if a zone names a missing list. BIND compares each list
 * with all others, and searches the lists one by one. The most used lists therefore come first:
 * lists for all zones, lists with keys, and lists for transfers.
 */
export function* render(
  { zones, keys }: DesiredState,
  others: readonly Key[],
  present: AccessLists,
  zoneLists: (typeof ZONE_LISTS)[number],
): Iterable<string> {
  const lists = new Map<string, string[]>();
  const membersOf = (name: string): string[] => {
    const members = lists.get(name) ?? [];
    lists.set(name, members);
    return members;
  };
  for (const name of listsOf({ rights: RIGHTS, zones: 'all' })) membersOf(name);
  const always = { all: RIGHTS, transfer: ['transfer'] as const, keys: [] }[zoneLists];
  const named = [...zones, ...keys.flatMap((key) => (key.zones === 'all' ? [] : key.zones))];
  for (const name of listsOf({ rights: always, zones: named })) membersOf(name);
  for (const key of keys) {
    for (const name of listsOf(key)) membersOf(name).push(key.name);
    yield clause(key);
  }
  for (const other of others) yield clause(other);
  const kept = new Set(others.map(({ name }) => name));
  for (const [name, members] of present)
    membersOf(name).push(...members.filter((member) => kept.has(member)));
  const all = [...lists];
  const [shared, further] = [all.slice(0, RIGHTS.length), all.slice(RIGHTS.length)];
  const used = further.filter(([, members]) => members.length > 0);
  const unused = further.filter(([, members]) => members.length === 0);
  for (const [name, members] of [...shared, ...used, ...unused]) {
    const elements = members.map((key) => `key "${key}";`);
    yield `acl "${name}" { ${elements.length === 0 ? 'none;' : elements.join(' ')} };\n`;
  }
}

function clause({ name, algorithm, secret }: Key): string {
  return `key "${name}" { algorithm ${algorithm}; secret "${secret}"; };\n`;
}
