import { randomBytes } from 'node:crypto';
import type { DesiredKey } from '../../brands/desired-state.ts';
import type { Delivery } from '../delivery-ports.ts';
import type { Fault } from '../../core/fault.ts';
import type { NameServer } from '../../resources/name-server.ts';
import type { Answer } from '../agent-protocol.ts';
import { rowsById } from './delivery-rows.ts';

/**
 * The number of stamps that the database keeps for a name server. A process that was suspended
 * during an apply may write its stamp many passes later.
 */
const MAX_STAMPS = 64;

/** The maximum number of names in each list of a hold. */
const MAX_NAMES = 100;

/** What a hold leaves undelivered on a name server. */
export type Held = NonNullable<NameServer['held']>;

export function newStamp(): string {
  return randomBytes(8).toString('hex');
}

/** Returns `next` and the other stamps that the name server may have. `carried` is its present one. */
export function nextStamps(
  next: string,
  carried: string | null | undefined,
  otherStamps: readonly string[],
): string[] {
  return [...new Set([next, ...(carried ? [carried] : []), ...otherStamps])].slice(0, MAX_STAMPS);
}

/** Returns what would change on the name server without a hold, or null if no key would change. */
export function heldOf(differences: Answer['differences']): Held | null {
  const names = (of: 'missing' | 'changed' | 'extra') =>
    differences.flatMap(({ kind, key }) => (kind === of && key !== null ? [key] : []));
  const [added, removed, changed] = [names('missing'), names('extra'), names('changed')];
  if (added.length + removed.length + changed.length === 0) return null;
  return {
    added: added.length,
    removed: removed.length,
    changed: changed.length,
    added_keys: added.slice(0, MAX_NAMES),
    removed_keys: removed.slice(0, MAX_NAMES),
    changed_keys: changed.slice(0, MAX_NAMES),
  };
}

export function holdReason({ added, removed, changed }: Held, name: string): Fault {
  return {
    code: 'held',
    message: `another or a newer database delivered the keys last. This database would add ${added}, remove ${removed} and change ${changed}. To deliver them, run: tsigil delivery resume --nameserver ${name}`,
  };
}

/** Returns the deliveries to hold: the keys that the name server lacks or has with other values. */
export function rowsToHold(
  keys: readonly DesiredKey[],
  former: readonly Delivery[],
  differences: Answer['differences'],
): Delivery[] {
  const differing = new Set(
    differences.flatMap(({ kind, key }) =>
      kind === 'missing' || kind === 'changed' ? (key ?? []) : [],
    ),
  );
  const rows = rowsById(former);
  return keys
    .filter(({ name }) => differing.has(name))
    .map(({ id, name, version }) => ({
      keyId: id,
      keyName: name,
      state: 'held',
      deliveredVersion: version,
      appliedAt: rows.get(id)?.appliedAt ?? null,
      verifiedAt: rows.get(id)?.verifiedAt ?? null,
      error: null,
    }));
}

/**
 * Returns the keys to deliver during a hold. A key that was changed since the start of the hold has
 * a later version, and is delivered.
 */
export function withoutHeld(
  keys: readonly DesiredKey[],
  former: readonly Delivery[],
): readonly DesiredKey[] {
  const versions = new Map(
    former.flatMap((row): [string, number][] =>
      row.state === 'held' ? [[row.keyId, row.deliveredVersion]] : [],
    ),
  );
  return keys.filter(({ id, version }) => versions.get(id) !== version);
}

/**
 * Returns the keys to deliver while a change of the name server waits for a confirmation: those that
 * callers changed after their delivery.
 */
export function withoutBlocked(
  keys: readonly DesiredKey[],
  former: readonly Delivery[],
): readonly DesiredKey[] {
  const rows = rowsById(former);
  return keys.filter(({ id, version }) => {
    const { deliveredVersion = 0, state } = rows.get(id) ?? {};
    return deliveredVersion > 0 && deliveredVersion !== version && state !== 'undeliverable';
  });
}
