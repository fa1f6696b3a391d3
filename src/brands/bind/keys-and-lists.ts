import { randomBytes } from 'node:crypto';
import { bind, bindClause, bindList } from './brand.ts';
import { RIGHTS, type Right } from '../../access/rights.ts';
import type { AccessLists } from '../desired-state.ts';
import type { Key } from '../../formats/key.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import type { StampForm } from '../file-server.ts';

/**
 * The rights for which the file has an access list for each zone, for each value of the option. Lists
 * with keys and lists from the former file are always in it.
 */
export const ZONE_LISTS = {
  all: RIGHTS,
  transfer: ['transfer'],
  keys: [],
} satisfies Record<string, readonly Right[]>;

/**
 * The marker key: a key with a random secret, in no access list. Its name has the stamp of the
 * delivery, so it shows which content BIND has loaded. BIND 9.18 lists no keys after the first node of
 * its tree that is not a key itself, such as `0` if the keys are `x.0` and `y.0`. The hyphen sorts
 * this name before all nodes.
 */
export const MARKER: StampForm = {
  pattern: /^key "-tsigil-([0-9a-f]{16})" \{\n(?:\t.*\n)*\};\n/m,
  write: (stamp) =>
    bindClause({
      name: `${bind.ownKeys}${stamp}`,
      algorithm: 'hmac-sha256',
      secret: randomBytes(32).toString('base64'),
    }),
};

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
 * Returns the keys and access lists. BIND compares each list with all others, and searches the lists
 * one by one. The most used lists therefore come first: lists for all zones, which come first in
 * `lists`, lists with keys, and lists without.
 */
export function* render(keys: readonly Key[], lists: AccessLists): Iterable<string> {
  for (const key of keys) yield bindClause(key);
  const all = [...lists];
  const [shared, further] = [all.slice(0, RIGHTS.length), all.slice(RIGHTS.length)];
  const used = further.filter(([, members]) => members.length > 0);
  const unused = further.filter(([, members]) => members.length === 0);
  for (const [name, members] of [...shared, ...used, ...unused]) yield bindList(name, members);
}
