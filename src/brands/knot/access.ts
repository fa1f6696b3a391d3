import type { Right } from '../../access/rights.ts';
import { keyEntryOf, knotEntries, NO_ADDRESS, type KnotEntry } from '../../formats/read-knot.ts';
import { KeyFileError, type ReadIncluded } from '../../formats/reader.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import {
  contains,
  type AccessList,
  type Finding,
  type Range,
  type Reference,
  type Requester,
  type ServerConfiguration,
  type ZoneAccess,
} from '../../access/access.ts';
import { checkEntries, checkSection } from './access-syntax.ts';
import { placesIn, type PlaceOf } from '../../access/places.ts';
import { familiesOf, readRange } from '../../access/ranges.ts';

export const SECTIONS = ['server', 'key', 'remote', 'remotes', 'acl', 'template', 'zone'];

/** The items of a rule that limit neither requests nor updates, besides those of `Rule`. */
const UNLIMITED = ['id', 'comment', 'address', 'key', 'remote', 'action', 'deny'];

interface Match {
  /** Undefined for all addresses. */
  readonly ranges: readonly Range[] | undefined;
  /** The names of keys in comparison form. Without keys, only unsigned requests match. */
  readonly keys: readonly string[];
}

interface Remote extends Match {
  readonly isAutomatic: boolean;
}

interface Rule {
  readonly matches: readonly Match[];
  readonly missingRemotes: readonly string[];
  /** Undefined for a rule without actions, which refuses what it matches. */
  readonly actions: readonly string[] | undefined;
  readonly denies: boolean;
  /** The items that limit what the rule permits. */
  readonly limits: readonly string[];
}

/** Reads a file with its included files, or `knotc conf-export`. Throws `KeyFileError`. */
export function readKnotAccess(
  text: string,
  include?: ReadIncluded,
  path = 'knot.conf',
): ServerConfiguration {
  const { placeOf, read, unread, hasEmptyInclude } = placesIn(path, include);
  const sections = new Set<string>();
  const entries = knotEntries(text, SECTIONS, read, (origin, section) => {
    checkSection(origin, section);
    sections.add(section ?? '');
  });
  checkEntries(entries, unread.length === 0);
  const sectionOf = (section: string) => entries.filter((each) => each.section === section);
  const keys = sectionOf('key').flatMap((entry) => {
    const read = keyEntryOf(entry);
    return 'key' in read ? [{ key: read.key, place: placeOf(entry) }] : [];
  });
  const references = [
    ...sectionOf('remote').flatMap((entry) => referencesOf(entry, 'requester', placeOf)),
    ...sectionOf('acl').flatMap((entry) => ruleReferences(entry, placeOf)),
  ];
  const policy = policyIn(sectionOf);
  const { zones, findings } = zonesIn(sectionOf, policy, placeOf);
  const listens = sectionOf('server').flatMap((entry) => valuesOf(entry, 'listen'));
  const families = familiesOf(listens.map((each) => each.replace(/@.*$/, '')));
  return {
    keys,
    zones,
    ...(families === undefined ? {} : { families }),
    references,
    unread,
    findings: [
      ...undefinedKeys(sectionOf, placeOf),
      ...undefinedRemotes(sectionOf, policy, placeOf),
      ...findings,
    ],
    isKeysOnly:
      !hasEmptyInclude() && [...sections].every((each) => each === 'key' || each === 'include'),
  };
}

type SectionOf = (section: string) => readonly KnotEntry[];

function byId(entries: readonly KnotEntry[]): ReadonlyMap<string, KnotEntry> {
  return new Map(entries.map((entry) => [valueOf(entry, 'id'), entry]));
}

function undefinedKeys(sectionOf: SectionOf, placeOf: PlaceOf): Finding[] {
  const names = new Set(sectionOf('key').map((entry) => nameForm(valueOf(entry, 'id'))));
  return [...sectionOf('remote'), ...sectionOf('acl')].flatMap((entry) =>
    keysOf(entry)
      .filter((key) => !names.has(key))
      .map((key) => ({
        kind: 'undefined_key',
        place: placeOf(entry),
        text: `the key '${key}' is defined nowhere`,
      })),
  );
}

/** The rules by their ids, and the remotes for which zones and rules name them or their groups. */
interface Policy {
  readonly rules: ReadonlyMap<string, Rule>;
  remotesOf(ids: readonly string[]): readonly Remote[];
}

