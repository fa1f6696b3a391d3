import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryStore } from '../delivery-ports.ts';
import type { Clock } from '../../core/ports.ts';
import { runJob } from '../../core/scheduling/job.ts';
import { untilCalm } from '../../brands/bursts.ts';
import type { Driver } from '../../brands/driver.ts';
import type { LogReader } from '../log-protocol.ts';
import { makePass, type PassDependencies } from './pass.ts';
import type { PassResult } from './record.ts';
import type { Verify } from './verification.ts';

/** How often the reconciler looks for work that no notification announced. */
const POLL_MS = 1000;

/** How often a process reports that it serves its name servers. */
const SEEN_MS = 10_000;

export interface ServedNameServer {
  readonly id: string;
  readonly driver: Driver;
  /** The shortest time between two passes that change the name server. */
  readonly minimumIntervalMs: number;
  readonly logReader?: LogReader | undefined;
}

export interface ReconcilerDependencies {
  readonly store: DeliveryStore;
  readonly servers: readonly ServedNameServer[];
  readonly verify: Verify;
  readonly clock: Clock;
  random(): number;
  readonly holder: string;
  /** The time since when callers can change this database. */
  readonly since: string;
  readonly concurrency: number;
  observe(result: PassResult, seconds: number): void;
  /** Receives errors of the database. */
  failed(error: unknown): void;
}

export interface Reconciler {
  wake(): void;
  /** Starts no more passes. */
  stop(): void;
  /** Stops, waits for the passes in progress, which `overdue` aborts, and releases all claims. */
  close(overdue: AbortSignal): Promise<void>;
}

function nothingRead(): Pick<PassDependencies, 'memory' | 'lastRead'> {
  return { memory: new Map(), lastRead: {} };
}

/**
 * Applies the desired state to its name servers after each change, and checks each name server
 * about every 60 s. Each name server has one pass at a time. All changes during a pass share the
 * next pass, and so do the changes of a burst. A slow or failing name server does not delay other
 * name servers.
 */
export function startReconciler(dependencies: ReconcilerDependencies): Reconciler {
  const { store, servers, concurrency, failed } = dependencies;
  const byId = new Map(servers.map((server) => [server.id, server]));
  const ids = [...byId.keys()];
  const memories = new Map(ids.map((id) => [id, nothingRead()]));
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const ending = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  /** The name servers whose last pass failed. They use at most half of the concurrent passes. */
  const failing = new Set<string>();
  /** The name servers whose next pass waits for the end of a burst or of the minimum interval. */
  const delayed = new Set<string>();
  /** The name servers whose next pass has waited, or waits, for the end of a burst. */
  const calm = new Set<string>();
  /** When the last pass of each name server began. Those that waited longest come next. */
  const started = new Map<string, number>();
  const mayStart = (id: string) => {
    if (running.size >= concurrency) return false;
    const busy = [...running.keys()].filter((each) => failing.has(each)).length;
    return !failing.has(id) || busy < Math.max(1, concurrency / 2);
  };
  let hasFailed = false;

  const report = (error: unknown) => {
    // Report only once, not at every poll while the database does not respond.
    if (!hasFailed && !isStopping()) failed(error);
    hasFailed = true;
  };

  const run = async (server: ServedNameServer): Promise<void> => {
    const { id, driver, minimumIntervalMs, logReader } = server;
    const began = performance.now();
    started.set(id, began);
    try {
      const result = await makePass(
        {
          ...dependencies,
          ...(memories.get(id) ?? nothingRead()),
          driver,
          logReader,
          signal: ending.signal,
        },
        id,
      );
      if (result === undefined) return;
      if (result.outcome === 'failed') failing.add(id);
      else failing.delete(id);
      dependencies.observe(result, (performance.now() - began) / 1000);
      hasFailed = false;
      if (result.outcome === 'changed' && minimumIntervalMs > 0)
        void delay(id, pause(minimumIntervalMs, undefined, { ref: false }));
    } catch (error) {
      report(error);
    }
  };

  /** Starts no pass for the name server until `time` resolves. */
  const delay = async (id: string, time: Promise<void>): Promise<void> => {
    delayed.add(id);
    await time.catch(report);
    delayed.delete(id);
    wake();
  };
  const look = async (): Promise<void> => {
    const idle = ids.filter((each) => !running.has(each) && !delayed.has(each));
    const startOf = (id: string) => started.get(id) ?? 0;
    const due = await store.due(idle);
    for (const id of due.toSorted((one, other) => startOf(one) - startOf(other))) {
      const server = byId.get(id);
      if (server === undefined || isStopping()) continue;
      if (!calm.has(id)) {
        calm.add(id);
        void delay(
          id,
          untilCalm(() => store.countChanges(id), isStopping),
        );
      } else if (mayStart(id)) {
        calm.delete(id);
        const pass = run(server).finally(() => {
          running.delete(id);
          wake();
        });
        running.set(id, pass);
      }
    }
  };

  const looking = runJob({ everyMs: POLL_MS, work: look, failed: report });
  const seen = runJob({ everyMs: SEEN_MS, work: () => store.seen(ids), failed: report });
  const { wake } = looking;
  wake();

  return {
    wake,
    stop: () => stopping.abort(),
    async close(overdue) {
      stopping.abort();
      if (overdue.aborted) ending.abort();
      overdue.addEventListener('abort', () => ending.abort(), { once: true });
      await Promise.all([looking.close(), seen.close()]);
      await Promise.all(running.values());
      await Promise.all(servers.flatMap(({ logReader }) => logReader?.close() ?? []));
      await store.releaseAll(dependencies.holder).catch(() => undefined);
    },
  };
}
