import { randomBytes } from 'node:crypto';
import {
  RIGHTS,
  type DesiredKey,
  type DesiredState,
  type Right,
} from '../domain/delivery/desired-state.ts';
import type { Key } from '../domain/key-formats/key.ts';

/** The file that BIND includes: keys and named access lists. */

/**
 * Which access lists for single zones the file contains: all, only lists for transfers, or only
 * lists with keys. Lists from the former file always stay.
 */
export const ZONE_LISTS = ['all', 'transfer', 'keys'] as const;

/**
 * The marker key: a key with a random secret, in no access list. Its name changes with the content
 * of the file, so it shows which content BIND has loaded. The name begins with a digit, so that
 * BIND lists it first.
 */
export const MARKER = /^key "(0-tsigil-[0-9a-f]{16})".*\n/m;

/**
 * Returns the content with a marker key. Reuses the marker key of `former` if nothing else differs.
 */
export function mark(content: string, former: string): string {
  const [line = ''] = MARKER.exec(former) ?? [];
  if (former.endsWith(`\n${line}${content}`) && line !== '') return `${line}${content}`;
  const name = `0-tsigil-${randomBytes(8).toString('hex')}`;
  const secret = randomBytes(32).toString('base64');
  return `${clause({ name, algorithm: 'hmac-sha256', secret })}${content}`;
}

/**
 * Returns the keys and access lists. A list without keys is `none`. A list stays in the file after
 * its zone is deleted. BIND does not start if a zone names a missing list. BIND compares each list
 * with all others, and searches the lists one by one. The most used lists therefore come first:
 * lists for all zones, lists with keys, and lists for transfers.
 */
export function* render(
  { zones, keys }: DesiredState,
  former: string,
  zoneLists: (typeof ZONE_LISTS)[number],
): Iterable<string> {
  const lists = new Map<string, DesiredKey[]>();
  const listOf = (right: Right, zone?: string): DesiredKey[] => {
    const name = zone === undefined ? `tsigil-${right}` : `tsigil-${right}-${zone}`;
    const members = lists.get(name) ?? [];
    lists.set(name, members);
    return members;
  };
  for (const right of RIGHTS) listOf(right);
  const always = { all: RIGHTS, transfer: ['transfer'] as const, keys: [] }[zoneLists];
  const named = [...zones, ...keys.flatMap((key) => (key.zones === 'all' ? [] : key.zones))];
  for (const right of always) for (const zone of named) listOf(right, zone);
  for (const key of keys) {
    for (const right of key.rights)
      for (const zone of key.zones === 'all' ? [undefined] : key.zones)
        listOf(right, zone).push(key);
    yield clause(key);
  }
  for (const [, name = ''] of former.matchAll(/^acl "(tsigil-[a-z0-9._-]+)"/gm))
    if (!lists.has(name)) lists.set(name, []);
  const all = [...lists];
  const [shared, others] = [all.slice(0, RIGHTS.length), all.slice(RIGHTS.length)];
  const used = others.filter(([, members]) => members.length > 0);
  const unused = others.filter(([, members]) => members.length === 0);
  for (const [name, members] of [...shared, ...used, ...unused]) {
    const elements = members.map((key) => `key "${key.name}";`);
    yield `acl "${name}" { ${elements.length === 0 ? 'none;' : elements.join(' ')} };\n`;
  }
}

function clause({ name, algorithm, secret }: Key): string {
  return `key "${name}" { algorithm ${algorithm}; secret "${secret}"; };\n`;
}
