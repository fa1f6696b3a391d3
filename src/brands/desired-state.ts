import { listName, RIGHTS, type Right } from '../access/rights.ts';
import { keyProblems } from '../formats/key.ts';
import type { Key } from '../dns/tsig-key.ts';

/** Zones by their names in comparison form, sorted. `all` means every zone of the name server. */
export type Zones = 'all' | readonly string[];

/** For each right, the zones in which a key has it. A right without a zone is absent. */
export type Access = Readonly<Partial<Record<Right, Zones>>>;

/** A key that a name server should accept. */
export interface DesiredKey extends Key {
  readonly id: string;
  /** As `comparisonForm` returns it: in lower case, without a final dot (RFC 8945 section 4.2). */
  readonly name: string;
  /** Increases with every change of the key that affects name servers. */
  readonly version: number;
  /** A key without access is on the name server, but in no access list. */
  readonly access: Access;
  /**
   * The name of the key that replaces this one, once all clients have it. The name server signs its
   * own requests with that key where it signed them with this one.
   */
  readonly successor?: string;
}

/** A key that a name server should no longer accept. */
interface KeyRemoval {
  readonly name: string;
  /** The name of the key that replaces it, or null. */
  readonly successor: string | null;
  /** Whether others may have its secret, so that the name server must refuse it before all else. */
  readonly compromised: boolean;
}

/**
 * A key whose secret is lost or cannot be decrypted. A name server that has the key keeps its copy
 * unchanged.
 */
export type KeptKey = Omit<DesiredKey, 'algorithm' | 'secret'>;

/** Every key is valid, and no two keys have the same name. */
export interface DesiredState {
  /** The names of all zones of the server's pool, in comparison form. */
  readonly zones: readonly string[];
  /** From the oldest to the newest, except that keys whose delivery is held are last. */
  readonly keys: readonly DesiredKey[];
  /** The keys to leave unchanged on the name server. Their names are not in `keys`. */
  readonly kept?: readonly KeptKey[];
  /**
   * The stamps of this database for the name server. The driver writes the first stamp with each
   * change. A name server with none of them differs from the state. If absent, the driver leaves
   * the stamp of the name server unchanged.
   */
  readonly stamps?: readonly string[];
  /**
   * Whether delivery is held. Tsigil's keys on the name server that are not in the state and whose
   * names are not owned then stay as they are, with their rights and zones.
   */
  readonly isHeld?: boolean;
  /** Keys that are removed. A key of Tsigil that is in no list of the state is removed, too. */
  readonly removals?: readonly KeyRemoval[];
}

/** The access lists of a name server, with the names of their keys in comparison form. */
export type AccessLists = ReadonlyMap<string, readonly string[]>;

const idSets = new WeakMap<readonly DesiredKey[], ReadonlySet<string>>();

/** Returns the ids of keys. An unchanged state has the same keys in each pass. */
export function idsOf(keys: readonly DesiredKey[]): ReadonlySet<string> {
  const known = idSets.get(keys) ?? new Set(keys.map(({ id }) => id));
  idSets.set(keys, known);
  return known;
}

export function rightsIn(access: Access): Right[] {
  return RIGHTS.filter((right) => access[right] !== undefined);
}

function listsOf(right: Right, zones: Zones): string[] {
  return zones === 'all' ? [listName(right)] : zones.map((zone) => listName(right, zone));
}

/** What a name server has besides the keys of a state. */
interface Present {
  readonly rights: readonly Right[];
  /** The rights for which each zone has a list, even without keys. The default is all rights. */
  readonly zoneRights?: readonly Right[];
  /** The lists that the name server has. They stay, because its configuration may refer to them. */
  readonly lists?: AccessLists;
  /** The names of further keys, which stay in these lists. */
  readonly otherNames?: ReadonlySet<string>;
}

export function grantsOf(
  { zones, keys }: Pick<DesiredState, 'zones' | 'keys'>,
  { rights, zoneRights = rights, lists = new Map(), otherNames = EMPTY }: Present,
): AccessLists {
  const granted = new Map<string, string[]>();
  const membersOf = (list: string): string[] => {
    const members = granted.get(list) ?? [];
    granted.set(list, members);
    return members;
  };
  for (const right of rights) membersOf(listName(right));
  for (const right of zoneRights) for (const list of listsOf(right, zones)) membersOf(list);
  for (const { name, access } of keys)
    for (const right of rights)
      for (const list of listsOf(right, access[right] ?? [])) membersOf(list).push(name);
  for (const [list, members] of lists)
    membersOf(list).push(...members.filter((member) => otherNames.has(member)));
  return granted;
}

/** Returns the lists in which `lists` has each member. */
export function byMember(
  lists: ReadonlyMap<string, Iterable<string>>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const [list, members] of lists)
    for (const member of members) {
      const own = found.get(member) ?? new Set();
      found.set(member, own.add(list));
    }
  return found;
}

/**
 * Returns the keys of a state and its kept keys. `present` has the keys on the name server, by
 * name. Kept keys have the algorithms and secrets in `present`.
 */
export function withKept(
  { keys, kept = [] }: DesiredState,
  present: ReadonlyMap<string, Omit<Key, 'name'>>,
): readonly DesiredKey[] {
  const copies = kept.flatMap((key) => {
    const copy = present.get(key.name);
    return copy === undefined
      ? []
      : [{ ...key, algorithm: copy.algorithm, secret: copy.secret } satisfies DesiredKey];
  });
  return [...keys, ...copies];
}

const EMPTY: ReadonlySet<string> = new Set();

/** Returns whether two sets have the same members. Absent sets are empty. */
export function isSameSet(one = EMPTY, other = EMPTY): boolean {
  return one.size === other.size && [...one].every((member) => other.has(member));
}

export function byName(one: Pick<DesiredKey, 'name'>, other: Pick<DesiredKey, 'name'>): number {
  return one.name < other.name ? -1 : 1;
}

/**
 * Returns why no name server could use a key, or undefined for a valid key. The text follows "The
 * key cannot be delivered:" and quotes no value, because a value may contain a secret.
 */
export function keyProblem(key: Key): string | undefined {
  const problems = keyProblems(key);
  return problems.length === 0 ? undefined : problems.join('; ');
}
