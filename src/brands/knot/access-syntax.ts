import type { KnotEntry } from '../../formats/read-knot.ts';
import { KeyFileError, type Origin } from '../../formats/reader.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import { isMisspelt } from '../../core/text/suggestion.ts';
import { unknownWord } from '../../access/unknown-word.ts';

/** The sections of every version since Knot DNS 2.0, besides those of its modules. */
const SECTIONS = [
  ...['acl', 'clear', 'control', 'database', 'dnskey-sync', 'external', 'include', 'key'],
  ...['keystore', 'log', 'module', 'policy', 'remote', 'remotes', 'server', 'statistics'],
  ...['submission', 'template', 'xdp', 'zone'],
];

/** All items of these sections, of every version. */
const ITEMS: Readonly<Record<string, readonly string[]>> = {
  acl: [
    ...['id', 'comment', 'address', 'key', 'cert-key', 'cert-hostname', 'remote', 'action', 'deny'],
    ...['protocol', 'update-type', 'update-owner', 'update-owner-match', 'update-owner-name'],
  ],
  key: ['id', 'comment', 'algorithm', 'secret'],
};

/** The items that decide about rights in the other sections. */
const DECIDING: Readonly<Record<string, readonly string[]>> = {
  remote: ['address', 'automatic-acl', 'key'],
  remotes: ['remote'],
  server: ['automatic-acl', 'listen'],
  template: ['acl', 'notify'],
  zone: ['acl', 'domain', 'notify', 'template'],
};

const ACTIONS = ['query', 'notify', 'transfer', 'update'];
const SWITCHES = ['automatic-acl', 'deny'];
const SWITCH = /^(?:on|off|true|false|)$/i;

/** Checks a line outside of all sections, which must begin one. Throws `KeyFileError`. */
export function checkSection(origin: Origin, section?: string): void {
  if (section === undefined)
    throw new KeyFileError(origin, 'this line belongs to no section, such as `zone:`');
  if (!SECTIONS.includes(section) && !section.startsWith('mod-'))
    throw unknownWord(origin, 'section', section);
}

/**
 * Checks that no item vanishes that decides about rights. Throws `KeyFileError` for what knotd refuses
 * too. A file that could not be read may define the templates of zones.
 */
export function checkEntries(entries: readonly KnotEntry[], isComplete: boolean): void {
  const ids = new Set<string>();
  for (const entry of entries) {
    const { section, items } = entry;
    const deciding = DECIDING[section] ?? [];
    for (const [item, { origin, values }] of items) {
      if (ITEMS[section]?.includes(item) === false || isMisspelt(item, deciding))
        throw unknownWord(origin, 'item', item);
      if (item === 'action' && !values.every((each) => ACTIONS.includes(each.toLowerCase())))
        throw new KeyFileError(origin, '`action` must be query, notify, transfer or update');
      if (item === 'template' && isComplete && !ids.has(`template ${values.at(-1)}`))
        throw new KeyFileError(origin, 'this template is not defined above');
      if (SWITCHES.includes(item) && !values.every((each) => SWITCH.test(each)))
        throw new KeyFileError(origin, `\`${item}\` must be on or off`);
    }
    const own = items.get(section === 'zone' ? 'domain' : 'id')?.values[0];
    // The import itself reports keys that are defined twice.
    if (own === undefined || section === 'key') continue;
    const id = `${section} ${section === 'zone' ? nameForm(own) : own}`;
    if (ids.has(id)) throw new KeyFileError(entry, `this entry of \`${section}\` is here already`);
    ids.add(id);
  }
}
