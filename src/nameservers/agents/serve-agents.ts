import { readEtag, writeDesired } from '../../domain/delivery/agent-pass.ts';
import {
  type AgentDelivery,
  type AgentRequest,
  type DesiredForAgent,
  NO_AGENT,
} from '../../domain/delivery/agent-protocol.ts';
import { hashOf, intendedOf, leftOutOf } from '../../domain/delivery/desire.ts';
import {
  LeaseLostError,
  type AgentStore,
  type Claim,
  type DeliveryStore,
} from '../../domain/delivery/ports.ts';
import { ServiceError } from '../../domain/model/errors.ts';
import type { Clock, Store } from '../../domain/model/ports.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import { createFairQueue } from '../../domain/scheduling/fair-queue.ts';
import { failureOf } from '../reconciler/failures.ts';
import { LEASE_MS } from '../reconciler/lease.ts';
import type { PassResult } from '../reconciler/pass.ts';
import { retryMs } from '../reconciler/schedule.ts';
import { readReport, recordReport, redactorFor } from './report.ts';
import { waitForWork } from './waiting.ts';

/**
 * At most this many passes read keys at the same time, one for each name server. The passes of
 * other name servers wait.
 */
const READS = { concurrency: 2, concurrencyPerOwner: 1, maxWaitingPerOwner: 1, maxWaiting: 10_000 };

/** The dependencies of the delivery by agents. */
export interface AgentDependencies {
  readonly store: Store;
  readonly deliveries: DeliveryStore;
  readonly agents: AgentStore;
  readonly clock: Clock;
  /** Receives the result of each pass of an agent. */
  observe(result: PassResult, seconds: number): void;
  /** Receives errors of the database. */
  failed(error: unknown): void;
}

/** The delivery by agents, in one process of the service. */
export interface RunningAgentDelivery extends AgentDelivery {
  /** Ends all waiting requests. Later requests do not wait. */
  close(): Promise<void>;
}

/** Sends agents the keys of their name servers, and records the agents' reports. */
export function serveAgents(dependencies: AgentDependencies): RunningAgentDelivery {
  const { store, deliveries, agents, clock } = dependencies;
  const work = waitForWork({
    due: (ids) => agents.due(ids),
    countChanges: (id) => deliveries.countChanges(id),
    listen: (wake) => store.onAnnounced(wake),
    failed: (error) => dependencies.failed(error),
  });
  const turns = createFairQueue(READS);
  /** The name servers with a request in progress that does not wait for work. */
  const busy = new Set<string>();
  const alone = async <T>(id: string, run: () => Promise<T>): Promise<T> => {
    if (busy.has(id)) throw new ServiceError('too_many_requests', BUSY, { retryAfterSeconds: 1 });
    busy.add(id);
    return run().finally(() => busy.delete(id));
  };
  return {
    close: () => work.close(),
    async desired(id, request) {
      const { agent, waitMs, etag, disconnected } = request;
      const known = readEtag(etag ?? '');
      const lease = await alone(id, () => agents.poll(id, agent, waitMs + LEASE_MS));
      // An agent without the last state gets it at once, because the response with this state was
      // lost.
      const isForced = known?.fence !== lease.fence && !lease.isPaused;
      const hasWork = isForced || (await work.wait(id, waitMs, disconnected));
      // The agent may have ended. With the shorter lease, another agent can take over sooner.
      if (!hasWork && disconnected.aborted) await agents.poll(id, agent, LEASE_MS);
      if (!(await request.isValid())) throw new ServiceError('unauthenticated');
      const read = async () => {
        const claim = await agents.claim(id, agent, LEASE_MS, isForced);
        return claim && handOut(dependencies, claim, request, known?.hash);
      };
      const keys = hasWork ? await alone(id, () => turns.run(id, read, disconnected)) : undefined;
      if (keys !== undefined) return keys;
      if (known !== undefined) return undefined;
      throw new ServiceError(
        'agent_conflict',
        'The delivery to this name server is paused. To resume it, run: tsigil nameserver set NAME --paused false',
      );
    },
    async observed(id, report) {
      const server = await store.get(nameServer, id);
      if (server === undefined) throw new ServiceError('resource_not_found', nameServer);
      if (server.delivery !== 'agent') throw new ServiceError('agent_conflict', NO_AGENT);
      const former = await deliveries.deliveries(id);
      const redact = await redactorFor(deliveries, server, report, former);
      const read = readReport(server, report, former, clock(), redact);
      const lagSeconds = await orConflict(recordReport(deliveries, server, report, read));
      dependencies.observe({ ...read.result, lagSeconds }, report.duration_ms / 1000);
    },
    renew: (id, { agent, fence }) => orConflict(agents.renew(id, agent, fence, LEASE_MS)),
  };
}

const BUSY =
  'The service is reading the keys of this name server for another request. Repeat the request';

/** Returns the result of `work`. Throws `agent_conflict` if the lease was lost. */
async function orConflict<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    throw new ServiceError('agent_conflict', 'A later pass has begun. Read the keys again');
  }
}

/**
 * Reads the keys of a name server for its agent. New keys count as Tsigil's from now on. Records
 * and rethrows a failure.
 */
async function handOut(
  { deliveries }: AgentDependencies,
  claim: Claim,
  { agent }: AgentRequest,
  knownHash: string | undefined,
): Promise<DesiredForAgent> {
  const { server, fence } = claim;
  try {
    // Read the ids first. A change that commits in between is then in the state, and its row
    // remains.
    const changes = await deliveries.outbox(server.id);
    const desired = await deliveries.desired(server);
    const former = await deliveries.deliveries(server.id);
    await deliveries.intend(server.id, agent, fence, [
      ...intendedOf(desired.state.keys, former),
      ...leftOutOf(desired, former),
    ]);
    const hash = hashOf(desired.state);
    return writeDesired(claim, hash, changes, desired, former, hash === knownHash);
  } catch (error) {
    if (error instanceof LeaseLostError)
      throw new ServiceError('agent_conflict', 'Another agent holds the lease of the name server');
    const recorded = deliveries.fail(server.id, agent, fence, {
      ...({ state: 'failed', error: failureOf(error), refusals: 0 } as const),
      retryMs: (attempts) => retryMs(attempts, 0, undefined, Math.random),
      keepLeaseMs: LEASE_MS,
    });
    await recorded.catch(() => undefined); // the caller gets the first error
    throw error;
  }
}
