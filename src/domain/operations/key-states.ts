import { deliveriesOf } from '../delivery/status.ts';
import type { ShownDeliveries } from '../delivery/responses.ts';
import { isUnusable, weaknessesOf, WEAKNESSES, type Tsigkey } from '../resources/tsigkey.ts';
import type { Dependencies } from './change.ts';

/** What is wrong with a key itself. */
export const FLAWS = [...WEAKNESSES, 'unusable'] as const;

export interface KeyState {
  readonly id: string;
  readonly state: ShownDeliveries['state'];
  readonly weakness: readonly (typeof FLAWS)[number][];
  readonly secret_set_at: string;
}

/** Returns the state of each key on all its name servers, with a bounded number of queries. */
export async function keyStates(
  { delivery }: Pick<Dependencies, 'delivery'>,
  keys: readonly Tsigkey[],
): Promise<KeyState[]> {
  const places = (await delivery?.ofKeys(keys)) ?? [];
  return keys.map((key, index) => ({
    id: key.id,
    state: deliveriesOf(key, places[index] ?? []).state,
    weakness: [...weaknessesOf(key), ...(isUnusable(key) ? (['unusable'] as const) : [])],
    secret_set_at: key.secret_set_at,
  }));
}
