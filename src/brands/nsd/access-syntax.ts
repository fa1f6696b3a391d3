import {
  NSD_SECTIONS,
  type NsdAttribute,
  type NsdEntry,
  type NsdSpan,
} from '../../formats/read-nsd.ts';
import { KeyFileError } from '../../formats/reader.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import { isMisspelt } from '../../core/text/suggestion.ts';
import { unknownWord } from '../../access/unknown-word.ts';

/** The attributes that decide about rights. No other attribute is similar to one or to a section. */
const DECIDING = [
  ...['catalog:', 'include-pattern:', 'interface:', 'ip-address:', 'name:', 'provide-xfr:'],
  ...['tls-auth-xfr-only:', 'do-ip4:', 'do-ip6:'],
];

const WORDS = [...NSD_SECTIONS, ...DECIDING];

/** Attributes and sections that a missing blank or colon makes a value of what is before them. */
const STARTS = /^(?:include-pattern|pattern|provide-xfr|tls-auth-xfr-only|zone)(?::|$)/i;

/** The attributes with the name of a key, which may be any word. */
const NAMING = /^(?:allow-notify|notify|provide-xfr|request-xfr):$/;

const SWITCHES = ['tls-auth-xfr-only:', 'do-ip4:', 'do-ip6:'];

/**
 * Checks that nothing vanishes that decides about rights. Throws `KeyFileError` for what NSD refuses
 * too.
 */
export function checkNsdEntries(entries: readonly NsdEntry[]): void {
  const seen = new Set<string>();
  for (const entry of entries) {
    for (const attribute of entry.attributes) checkAttribute(attribute);
    const { section, attributes } = entry;
    if (section !== 'zone:' && section !== 'pattern:') continue;
    const name = attributes.findLast((each) => each.name === 'name:')?.values[0] ?? '';
    if (name === '') throw new KeyFileError(entry, `this \`${section}\` has no name`);
    const id = `${section} ${section === 'zone:' ? nameForm(name) : name}`;
    if (seen.has(id))
      throw new KeyFileError(entry, `a \`${section}\` with this name is here already`);
    seen.add(id);
  }
}

/** Returns the index of the key in the values of an attribute that names one. */
export function keyIndex([first = '']: readonly string[]): number {
  return /^(?:axfr|udp)$/i.test(first) ? 2 : 1;
}

function checkAttribute({ name, values, spans, ...origin }: NsdAttribute): void {
  if (isMisspelt(name, WORDS)) throw unknownWord(origin, 'attribute', name);
  if (SWITCHES.includes(name) && !/^(?:yes|no)$/i.test(values[0] ?? ''))
    throw new KeyFileError(origin, `\`${name}\` must be yes or no`);
  if (NAMING.test(name) && values[keyIndex(values)] === undefined)
    throw new KeyFileError(origin, `\`${name}\` lacks the name of a key, \`NOKEY\` or \`BLOCKED\``);
  if (name === 'verifier:') return; // a command with its arguments
  const isQuoted = ({ start, end }: NsdSpan, value: string) => end - start > value.length;
  const lost = spans.find((span, index) => {
    const value = values[index] ?? '';
    const isOwn = index === 0 || (NAMING.test(name) && index <= 2);
    return !isOwn && STARTS.test(value) && !isQuoted(span, value);
  });
  if (lost !== undefined) throw new KeyFileError(lost, 'a blank or a colon is missing here');
}
