import { randomBytes } from 'node:crypto';
import type { DesiredKey, DesiredState } from '../../domain/delivery/desired-state.ts';
import type { Delivery, Failure } from '../../domain/delivery/ports.ts';
import type { NameServer } from '../../domain/resources/name-server.ts';
import type { Difference } from '../driver.ts';

/**
 * The number of stamps that the database keeps for a name server. A process that was suspended
 * during an apply may write its stamp many passes later.
 */
const MAX_STAMPS = 64;

/** The maximum number of names in each list of a hold. */
const MAX_NAMES = 100;

/** What a hold leaves undelivered on a name server. */
export type Held = NonNullable<NameServer['held']>;

/**
 * Returns a new stamp, followed by the stamps that the name server may still have. `carried` is its
 * present stamp.
 */
export function nextStamps(carried: string | undefined, known: readonly string[]): string[] {
  const next = randomBytes(8).toString('hex');
  const stamps = new Set([next, ...(carried === undefined ? [] : [carried]), ...known]);
  return [...stamps].slice(0, MAX_STAMPS);
}

/** Returns what would change on the name server without a hold, or null if no key would change. */
export function heldOf(differences: readonly Difference[]): Held | null {
  const names = (of: Difference['kind']) =>
    differences.flatMap(({ kind, key }) => (kind === of && key !== undefined ? [key] : []));
  const [added, removed, changed] = [names('missing'), names('extra'), names('changed')];
  if (added.length + removed.length + changed.length === 0) return null;
  return {
    ...{ added: added.length, removed: removed.length, changed: changed.length },
    added_keys: added.slice(0, MAX_NAMES),
    removed_keys: removed.slice(0, MAX_NAMES),
    changed_keys: changed.slice(0, MAX_NAMES),
  };
}

/** Returns the reason of a hold for a name server with this name. */
export function holdReason({ added, removed, changed }: Held, name: string): Failure {
  return {
    code: 'held',
    message: `another or a newer database delivered the keys last. This database would add ${added}, remove ${removed} and change ${changed}. To deliver them, run: tsigil delivery resume --nameserver ${name}`,
  };
}

/** Returns the deliveries to hold: the keys that the name server lacks or has with other values. */
export function rowsToHold(
  { keys }: DesiredState,
  former: readonly Delivery[],
  differences: readonly Difference[],
): Delivery[] {
  const differing = new Set(
    differences.flatMap(({ kind, key }) => (kind === 'missing' || kind === 'changed' ? key : [])),
  );
  const rows = new Map(former.map((row) => [row.keyId, row]));
  return keys
    .filter(({ name }) => differing.has(name))
    .map(({ id, name, version }) => ({
      ...({ keyId: id, keyName: name, state: 'held', deliveredVersion: version } as const),
      appliedAt: rows.get(id)?.appliedAt ?? null,
      verifiedAt: rows.get(id)?.verifiedAt ?? null,
      error: null,
    }));
}

/**
 * Returns the state to deliver during a hold, and the deliveries that stay held. A key that was
 * changed since the start of the hold has a later version, and is delivered.
 */
export function withoutHeld(
  state: DesiredState,
  former: readonly Delivery[],
): { readonly state: DesiredState; readonly heldIds: ReadonlySet<string> } {
  const versions = new Map(
    former.flatMap((row): [string, number][] =>
      row.state === 'held' ? [[row.keyId, row.deliveredVersion]] : [],
    ),
  );
  const keys: DesiredKey[] = [];
  const heldIds = new Set<string>();
  for (const key of state.keys)
    if (versions.get(key.id) === key.version) heldIds.add(key.id);
    else keys.push(key);
  return { state: { ...state, keys, isHeld: true }, heldIds };
}

/**
 * Returns the state to deliver while a change of the name server waits for a confirmation, and the
 * deliveries that stay as they are: all but those of keys that callers deleted, moved or changed.
 */
export function withoutBlocked(
  state: DesiredState,
  former: readonly Delivery[],
): { readonly state: DesiredState; readonly heldIds: ReadonlySet<string> } {
  const rows = new Map(former.map((row) => [row.keyId, row]));
  const keys = state.keys.filter(({ id, version }) => {
    const delivered = rows.get(id)?.deliveredVersion ?? 0;
    return delivered > 0 && delivered !== version && rows.get(id)?.state !== 'undeliverable';
  });
  const changed = new Set(keys.map(({ id }) => id));
  const heldIds = new Set(
    former.flatMap(({ keyId, state: of }) =>
      of === 'removing' || changed.has(keyId) ? [] : keyId,
    ),
  );
  return { state: { ...state, keys, kept: [], isHeld: true }, heldIds };
}
