import { listName, RIGHTS, type Right } from '../../access/rights.ts';
import {
  grantsOf,
  type AccessLists,
  type DesiredKey,
  type DesiredState,
} from '../desired-state.ts';
import { isSameMaterial, type KeyMaterial } from '../../formats/key.ts';
import type { Difference, KeyReferences } from '../driver.ts';
import {
  isEqual,
  REQUEST_KEYS,
  TRANSFER_KEYS,
  UPDATE_KEYS,
  withUpdateKeys,
  type Grants,
} from './grants.ts';

/** The keys and grants of a server, as last read or written. */
export interface ServerContent {
  readonly keys: Map<string, KeyMaterial>;
  readonly grants: Map<string, Grants>;
}

export interface Plan {
  readonly content: ServerContent;
  readonly zones: readonly string[];
  /** The names of the keys that are no stamps. */
  readonly presentNames: ReadonlySet<string>;
  readonly keys: readonly DesiredKey[];
  readonly takenKeys: readonly DesiredKey[];
  /** The names of the keys that another program created, and that become Tsigil's as they are. */
  readonly adoptedNames: readonly string[];
  /** What to do about an equal key that is taken because it would lose a right, by its name. */
  readonly advice: ReadonlyMap<string, string>;
  /** The names of keys that Tsigil may change and remove. */
  readonly changeableNames: ReadonlySet<string>;
  /** Returns the names of Tsigil's keys that a zone must accept, by right. */
  readonly wanted: (zone: string) => Readonly<Record<Right, readonly string[]>>;
  readonly successors: Successors;
}

/** The names of the keys that sign NOTIFY instead of others, by the names of these. */
type Successors = ReadonlyMap<string, string>;

export function successorsIn({ keys, removals = [] }: DesiredState): Successors {
  return new Map(
    [...keys, ...removals].flatMap(({ name, successor }): [string, string][] =>
      successor == null ? [] : [[name, successor]],
    ),
  );
}

export function wantedGrants(state: DesiredState, keys: readonly DesiredKey[]): Plan['wanted'] {
  let made: { readonly managed: ReadonlySet<string>; readonly lists: AccessLists } | undefined;
  const names = (right: Right, zone: string) => {
    const { managed, lists } = (made ??= {
      managed: new Set(state.zones),
      lists: grantsOf({ zones: [], keys }, { rights: RIGHTS, zoneRights: [] }),
    });
    return [
      ...((managed.has(zone) ? lists.get(listName(right)) : undefined) ?? []),
      ...(lists.get(listName(right, zone)) ?? []),
    ];
  };
  return (zone) => ({ transfer: names('transfer', zone), update: names('update', zone) });
}

type Wanted = ReturnType<Plan['wanted']>;

/** Returns the grants without the undesired grants of Tsigil's keys. */
export function shrunk(
  grants: Grants,
  changeableNames: ReadonlySet<string>,
  wanted: Wanted,
): Grants {
  const keep = (right: Right) => {
    const names = new Set(wanted[right]);
    return grants[right].filter((name) => !changeableNames.has(name) || names.has(name));
  };
  return withUpdateKeys({ ...grants, transfer: keep('transfer') }, keep('update'), false);
}

/**
 * Returns the key that will sign NOTIFY for a zone: the first one of the present list that stays, or
 * the last of its successors that the zone accepts; otherwise the oldest desired key.
 */
export function firstOf(
  present: Grants | undefined,
  changeableNames: ReadonlySet<string>,
  wanted: Wanted,
  successors: Successors,
): string | undefined {
  const isWanted = (name: string) => wanted.transfer.includes(name);
  for (const name of present?.transfer ?? []) {
    let first = !changeableNames.has(name) || isWanted(name) ? name : undefined;
    let next = successors.get(name);
    for (let steps = successors.size; next !== undefined && steps > 0; steps -= 1) {
      if (isWanted(next)) first = next;
      next = successors.get(next);
    }
    if (first !== undefined) return first;
  }
  return wanted.transfer[0];
}

/**
 * Returns the grants that a zone should have: without undesired ones of Tsigil's keys, and with the
 * desired ones. The keys that the list has keep their places, because the first key that may
 * transfer a zone signs NOTIFY, and the secondary servers accept it. Only its successor takes its
 * place.
 */
export function targetOf(
  grants: Grants,
  changeableNames: ReadonlySet<string>,
  wanted: Wanted,
  successors: Successors,
): Grants {
  const rest = shrunk(grants, changeableNames, wanted);
  const first = firstOf(grants, changeableNames, wanted, successors);
  const add = (right: Right) => [...rest[right], ...wanted[right]];
  const transfer = [...(first === undefined ? [] : [first]), ...add('transfer')];
  const needsNetworks = wanted.update.length > 0;
  return withUpdateKeys(
    { ...rest, transfer: [...new Set(transfer)] },
    [...new Set(add('update'))],
    needsNetworks,
  );
}

/**
 * Returns what to do about each of the keys `names` that would lose a right, or an address that
 * limits it, if it became Tsigil's. Who only knows its secret could otherwise take the key away from the zones of others.
 */
