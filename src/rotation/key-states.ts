import type { KeyOnServer } from '../delivery/delivery-ports.ts';
import { deliveriesOf } from '../delivery/shown-deliveries.ts';
import type { ShownDeliveries } from '../delivery/responses.ts';
import { isUnusable, weaknessesOf, WEAKNESSES, type KeyFacts } from '../resources/tsigkey.ts';
import { lifecycle, lineage } from '../resources/lineage.ts';
import { expiryOf } from '../resources/expiry.ts';
import type { Dependencies } from '../resources/operations/change.ts';

export const FLAWS = [...WEAKNESSES, 'unusable'] as const;

export interface KeyState {
  readonly id: string;
  readonly state: ShownDeliveries['state'];
  readonly weakness: readonly (typeof FLAWS)[number][];
  readonly secret_set_at: string;
}

/** The state of each key on all its name servers. `places` is what `ofKeys` returned. */
export function keyStates(
  keys: readonly KeyFacts[],
  places: readonly (readonly KeyOnServer[])[],
): KeyState[] {
  return keys.map((key, index) => ({
    id: key.id,
    state: deliveriesOf(key, places[index] ?? []).state,
    weakness: [...weaknessesOf(key), ...(isUnusable(key) ? (['unusable'] as const) : [])],
    secret_set_at: key.secret_set_at,
  }));
}

/** Returns for each key who answers for it, and when it should be replaced if nothing replaces it. */
export async function describedKeys(
  { store, settings }: Pick<Dependencies, 'store' | 'settings'>,
  keys: readonly KeyFacts[],
): Promise<{ readonly owner: string | null; readonly expires_at: string | null }[]> {
  const found = await store.find(
    lifecycle,
    'id',
    keys.map(({ id }) => id),
  );
  const rows = new Map(found.map((row) => [row.id, row]));
  const ids = [...new Set(found.map((row) => row.lineage_id))];
  const owners = new Map(
    (ids.length === 0 ? [] : await store.find(lineage, 'id', ids)).map((own) => [
      own.id,
      own.owner,
    ]),
  );
  return keys.map((key) => {
    const row = rows.get(key.id);
    const isReplaced = row !== undefined && row.state !== 'active';
    return {
      owner: owners.get(row?.lineage_id ?? '') ?? null,
      expires_at: isReplaced ? null : expiryOf(key, row, settings.maxAgeDays),
    };
  });
}
