import { isIP } from 'node:net';
import {
  keyEntryOf,
  nsdEntries,
  type NsdAttribute,
  type NsdEntry,
} from '../../formats/read-nsd.ts';
import { KeyFileError, type ReadIncluded } from '../../formats/reader.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import { isMisspelt } from '../../core/text/suggestion.ts';
import {
  addressOf,
  contains,
  type AccessList,
  type Address,
  type Family,
  type Finding,
  type Range,
  type Reference,
  type Role,
  type ServerConfiguration,
  type ZoneAccess,
} from '../../access/access.ts';
import { checkNsdEntries, keyIndex } from './access-syntax.ts';
import { placesIn, type PlaceOf } from '../../access/places.ts';
import { familiesOf, readRange } from '../../access/ranges.ts';

/** A line `provide-xfr:`, which permits a key from addresses, or unsigned requests, or no one. */
interface Line {
  readonly ranges: readonly Range[];
  matches(address: Address): boolean;
  /** The name of a key in comparison form, or `NOKEY` or `BLOCKED`, as NSD spells them. */
  readonly who: string;
  /** What the line demands besides an address and a key. */
  readonly limit?: string;
}

/** The attributes that name a key but permit no transfer. Their keys are their last values. */
const ROLES: Readonly<Record<string, Role>> = {
  'request-xfr:': 'requester',
  'notify:': 'requester',
  'allow-notify:': 'notify',
};

const NO_KEYS = ['NOKEY', 'BLOCKED'];

/** What a person wrote instead of one of them, if no key has this name. */
const isMeant = (key: string) =>
  ['nokey', 'blocked'].includes(key.toLowerCase()) || isMisspelt(key, ['nokey', 'blocked']);

/** Reads a file with its included files, or `nsd-checkconf -v`. Throws `KeyFileError`. */
export function readNsdAccess(
  text: string,
  include?: ReadIncluded,
  path = 'nsd.conf',
): ServerConfiguration {
  const { placeOf, read, unread, hasEmptyInclude } = placesIn(path, include);
  const entries = nsdEntries(text, read);
  checkNsdEntries(entries);
  const sectionOf = (section: string) => entries.filter((each) => each.section === section);
  const keySections = sectionOf('key:');
  const keys = keySections.flatMap((entry) => {
    const read = keyEntryOf(entry);
    return 'key' in read ? [{ key: read.key, place: placeOf(entry) }] : [];
  });
  const families = listeningFamilies(sectionOf('server:'));
  return {
    keys,
    ...zonesIn(entries, placeOf),
    ...(families === undefined ? {} : { families }),
    references: entries.flatMap((entry) => referencesIn(entry, placeOf)),
    unread,
    isKeysOnly: !hasEmptyInclude() && keySections.length === entries.length,
  };
}

/** A pattern with the attributes of those that it includes, and their names. */
interface Pattern {
  readonly attributes: readonly NsdAttribute[];
  readonly names: readonly string[];
}

type Patterns = ReadonlyMap<string, Pattern>;

function zonesIn(
  entries: readonly NsdEntry[],
  placeOf: PlaceOf,
): Pick<ServerConfiguration, 'zones' | 'findings'> {
  const sectionOf = (section: string) => entries.filter((each) => each.section === section);
  // In its configuration, NSD compares the names of keys with their case and final dot.
  const keyNames = new Set(sectionOf('key:').map((entry) => valueOf(entry, 'name:')));
  const needsTls = sectionOf('server:').some((entry) =>
    /^yes$/i.test(valueOf(entry, 'tls-auth-xfr-only:')),
  );
  const zones: ZoneAccess[] = [];
  const findings: Finding[] = [];
  const patterns = new Map<string, Pattern>();
  const lists = new Map<string, AccessList>();
  for (const entry of entries) {
    if (entry.section !== 'zone:' && entry.section !== 'pattern:') continue;
    findings.push(...undefinedIn(entry, keyNames, patterns, placeOf));
    const { attributes, names } = withPatterns(entry, patterns);
    const name = valueOf(entry, 'name:');
    if (entry.section === 'pattern:') {
      patterns.set(name, { attributes, names });
      continue;
    }
    const role = attributes.findLast((each) => each.name === 'catalog:')?.values[0];
    if (role !== undefined && /^consumer$/i.test(role))
      findings.push({
        kind: 'catalog_zone',
        place: placeOf(entry),
        text: `the members of the catalog zone '${nameForm(name)}' are not in the configuration, so no key gets rights there`,
      });
    zones.push({
      name: nameForm(name),
      place: placeOf(entry),
      lists: { transfer: listOf(attributes, { lists, needsTls, placeOf }), update: undefined },
      named: names,
    });
  }
  return { zones, findings };
}

