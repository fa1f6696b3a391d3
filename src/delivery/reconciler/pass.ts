import type { DesiredKey } from '../../brands/desired-state.ts';
import { intendedOf, leftoversOf } from '../desire.ts';
import { LeaseLostError, type Claim, type DeliveryStore } from '../delivery-ports.ts';
import type { Driver } from '../../brands/driver.ts';
import type { LogReader } from '../log-protocol.ts';
import { nextStamps } from './hold.ts';
import type { LastRead } from './last-read.ts';
import { keepLease, LEASE_MS } from './lease.ts';
import { performPass } from './perform.ts';
import { preparePass } from './prepare.ts';
import {
  nothing,
  recordError,
  recordPass,
  type PassResult,
  type RecordDependencies,
} from './record.ts';
import type { Verify } from './verification.ts';

export interface PassDependencies extends RecordDependencies {
  readonly store: DeliveryStore;
  readonly driver: Driver;
  readonly verify: Verify;
  /** The id of this process. */
  readonly holder: string;
  readonly memory: Map<string, DesiredKey>;
  readonly lastRead: LastRead;
  readonly logReader?: LogReader | undefined;
  /** Aborts when the service stops without waiting for the pass to end. */
  readonly signal: AbortSignal;
}

/**
 * Returns undefined if there is no work or another process has the claim. After a failure, records
 * it and leaves the outbox unchanged. Throws errors of the database.
 */
export async function makePass(
  dependencies: PassDependencies,
  id: string,
): Promise<PassResult | undefined> {
  const { store, holder } = dependencies;
  const claim = await store.claim(id, holder, LEASE_MS);
  if (claim === undefined) return undefined;
  const lease = keepLease(store, id, holder, claim.fence, dependencies.signal);
  const applying: { keys?: readonly DesiredKey[]; stamp?: string } = {};
  try {
    return await reconcile(dependencies, claim, applying, lease.signal);
  } catch (error) {
    const result =
      error instanceof LeaseLostError || lease.isLost()
        ? undefined
        : await recordError(dependencies, claim, error).catch((lost: unknown) => {
            if (!(lost instanceof LeaseLostError)) throw lost;
          });
    if (result !== undefined) return result;
    // This pass may have replaced what a later holder applied, or added keys that the later holder
    // removed.
    const { keys, stamp = '' } = applying;
    if (keys !== undefined) await store.leave(id, leftoversOf(keys), stamp);
    return { ...nothing(claim.server), outcome: 'lost' };
  } finally {
    lease.stop();
  }
}

async function reconcile(
  dependencies: PassDependencies,
  claim: Claim,
  applying: { keys?: readonly DesiredKey[]; stamp?: string },
  signal: AbortSignal,
): Promise<PassResult> {
  const { store, holder, clock, random } = dependencies;
  const { server, fence } = claim;
  const { job, plan, former, revived } = await preparePass(
    store,
    claim,
    clock(),
    random,
    dependencies.lastRead,
  );
  if (revived.length > 0) await store.intend(server.id, holder, fence, revived);
  const { stamps } = job;
  const result = await performPass(job, {
    ...dependencies,
    signal,
    async begin(keys, carried) {
      [applying.stamp = ''] = stamps;
      const next = nextStamps(applying.stamp, carried, claim.stamps);
      await store.begin(server.id, holder, fence, intendedOf(keys, former), next);
      applying.keys = keys;
    },
    isInterrupted: () => store.isBehind(server.id, plan.outbox),
  });
  const ended = { server, holder, fence, plan, former, stamps };
  const recorded = await recordPass(dependencies, ended, result);
  dependencies.logReader?.acknowledge();
  const { kept } = dependencies.lastRead;
  if (kept?.fence === fence) kept.former = recorded.deliveries;
  return recorded;
}
