import { RIGHTS, type Right } from './rights.ts';
import type { Key } from '../dns/tsig-key.ts';
import type { ImportFormat } from '../formats/detect.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import { firstOf } from '../core/text/first-of.ts';
import { numberOf, textOf } from '../core/text/ip-numbers.ts';

const BITS = { 4: 32, 6: 128 } as const;
export const FAMILIES = [4, 6] as const;

export type Family = (typeof FAMILIES)[number];

export interface Address {
  readonly family: Family;
  readonly value: bigint;
}

/** Addresses of one family, from the first to the last. */
export interface Range {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
}

/** The addresses of the server's interfaces, and the networks of these addresses. */
type Local = 'localhost' | 'localnets';

export interface Requester {
  readonly address: Address;
  /** What the address is to the server. An address of `localhost` also belongs to `localnets`. */
  readonly local?: Local;
  /** The name of the key that signs the request, in comparison form. */
  readonly key: string | undefined;
}

export interface DefinedKey {
  readonly key: Key;
  /** The place in the configuration, such as `/etc/bind/named.conf:3`. */
  readonly place: string;
  readonly view?: string;
}

/** What a key is used for besides the rights that grants express. */
export type Role = 'control' | 'session' | 'requester' | 'query' | 'notify' | 'view';

export interface Reference {
  /** The name in comparison form. */
  readonly key: string;
  readonly role: Role;
  readonly place: string;
  readonly zone?: string;
}

/** One zone of a configuration, or one of its views. */
export interface ZoneAccess {
  /** The name in comparison form. */
  readonly name: string;
  readonly view?: string;
  readonly place: string;
  /**
   * The list that decides each right, or undefined for a right that no one has. Zones with the same
   * list share the object, so that each list is evaluated once.
   */
  readonly lists: Readonly<Record<Right, AccessList | undefined>>;
  /** The names of the lists, rules or patterns that the zone names. Absent if it cannot name any. */
  readonly named?: readonly string[];
  /**
   * The place of the rules that decide who may update the zone, instead of lists. They stay in the
   * configuration, because no list of Tsigil can be beside them.
   */
  readonly policy?: string;
}

export interface AccessList {
  readonly ranges: readonly Range[];
  readonly namesLocal?: boolean;
  /** The names of the keys that the list names, in comparison form. */
  readonly keys: readonly string[];
  /** Of these, the keys that the list names before it permits everyone. */
  readonly keysBeforeEveryone?: readonly string[];
  readonly place: string;
  /** Why the server may decide otherwise than `permits`. */
  readonly doubt?: string;
  permits(requester: Requester): boolean;
  /** By key: why no grant can say the same, although the list may permit it everywhere. */
  readonly inexpressible?: ReadonlyMap<string, string>;
}

/**
 * The configuration of a running server: the text that `program` prints in an import format, or the
 * API that shows it. It contains secrets.
 */
export type PrintedConfiguration =
  | { readonly format: ImportFormat; readonly program: string; readonly text: string }
  | { readonly format: 'powerdns'; readonly url: string; readonly apiKey: string };

/** A notable fact about a configuration that needs a person. The text contains no secret. */
export interface Finding {
  readonly kind: string;
  readonly place: string;
  readonly text: string;
}

export interface ServerConfiguration {
  readonly keys: readonly DefinedKey[];
  readonly zones: readonly ZoneAccess[];
  /** The families of the addresses on which the server listens, if known. */
  readonly families?: readonly Family[];
  readonly references: readonly Reference[];
  /** The files that could not be read. They may contain refusals, so no grants follow. */
  readonly unread: readonly string[];
  readonly findings: readonly Finding[];
  /** Whether the text defines keys and says nothing else. */
  readonly isKeysOnly?: boolean;
}

/** Returns whether a configuration says where its keys are used, unlike a plain file of keys. */
export function saysUses({ isKeysOnly = false, unread }: ServerConfiguration): boolean {
  return !isKeysOnly || unread.length > 0;
}

/** A right of a key in zones, which a grant can express. */
export interface Row {
  readonly key: string;
  readonly right: Right;
  readonly zones: readonly string[];
}

/** A right of a key that no grant can express, so it stays in the configuration of the server. */
export interface KeptRow extends Row {
  readonly reason: string;
  readonly place: string;
  /** Whether the key has the right for some requests, so that a grant would widen it. */
  readonly partial: boolean;
}