function undefinedIn(
  { attributes }: NsdEntry,
  keyNames: ReadonlySet<string>,
  patterns: Patterns,
  placeOf: PlaceOf,
): Finding[] {
  return attributes.flatMap(({ name, values, ...origin }): Finding[] => {
    const place = placeOf(origin);
    const key = keyOf(name, values);
    if (key !== undefined && !keyNames.has(key)) {
      if (name === 'provide-xfr:' && isMeant(key))
        throw new KeyFileError(origin, 'a line without a key must end with `BLOCKED` or `NOKEY`');
      return [{ kind: 'undefined_key', place, text: `the key '${key}' is defined nowhere` }];
    }
    const [pattern = ''] = values;
    if (name !== 'include-pattern:' || patterns.has(pattern)) return [];
    const text = `the pattern '${pattern}' is not defined above this line`;
    return [{ kind: 'undefined_pattern', place, text }];
  });
}

/**
 * Returns an entry with the attributes of the patterns that it includes. They are defined above it.
 * A missing one stays, as a doubt about the whole list.
 */
function withPatterns({ attributes }: NsdEntry, patterns: Patterns): Pattern {
  const included = attributes.flatMap(({ name, values: [pattern = ''] }) =>
    name === 'include-pattern:' ? [pattern] : [],
  );
  return {
    attributes: attributes.flatMap((each) =>
      each.name === 'include-pattern:'
        ? (patterns.get(each.values[0] ?? '')?.attributes ?? [each])
        : [each],
    ),
    names: included.flatMap((pattern) => [pattern, ...(patterns.get(pattern)?.names ?? [])]),
  };
}

interface Sources {
  /** The lists of other zones, by their lines. */
  readonly lists: Map<string, AccessList>;
  readonly needsTls: boolean;
  readonly placeOf: PlaceOf;
}

function listOf(
  attributes: readonly NsdAttribute[],
  { lists, needsTls, placeOf }: Sources,
): AccessList | undefined {
  const provided = attributes.filter(({ name }) => name === 'provide-xfr:');
  const [first] = provided;
  if (first === undefined) return undefined;
  const missing = attributes.find(({ name }) => name === 'include-pattern:')?.values[0];
  const id = JSON.stringify([missing, provided.map(({ values }) => values)]);
  const list =
    lists.get(id) ?? accessList(provided.map(lineOf), placeOf(first), { missing, needsTls });
  lists.set(id, list);
  return list;
}

function accessList(
  lines: readonly Line[],
  place: string,
  { missing, needsTls }: { missing: string | undefined; needsTls: boolean },
): AccessList {
  const keys = [...new Set(lines.flatMap(({ who }) => (NO_KEYS.includes(who) ? [] : [who])))];
  const inexpressible = new Map<string, string>();
  for (const { who, limit } of lines)
    if (limit !== undefined)
      for (const key of who === 'BLOCKED' ? keys : [who])
        inexpressible.set(key, `a line for this key has ${limit}`);
  for (const key of needsTls ? keys : [])
    inexpressible.set(key, 'the server permits transfers only with TLS (`tls-auth-xfr-only`)');
  for (const key of missing === undefined ? [] : keys)
    inexpressible.set(key, `the pattern '${missing}' was not read, and may refuse this key`);
  return {
    ranges: lines.flatMap(({ ranges }) => ranges),
    keys,
    // NOKEY matches no signed request, so only its own line permits a key.
    keysBeforeEveryone: keys,
    place,
    permits({ address, key = 'NOKEY' }) {
      const matching = lines.filter((line) => line.matches(address));
      return (
        matching.some(({ who }) => who === key) && !matching.some(({ who }) => who === 'BLOCKED')
      );
    },
    inexpressible,
  };
}

