import type { DeliveryStore } from '../delivery-ports.ts';
import { signalWithin } from '../../net/deadline.ts';

/** How long a claim lasts without renewal. Another process takes over after this time. */
export const LEASE_MS = 8000;

const RENEW_MS = 2500;

const PASS_MS = 120_000;

/** A claim that is renewed until `stop` is called. */
export interface Lease {
  /** Aborts once the claim is lost, the pass takes more than 2 minutes, or `stopping` aborts. */
  readonly signal: AbortSignal;
  isLost(): boolean;
  stop(): void;
}

export function keepLease(
  store: Pick<DeliveryStore, 'renew'>,
  id: string,
  holder: string,
  fence: number,
  stopping: AbortSignal,
): Lease {
  const lost = new AbortController();
  const stopped = new AbortController();
  const timer = setInterval(() => {
    store.renew(id, holder, fence, LEASE_MS).then(
      (renewed) => {
        if (!renewed) lost.abort();
      },
      () => undefined, // the next renewal or the fence decides
    );
  }, RENEW_MS);
  timer.unref();
  return {
    signal: signalWithin(PASS_MS, lost.signal, stopping, stopped.signal),
    isLost: () => lost.signal.aborted,
    stop() {
      clearInterval(timer);
      stopped.abort(); // cancels the time limit
    },
  };
}
