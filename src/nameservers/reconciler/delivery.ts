import { randomUUID } from 'node:crypto';
import type {
  DeliveryStatus,
  DeliveryStore,
  ShownRequirement,
} from '../../domain/delivery/ports.ts';
import type { Store } from '../../domain/model/ports.ts';
import type { Dependencies } from '../../domain/operations/change.ts';
import { describeResult, type DeliveryLog } from './log.ts';
import type { PassResult } from './pass.ts';
import { startReconciler, type Reconciler, type ServedNameServer } from './reconciler.ts';
import { registerNameServers, type ConfiguredNameServer } from './registration.ts';
import { verifyByQueries, type Verify } from './verification.ts';

/** What the delivery of keys needs. */
export interface DeliveryOptions {
  readonly store: Store;
  readonly deliveries: DeliveryStore;
  readonly status: Pick<DeliveryStatus, 'statuses' | 'ofKey' | 'request'>;
  readonly nameServers: readonly ConfiguredNameServer[];
  readonly onDrift: 'repair' | 'report';
  readonly concurrency: number;
  readonly log: DeliveryLog;
  /** Receives the result of each pass, for metrics. */
  observe(result: PassResult, seconds: number): void;
  readonly verify?: Verify | undefined;
}

/** The delivery of keys by this process. */
export interface RunningDelivery {
  /** The status, for callers. */
  readonly status: DeliveryStatus;
  /** Registers the name servers of the configuration, and starts to deliver. */
  start(dependencies: Dependencies): Promise<void>;
  close(graceMs: number): Promise<void>;
}

/** The time limit of a check of requirements. */
const CHECK_MS = 20_000;

/** Prepares the delivery of keys to the name servers of this process. */
export function prepareDelivery(options: DeliveryOptions): RunningDelivery {
  const { store, deliveries, status, nameServers, log } = options;
  const waiters = new Set<() => void>();
  let reconciler: Reconciler | undefined;
  let served: readonly ServedNameServer[] = [];
  let stopListening: (() => Promise<void>) | undefined;
  const listen = () => {
    stopListening ??= store.onAnnounced(() => {
      reconciler?.wake();
      for (const resolve of waiters) resolve();
    });
  };
  return {
    status: {
      ...status,
      milliseconds: () => performance.now(),
      async request(id, confirm) {
        await status.request(id, confirm);
        store.announced();
      },
      changed(ms) {
        listen();
        return new Promise((resolve) => {
          const done = () => {
            clearTimeout(timer);
            waiters.delete(done);
            resolve();
          };
          const timer = setTimeout(done, ms);
          waiters.add(done);
        });
      },
      async check(id) {
        const server = served.find((each) => each.id === id);
        if (server === undefined) return [NOT_SERVED];
        const requirements = await server.driver.check(AbortSignal.timeout(CHECK_MS));
        return requirements.map(
          ({ requirement, ok, problem = null, hint = null }): ShownRequirement => ({
            ...{ requirement, ok, problem, hint },
          }),
        );
      },
    },
    async start(dependencies) {
      if (nameServers.length === 0) return;
      served = await registerNameServers(dependencies, nameServers);
      const ids = served.map(({ id }) => id);
      await deliveries.checkNow(ids);
      await deliveries.seen(ids);
      reconciler = startReconciler({
        store: deliveries,
        servers: served,
        verify: options.verify ?? verifyByQueries,
        clock: dependencies.clock,
        random: Math.random,
        holder: randomUUID(),
        onDrift: options.onDrift,
        concurrency: options.concurrency,
        observe(result, seconds) {
          options.observe(result, seconds);
          describeResult(log, result);
          store.announced();
        },
        failed: (err) => log.error({ err }, 'The delivery of keys cannot use the database'),
      });
      listen();
    },
    async close(graceMs) {
      await stopListening?.();
      await reconciler?.close(graceMs);
    },
  };
}

const NOT_SERVED: ShownRequirement = {
  requirement: "The process that responds has the name server in its setting 'nameServers'.",
  ok: false,
  problem: "The name server is not in its setting 'nameServers'.",
  hint: "Add it to 'nameServers' in the configuration, and restart the service.",
};