/** A right that requests have without a key. */
export interface OpenRow {
  readonly right: Right;
  readonly zones: readonly string[];
  readonly addresses: 'everyone' | readonly string[];
}

export interface Matrix {
  readonly rows: readonly Row[];
  readonly kept: readonly KeptRow[];
  readonly open: readonly OpenRow[];
}

/** Returns the address that a text contains, which must be valid. */
export function addressOf(text: string): Address {
  return { family: text.includes(':') ? 6 : 4, value: numberOf(text) };
}

/** Returns the addresses of the network with the first `length` bits of an address. */
export function prefixOf({ family, value }: Address, length: number = BITS[family]): Range {
  const outside = BigInt(BITS[family] - length);
  const first = (value >> outside) << outside;
  return { family, first, last: first + (1n << outside) - 1n };
}

export function contains({ family, first, last }: Range, address: Address): boolean {
  return address.family === family && first <= address.value && address.value <= last;
}

/**
 * Returns the grants that say what a configuration permits. A right is in `rows` only if the grant
 * permits exactly the same requests with the key.
 */
export function matrixOf(configuration: ServerConfiguration): Matrix {
  const { zones, unread, families = FAMILIES } = configuration;
  const rows: Row[] = [];
  const kept: KeptRow[] = [];
  const open: OpenRow[] = [];
  const keys = definitionsOf(configuration);
  for (const right of RIGHTS) {
    for (const { lists, names } of groupsOf(zones, right)) {
      const witnesses = witnessesOf(lists, families);
      const permitted = (key?: string) => witnesses.map((each) => permits(lists, each, key));
      const unsigned = permitted();
      if (unsigned.includes(true))
        open.push({ right, zones: names, addresses: openTo(witnesses, unsigned) });
      for (const key of new Set(lists.flatMap((list) => list?.keys ?? []))) {
        const definition = keys.get(key);
        if (definition === undefined) continue;
        const signed = permitted(key);
        const verdict = verdictOf(lists, key, witnesses, signed, unsigned);
        const reason =
          (verdict === undefined ? undefined : definition.leftOut) ??
          (verdict === GRANT && unread.length > 0 ? unreadReason(unread) : verdict);
        if (reason === GRANT) rows.push({ key, right, zones: names });
        else if (reason !== undefined)
          kept.push({
            key,
            right,
            zones: names,
            reason,
            place: lists.find((list) => list?.keys.includes(key))?.place ?? '',
            partial: signed.includes(true),
          });
      }
    }
  }
  return { rows: merged(rows), kept, open };
}

const GRANT = Symbol('grant');

/**
 * Returns `GRANT` if a grant says what the lists permit to a key, undefined if the key opens
 * nothing, or why a grant cannot say it. The lists are those of one zone in each of its views.
 */
function verdictOf(
  lists: Lists,
  key: string,
  witnesses: readonly Witness[],
  signed: readonly boolean[],
  unsigned: readonly boolean[],
): typeof GRANT | string | undefined {
  const [limit] = lists.flatMap((list) => list?.inexpressible?.get(key) ?? []);
  if (limit !== undefined) return limit;
  if (signed.some((yes, index) => !yes && unsigned[index] === true))
    return 'the list refuses this key where it permits requests without a key';
  const all = !signed.includes(false);
  const gains = signed.some((yes, index) => yes && unsigned[index] !== true);
  const first = lists.every((list) => list?.keysBeforeEveryone?.includes(key) === true);
  if (!gains && !(all && first)) return undefined;
  if (lists.length > 1 && !isSameInAll(lists, key, witnesses))
    return 'the zone is in several views, which do not agree on this key';
  return all ? GRANT : 'the list permits this key only from certain addresses';
}

/** Returns whether each view of a zone permits the key some requests. */
function isSameInAll(lists: Lists, key: string, witnesses: readonly Witness[]): boolean {
  return lists.every((list) => witnesses.some((each) => permits([list], each, key)));
}

export type Lists = readonly (AccessList | undefined)[];

function groupsOf(zones: readonly ZoneAccess[], right: Right) {
  const byName = new Map<string, (AccessList | undefined)[]>();
  for (const { name, lists } of zones) {
    const found = byName.get(name);
    if (found === undefined) byName.set(name, [lists[right]]);
    else found.push(lists[right]);
  }
  const numbers = new Map<AccessList | undefined, number>();
  const numberFor = (list: AccessList | undefined) => {
    const number = numbers.get(list) ?? numbers.size;
    numbers.set(list, number);
    return number;
  };
  const groups = new Map<string, { readonly lists: Lists; readonly names: string[] }>();
  for (const [name, lists] of byName) {
    const id = lists.map(numberFor).join(' ');
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { lists, names: [name] });
    else group.names.push(name);
  }
  return [...groups.values()].filter(({ lists }) => lists.some((list) => list !== undefined));
}