export function adviceOn(
  names: ReadonlySet<string>,
  grants: ServerContent['grants'],
  managed: readonly string[],
  wanted: Plan['wanted'],
): ReadonlyMap<string, string> {
  const advice = new Map<string, string>();
  const managedZones = new Set(managed);
  for (const [zone, present] of [...grants].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const zoneWanted = wanted(zone);
    const rest = shrunk(present, names, zoneWanted);
    // Where a setting limits the addresses of a key today, the driver would add all networks.
    if (present.updateFrom.length === 0 && present.formerFrom.length === 0)
      for (const name of rest.update)
        if (names.has(name) && !advice.has(name))
          advice.set(
            name,
            `As one of Tsigil's, it could update the zone '${zone}' from every address. Set ALLOW-DNSUPDATE-FROM of the zone to the networks that may, or take this right from it in Tsigil and remove it from ${UPDATE_KEYS} of the zone.`,
          );
    for (const right of RIGHTS) {
      const stays = new Set(rest[right]);
      for (const name of present[right]) {
        if (stays.has(name) || advice.has(name)) continue;
        const loss = `As one of Tsigil's, it would lose the right '${right}' in the zone '${zone}'.`;
        const list = right === 'transfer' ? TRANSFER_KEYS : UPDATE_KEYS;
        const remedy = managedZones.has(zone)
          ? 'Give it this right in Tsigil'
          : 'Create this zone in Tsigil and give it the right there';
        advice.set(name, `${loss} ${remedy}, or remove it from ${list} of the zone.`);
      }
    }
  }
  return advice;
}

/**
 * Returns the keys that zones name, each with a place in the first of its zones: those that they
 * sign their own requests with, and those of other programs that have rights.
 */
export function referencesIn(
  grants: ServerContent['grants'],
  changeableNames: ReadonlySet<string>,
): KeyReferences {
  const places = [...grants].flatMap(([zone, { transfer, update, requester }]) => {
    const others = (names: readonly string[], list: string) =>
      names.flatMap((name) =>
        changeableNames.has(name) ? [] : [[name, `${list} of ${zone}`] as const],
      );
    return [
      ...(requester === undefined ? [] : [[requester, `${REQUEST_KEYS} of ${zone}`] as const]),
      ...others(transfer, TRANSFER_KEYS),
      ...others(update, UPDATE_KEYS),
    ];
  });
  return new Map(places.toSorted(([, one], [, other]) => (one < other ? 1 : -1)));
}

/** Returns the differences. The grants of the zones in `same` do not differ. */
export function differencesOf(
  { content, zones, keys, adoptedNames, presentNames, changeableNames, wanted, successors }: Plan,
  unchangedZones: ReadonlySet<string> = new Set(),
): readonly Difference[] {
  const desired = new Set(keys.map(({ name }) => name));
  const ofKeys = new Map<string, Difference>();
  const others: Difference[] = adoptedNames.map((name) => ({
    kind: 'other',
    message: `The key '${name}' of PowerDNS is not Tsigil's yet.`,
  }));
  const note = (kind: 'missing' | 'changed' | 'extra', key: string, message: string) => {
    if (!ofKeys.has(key)) ofKeys.set(key, { kind, key, message });
  };
  for (const key of keys) {
    const { name } = key;
    const present = content.keys.get(name);
    if (present === undefined) note('missing', name, 'PowerDNS lacks the key.');
    else if (!isSameMaterial(key, present))
      note('changed', name, 'PowerDNS has the key with another algorithm or secret.');
  }
  for (const name of presentNames)
    if (changeableNames.has(name) && !desired.has(name))
      note('extra', name, 'PowerDNS still has the key.');
  for (const zone of zones) {
    const grants = unchangedZones.has(zone) ? undefined : content.grants.get(zone);
    if (grants === undefined) continue;
    const lists = wanted(zone);
    const target = targetOf(grants, changeableNames, lists, successors);
    for (const right of RIGHTS) {
      if (isEqual(grants[right], target[right])) continue;
      const [granted, targets] = [new Set(grants[right]), new Set(target[right])];
      const differing = [...new Set([...granted, ...targets])].filter(
        (name) => granted.has(name) !== targets.has(name),
      );
      for (const name of differing) {
        const message = `The right '${right}' of the key in the zone '${zone}' differs from the desired right.`;
        if (desired.has(name)) note('changed', name, message);
        else others.push({ kind: 'other', message });
      }
      if (differing.length === 0)
        others.push({
          kind: 'other',
          message: `The order of the keys with the right '${right}' in the zone '${zone}' differs.`,
        });
    }
    // A pass ended between its changes to the keys and to the networks.
    const hasKeys = grants.update.length > 0;
    if (hasKeys && grants.updateFrom.length === 0 && target.updateFrom.length > 0)
      others.push({
        kind: 'other',
        message: `No network may update the zone '${zone}', although keys have the right 'update'.`,
      });
  }
  return [...ofKeys.values(), ...others];
}