function policyIn(sectionOf: SectionOf): Policy {
  const groups = new Map(
    sectionOf('remotes').map((entry) => [valueOf(entry, 'id'), valuesOf(entry, 'remote')]),
  );
  const remotes = new Map(
    [...byId(sectionOf('remote'))].map(([id, entry]) => [id, remoteOf(entry)]),
  );
  const membersOf = (ids: readonly string[]) => ids.flatMap((id) => groups.get(id) ?? [id]);
  const remotesOf = (ids: readonly string[]) =>
    membersOf(ids).flatMap((id) => remotes.get(id) ?? []);
  const missingOf = (ids: readonly string[]) => membersOf(ids).filter((id) => !remotes.has(id));
  const rules = new Map(
    [...byId(sectionOf('acl'))].map(([id, entry]) => [id, ruleOf(entry, remotesOf, missingOf)]),
  );
  return { rules, remotesOf };
}

function undefinedRemotes(sectionOf: SectionOf, { rules }: Policy, placeOf: PlaceOf): Finding[] {
  return [...byId(sectionOf('acl'))].flatMap(([id, entry]) =>
    (rules.get(id)?.missingRemotes ?? []).map((remote) => ({
      kind: 'undefined_remote',
      place: placeOf(entry),
      text: `the remote '${remote}' is defined nowhere`,
    })),
  );
}

function zonesIn(
  sectionOf: SectionOf,
  { rules, remotesOf }: Policy,
  placeOf: PlaceOf,
): Pick<ServerConfiguration, 'zones' | 'findings'> {
  const isAutomatic = sectionOf('server').some((entry) => isOn(entry, 'automatic-acl'));
  const templates = byId(sectionOf('template'));
  const lists = new Map<string, AccessList>();
  const findings: Finding[] = [];
  const listOf = (
    right: Right,
    ids: readonly string[],
    automatic: readonly string[],
    place: string,
  ) => {
    const id = JSON.stringify([right, ids, automatic]);
    const stated = () => ids.map((each) => rules.get(each) ?? each);
    const remotes = () => remotesOf(automatic).filter((remote) => remote.isAutomatic);
    const list = lists.get(id) ?? accessList(right, stated(), remotes(), place);
    lists.set(id, list);
    return list;
  };
  const zones = sectionOf('zone').map((entry): ZoneAccess => {
    const name = nameForm(valueOf(entry, 'domain'));
    const place = placeOf(entry);
    const template = templates.get(valueOf(entry, 'template') || 'default');
    const itemOf = (item: string) => entry.items.get(item) ?? template?.items.get(item);
    const acl = itemOf('acl');
    const ids = acl?.values ?? [];
    for (const id of ids)
      if (!rules.has(id))
        findings.push({
          kind: 'undefined_rule',
          place,
          text: `the rule '${id}' is defined nowhere`,
        });
    if (itemOf('catalog-role')?.values.includes('interpret') === true)
      findings.push({
        kind: 'catalog_zone',
        place,
        text: `the members of the catalog zone '${name}' are not in the configuration, so their access lists were not read`,
      });
    const notified = isAutomatic ? (itemOf('notify')?.values ?? []) : [];
    const origin = placeOf((acl ?? itemOf('notify'))?.origin ?? entry);
    const isStated = acl !== undefined;
    const transfer =
      isStated || notified.length > 0 ? listOf('transfer', ids, notified, origin) : undefined;
    const update = isStated ? listOf('update', ids, [], origin) : undefined;
    return { name, place, lists: { transfer, update }, named: ids };
  });
  return { zones, findings };
}

/**
 * Returns the list of a zone: automatic rules first, then the rules in their order, or the id of a
 * rule that is defined nowhere.
 */
function accessList(
  right: Right,
  stated: readonly (Rule | string)[],
  automatic: readonly Remote[],
  place: string,
): AccessList {
  const rules = stated.flatMap((rule) => (typeof rule === 'string' ? [] : [rule]));
  // What was not read may have `deny`, and a missing remote stands for unknown keys.
  const [missing] = stated.flatMap((rule) =>
    typeof rule === 'string' ? `rule '${rule}'` : rule.missingRemotes.map((id) => `remote '${id}'`),
  );
  const permitting = rules
    .filter(({ actions, denies }) => actions?.includes(right) === true && !denies)
    .flatMap((rule) => rule.matches);
  const matches = [...automatic, ...rules.flatMap((rule) => rule.matches)];
  const keys = [...new Set(matches.flatMap((match) => match.keys))];
  return {
    ranges: matches.flatMap(({ ranges = [] }) => ranges),
    keys,
    // A rule without keys matches no signed request, so only its own name permits a key.
    keysBeforeEveryone: keys,
    place,
    permits(requester) {
      if (automatic.some((remote) => isMatch(remote, requester, false))) return true;
      for (const rule of rules) {
        const { matches: wanted, actions, denies } = rule;
        if (!wanted.some((match) => isMatch(match, requester, denies))) continue;
        const refuses = actions === undefined || (denies && actions.includes(right));
        // A limited refusal leaves the other requests to the rules behind it.
        if (refuses && limitOf(right, rule) === undefined) return false;
        if (!refuses && actions.includes(right)) return true;
      }
      return false;
    },
    inexpressible:
      missing === undefined
        ? limitsOf(right, rules, keys)
        : new Map(
            [...automatic, ...permitting].flatMap((match) =>
              match.keys.map((key) => [
                key,
                `the ${missing} is defined nowhere, and may refuse this key`,
              ]),
            ),
          ),
  };
}

