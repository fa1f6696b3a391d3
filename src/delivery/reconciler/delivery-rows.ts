import { idsOf } from '../../brands/desired-state.ts';
import type { Delivery, Desire, KeyVersion } from '../delivery-ports.ts';
import type { Fault } from '../../core/fault.ts';

/** The code of a key whose secret is lost or cannot be decrypted. */
export const UNREADABLE = 'unreadable_secret';

/** The code of a key that the name server also accepts where its grants do not permit it. */
export const TOO_WIDE = 'too_wide';

/** The code of a key that the configuration of its zone does not let do what it may. */
export const NOT_ADMITTED = 'not_admitted';

const maps = new WeakMap<readonly Delivery[], ReadonlyMap<string, Delivery>>();

/** Returns deliveries by the ids of their keys. A pass asks several times. */
export function rowsById(deliveries: readonly Delivery[]): ReadonlyMap<string, Delivery> {
  const rows = maps.get(deliveries) ?? new Map(deliveries.map((row) => [row.keyId, row]));
  maps.set(deliveries, rows);
  return rows;
}

/** Returns whether a name server may have a key. */
export function isOnServer({ state, appliedAt }: Delivery): boolean {
  return state !== 'undeliverable' || appliedAt !== null;
}

/** Returns whether a name server has a key that the configuration of its zone does not admit. */
export function isRefused({ state, error }: Delivery): boolean {
  return state === 'delivered' && error?.code === NOT_ADMITTED;
}

export function isDelivered(row: Delivery | undefined, version: number): boolean {
  return row?.state === 'delivered' && row.deliveredVersion === version;
}

/** Returns the keys that the name server may have but should not have. */
export function surplusOf({ state }: Desire, former: readonly Delivery[]): Delivery[] {
  const wanted = idsOf(state.keys);
  const kept = new Set(state.kept?.map(({ id }) => id));
  return former.filter((row) => !wanted.has(row.keyId) && !kept.has(row.keyId) && isOnServer(row));
}

/**
 * Returns the row of a key that cannot be delivered, or undefined if it is unchanged. A name server
 * keeps a key whose secret is lost or cannot be decrypted.
 */
export function undeliverableRow(
  { id, name, version }: KeyVersion,
  error: Fault,
  row: Delivery | undefined,
  now: string,
): Delivery | undefined {
  if (
    row?.state === 'undeliverable' &&
    row.deliveredVersion === version &&
    row.error?.message === error.message
  )
    return undefined;
  const isKept = error.code === UNREADABLE && row !== undefined;
  const appliedAt = row?.state === 'undeliverable' ? row.appliedAt : (row?.appliedAt ?? now);
  return {
    keyId: id,
    keyName: name,
    state: 'undeliverable',
    deliveredVersion: version,
    error,
    appliedAt: isKept ? appliedAt : null,
    verifiedAt: isKept ? row.verifiedAt : null,
  };
}
