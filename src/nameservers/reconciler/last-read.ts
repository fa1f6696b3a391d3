import { hashOf } from '../../domain/delivery/desire.ts';
import type { Claim, DeliveryStore, Desire } from '../../domain/delivery/delivery-ports.ts';
import { isNew } from './schedule.ts';

/** The most passes in a row that use a desired state again: about 5 minutes of checks. */
const MAX_USES = 5;

/** The desired state of a name server as a pass read it, and the hash of the whole state. */
export interface ReadState {
  readonly desired: Desire;
  readonly hash: string;
}

/** What this process read last for a name server. A pass without changes uses it again. */
export interface LastRead {
  kept?: ReadState & {
    /** The last pass that used the state. */
    fence: number;
    uses: number;
    readonly updatedAt: string | null | undefined;
  };
}

/**
 * Returns the desired state of a claimed name server. `outbox` has its pending changes, which were
 * read before. Uses the state of the last pass if no change is pending and no one else has claimed
 * the name server since: a pass removes only changes from the outbox that its state includes.
 * Always reads a state with secrets that this process cannot decrypt, because loading a data key is
 * no change.
 */
export async function readDesired(
  store: Pick<DeliveryStore, 'desired'>,
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
    return kept;
  }
  delete last.kept;
  const desired = await store.desired(server);
  const read = { desired, hash: hashOf(desired.state) };
  const isReadable = desired.undeliverable.every(({ code }) => code !== 'unreadable_secret');
  // The changes of other processes may not be in the outbox of a new name server.
  if (isReadable && !isNew(server, now))
    last.kept = { ...read, fence, uses: 0, updatedAt: server.updated_at };
  return read;
}
