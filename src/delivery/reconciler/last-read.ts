import { hashOf } from '../desire.ts';
import type { Claim, Delivery, DeliveryStore, Desire } from '../delivery-ports.ts';
import { isNew } from './schedule.ts';

/** The most passes in a row that use a desired state again: about 15 minutes of checks. */
const MAX_USES = 14;

export interface ReadState {
  readonly desired: Desire;
  readonly hash: string;
  readonly former: readonly Delivery[];
}

/** What this process read last for a name server. A pass without changes uses it again. */
export interface LastRead {
  kept?: Omit<ReadState, 'former'> & {
    /** The last pass that used the state. */
    fence: number;
    uses: number;
    readonly updatedAt: string | null | undefined;
    /** The deliveries as the last pass recorded them. Absent if it added or removed any. */
    former?: readonly Delivery[] | undefined;
  };
}

/**
 * Returns the desired state of a claimed name server, and its deliveries. `outbox` has its pending
 * changes, which were read before. Uses the state of the last pass if no change is pending and no
 * one else has claimed the name server since: a pass removes only changes from the outbox that its
 * state includes. Every change of deliveries outside a pass adds such a change, too. Always reads a
 * state with secrets that this process cannot decrypt, because loading a data key is no change.
 */
export async function readDesired(
  store: Pick<DeliveryStore, 'desired' | 'deliveries'>,
  { server, fence }: Claim,
  outbox: readonly string[],
  last: LastRead,
  now: string,
): Promise<ReadState> {
  const { kept } = last;
  if (
    kept !== undefined &&
    outbox.length === 0 &&
    fence === kept.fence + 1 &&
    server.updated_at === kept.updatedAt &&
    kept.uses < MAX_USES
  ) {
    kept.fence = fence;
    kept.uses += 1;
    const { desired, hash, former = await store.deliveries(server.id) } = kept;
    kept.former = undefined; // unless this pass ends without a change of them
    return { desired, hash, former };
  }
  delete last.kept;
  const found = await store.desired(server);
  const hash = hashOf(found.state);
  // Drivers compare an equal state faster if it is the same one.
  const isEqual = kept?.hash === hash && hasEqualSecrets(kept.desired, found);
  const desired = isEqual ? { ...found, state: kept.desired.state } : found;
  const read = { desired, hash };
  const isReadable = desired.undeliverable.every(({ code }) => code !== 'unreadable_secret');
  // The changes of other processes may not be in the outbox of a new name server.
  if (isReadable && !isNew(server, now))
    last.kept = { ...read, fence, uses: 0, updatedAt: server.updated_at };
  return { ...read, former: await store.deliveries(server.id) };
}

/** Returns whether the keys of two states with the same hash have the same secrets, too. */
function hasEqualSecrets({ state: one }: Desire, { state: other }: Desire): boolean {
  return one.keys.every(({ secret }, index) => secret === other.keys[index]?.secret);
}
