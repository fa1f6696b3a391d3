import type { KnotEntry } from '../key-formats/read-knot.ts';
import { KeyFileError, type Origin } from '../key-formats/reader.ts';
import { nameForm } from '../text/dns-name.ts';
import { isMisspelt } from '../text/suggestion.ts';
import { unknownWord } from './unknown-word.ts';

/** The sections of every version since Knot DNS 2.0, besides those of its modules. */
const SECTIONS = [
  ...['acl', 'clear', 'control', 'database', 'dnskey-sync', 'external', 'include', 'key'],
  ...['keystore', 'log', 'module', 'policy', 'remote', 'remotes', 'server', 'statistics'],
  ...['submission', 'template', 'xdp', 'zone'],
];

/** The items that decide about rights, by section. An acl with any other item gives no grants. */
const DECIDING: Readonly<Record<string, readonly string[]>> = {
  remote: ['address', 'automatic-acl', 'key'],
  remotes: ['remote'],
  server: ['automatic-acl', 'listen'],
  template: ['acl', 'notify'],
  zone: ['acl', 'domain', 'notify', 'template'],
};

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
 * too.
 */
export function checkEntries(entries: readonly KnotEntry[]): void {
  const ids = new Set<string>();
  for (const entry of entries) {
    const { section, items } = entry;
    const deciding = DECIDING[section] ?? [];
    for (const [item, { origin, values }] of items) {
      if (isMisspelt(item, deciding)) throw unknownWord(origin, 'item', item);
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