/** A rule with `deny` and without keys also matches signed requests. */
function isMatch({ ranges, keys }: Match, { address, key }: Requester, denies: boolean): boolean {
  if (ranges?.some((range) => contains(range, address)) === false) return false;
  if (keys.length === 0) return key === undefined || denies;
  return key !== undefined && keys.includes(key);
}

/** Returns why no grant can express what rules permit to some of the keys, if they permit anything. */
function limitsOf(
  right: Right,
  rules: readonly Rule[],
  keys: readonly string[],
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const permitted = new Set<string>();
  const decided = new Set<string>();
  for (const rule of rules) {
    if (rule.actions?.includes(right) === false) continue;
    const permits = rule.actions !== undefined && !rule.denies;
    const limit = limitOf(right, rule);
    for (const match of rule.matches) {
      const named = match.keys.length === 0 && rule.denies ? keys : match.keys;
      for (const key of named) {
        if (decided.has(key)) continue;
        if (permits) permitted.add(key);
        if (limit !== undefined) found.set(key, `a rule for this key has '${limit}'`);
        else if (match.ranges === undefined) decided.add(key);
      }
    }
  }
  return new Map([...found].filter(([key]) => permitted.has(key)));
}

/** Returns an item because of which a rule decides only about some requests for a right. */
function limitOf(right: Right, { limits }: Rule): string | undefined {
  return limits.find((each) => right === 'update' || !each.startsWith('update-'));
}

function remoteOf(entry: KnotEntry): Remote {
  // A request from the path of a socket has no address.
  const addresses = valuesOf(entry, 'address').filter((each) => !each.startsWith('/'));
  return {
    ranges: addresses.map((each) => rangeOf(each.replace(/@\d+$/, ''), entry)),
    keys: keysOf(entry),
    isAutomatic: !entry.items.has('automatic-acl') || isOn(entry, 'automatic-acl'),
  };
}

function ruleOf(
  entry: KnotEntry,
  remotesOf: (ids: readonly string[]) => readonly Match[],
  missingOf: (ids: readonly string[]) => readonly string[],
): Rule {
  const remotes = valuesOf(entry, 'remote');
  const own = {
    ranges: entry.items
      .get('address')
      ?.values.filter((each) => each !== NO_ADDRESS) // in Tsigil's rules without keys
      .map((each) => rangeOf(each, entry)),
    keys: keysOf(entry),
  };
  const actions = entry.items.get('action')?.values.map((each) => each.toLowerCase());
  return {
    matches: remotes.length > 0 ? remotesOf(remotes) : [own],
    missingRemotes: missingOf(remotes),
    actions,
    denies: isOn(entry, 'deny'),
    limits: [...entry.items.keys()].filter((item) => !UNLIMITED.includes(item)),
  };
}

/** Returns the references of a rule that gives no right, or permits NOTIFY too. */
function ruleReferences(entry: KnotEntry, placeOf: PlaceOf): Reference[] {
  const actions = valuesOf(entry, 'action');
  return [
    ...(actions.length === 0 || actions.includes('query')
      ? referencesOf(entry, 'query', placeOf)
      : []),
    ...(actions.includes('notify') ? referencesOf(entry, 'notify', placeOf) : []),
  ];
}

function referencesOf(entry: KnotEntry, role: Reference['role'], placeOf: PlaceOf): Reference[] {
  const place = placeOf(entry.items.get('key')?.origin ?? entry);
  return keysOf(entry).map((key) => ({ key, role, place }));
}

function rangeOf(text: string, entry: KnotEntry): Range {
  const range = readRange(text);
  if (range !== undefined) return range;
  throw new KeyFileError(
    entry.items.get('address')?.origin ?? entry,
    'the address is neither an address, a network nor a range',
  );
}

export const valuesOf = (entry: KnotEntry | undefined, item: string) =>
  entry?.items.get(item)?.values ?? [];
export const valueOf = (entry: KnotEntry, item: string) => valuesOf(entry, item).at(-1) ?? '';
export const keysOf = (entry: KnotEntry) => valuesOf(entry, 'key').map(nameForm);
/** An item without a value is on. */
const isOn = (entry: KnotEntry, item: string) =>
  entry.items.has(item) && /^(?:on|true|)$/i.test(valueOf(entry, item));