/** Returns the meaning of a line `provide-xfr:`. Throws `KeyFileError`. */
function lineOf({ values: [text = '', who = '', tls], ...origin }: NsdAttribute): Line {
  const [addresses = '', port] = text.split('@');
  const limits = [
    ...(port === undefined ? [] : ['a port']),
    ...(tls === undefined ? [] : ['a TLS authentication']),
  ];
  const name = NO_KEYS.includes(who) ? who : nameForm(who);
  const [address = '', mask] = addresses.split('&');
  if (mask !== undefined && isIP(address) !== 0 && isIP(address) === isIP(mask)) {
    const { family, value } = addressOf(address);
    const bits = addressOf(mask).value;
    const all = (1n << (family === 4 ? 32n : 128n)) - 1n;
    const rest = all - bits;
    const range = { family, first: value & bits, last: (value & bits) | rest };
    // A mask without gaps ends in zeros: its inverse is one less than a power of two.
    if ((rest & (rest + 1n)) !== 0n) limits.push('a mask with gaps');
    return {
      ranges: [range],
      matches: (each) => each.family === family && (each.value & bits) === (value & bits),
      who: name,
      ...limitOf(limits),
    };
  }
  const range = readRange(addresses);
  if (range === undefined)
    throw new KeyFileError(origin, 'the address is neither an address, a network nor a range');
  return {
    ranges: [range],
    matches: (each) => contains(range, each),
    who: name,
    ...limitOf(limits),
  };
}

function limitOf(limits: readonly string[]): { readonly limit?: string } {
  return limits.length === 0 ? {} : { limit: limits.join(' and ') };
}

function referencesIn({ section, attributes, ...entry }: NsdEntry, placeOf: PlaceOf): Reference[] {
  if (section !== 'zone:' && section !== 'pattern:') return [];
  const zone = valueOf({ section, attributes, ...entry }, 'name:');
  return attributes.flatMap(({ name, values, ...origin }): Reference[] => {
    const role = ROLES[name];
    const key = keyOf(name, values);
    if (role === undefined || key === undefined) return [];
    return [
      {
        key: nameForm(key),
        role,
        place: placeOf(origin),
        ...(section === 'zone:' ? { zone: nameForm(zone) } : {}),
      },
    ];
  });
}

/** Returns the key that an attribute names, as spelt. A name of a TLS authentication may follow. */
export function keyOf(name: string, values: readonly string[]): string | undefined {
  if (name !== 'provide-xfr:' && !Object.hasOwn(ROLES, name)) return undefined;
  const key = values[keyIndex(values)];
  return key === undefined || NO_KEYS.includes(key) ? undefined : key;
}

function listeningFamilies(servers: readonly NsdEntry[]): readonly Family[] | undefined {
  if (servers.some((entry) => valueOf(entry, 'do-ip6:') === 'no')) return [4];
  if (servers.some((entry) => valueOf(entry, 'do-ip4:') === 'no')) return [6];
  const attributes = servers.flatMap((entry) => entry.attributes);
  return familiesOf(
    attributes
      .filter(({ name }) => name === 'ip-address:' || name === 'interface:')
      .map(({ values: [address = ''] }) => address.replace(/@.*$/, '')),
  );
}

export function valueOf({ attributes }: NsdEntry, wanted: string): string {
  return attributes.findLast(({ name }) => name === wanted)?.values[0] ?? '';
}