function definitionsOf({ keys, references }: ServerConfiguration) {
  const found = new Map<string, { readonly key: Key; leftOut?: string }>();
  for (const { key } of keys) {
    const name = comparisonForm(key.name);
    const earlier = found.get(name);
    if (earlier === undefined) found.set(name, { key });
    else if (earlier.key.secret !== key.secret || earlier.key.algorithm !== key.algorithm)
      earlier.leftOut = 'the configuration has different keys with this name';
  }
  for (const { key, role } of references) {
    const definition = found.get(key);
    if (definition !== undefined && role === 'control')
      definition.leftOut = 'this key controls the server';
    if (definition !== undefined && role === 'session')
      definition.leftOut = 'the server replaces this key at each start';
  }
  return found;
}

/** Returns why a key must not become a grant in any zone, or undefined. */
export function leftOutReason(configuration: ServerConfiguration, key: string): string | undefined {
  return definitionsOf(configuration).get(comparisonForm(key))?.leftOut;
}

/** Every reason names them. */
const SHOWN_FILES = 5;

function unreadReason(unread: readonly string[]): string {
  const shown = firstOf(unread, SHOWN_FILES, String).join(', ');
  return `${shown} could not be read, and may refuse this key`;
}

/** A requester without its key, for all addresses of a range. */
interface Witness {
  readonly range: Range;
  readonly local?: Local;
}

/**
 * Returns a witness for every set of addresses that the lists cannot tell apart. Every prefix and
 * range begins or ends such a set, and which addresses the server itself has is unknown.
 */
export function witnessesOf(lists: Lists, families: readonly Family[]): Witness[] {
  const ranges = lists.flatMap((list) => list?.ranges ?? []);
  const locals = lists.some((list) => list?.namesLocal)
    ? ([undefined, 'localnets', 'localhost'] as const)
    : [undefined];
  return families.flatMap((family) => {
    const end = 1n << BigInt(BITS[family]);
    const own = ranges.filter((range) => range.family === family);
    const starts = new Set([0n, end, ...own.flatMap(({ first, last }) => [first, last + 1n])]);
    const sorted = [...starts].sort((one, other) => (one < other ? -1 : 1));
    return sorted.slice(0, -1).flatMap((first, index) => {
      const range = { family, first, last: (sorted[index + 1] ?? end) - 1n };
      return locals.map((local) => (local === undefined ? { range } : { range, local }));
    });
  });
}

export function permits(lists: Lists, { range, local }: Witness, key: string | undefined): boolean {
  const address = { family: range.family, value: range.first };
  const requester = { address, key, ...(local === undefined ? {} : { local }) };
  return lists.some((list) => list?.permits(requester) === true);
}

function openTo(
  witnesses: readonly Witness[],
  permitted: readonly boolean[],
): 'everyone' | readonly string[] {
  if (!permitted.includes(false)) return 'everyone';
  const ranges: Range[] = [];
  const locals = new Set<Local>();
  for (const [index, { range, local }] of witnesses.entries()) {
    if (permitted[index] !== true) continue;
    const last = ranges.at(-1);
    const follows = last?.family === range.family && last.last >= range.first - 1n;
    if (local === undefined && follows) ranges.splice(-1, 1, { ...last, last: range.last });
    else if (local === undefined) ranges.push(range);
    else if (last === undefined || last.family !== range.family || last.last < range.last)
      locals.add(local);
  }
  if (locals.has('localnets')) locals.delete('localhost');
  return [...ranges.map(rangeText), ...locals];
}

function rangeText({ family, first, last }: Range): string {
  const bits = BITS[family];
  const size = (last - first + 1n).toString(2);
  const start = textOf(first, bits);
  if (first === last) return start;
  const isPrefix = /^10*$/.test(size) && first % (last - first + 1n) === 0n;
  return isPrefix ? `${start}/${bits - size.length + 1}` : `${start}-${textOf(last, bits)}`;
}

function merged(rows: readonly Row[]): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows) {
    const id = `${row.right} ${row.key}`;
    const zones = [...(found.get(id)?.zones ?? []), ...row.zones];
    found.set(id, { ...row, zones });
  }
  return [...found.values()];
}
