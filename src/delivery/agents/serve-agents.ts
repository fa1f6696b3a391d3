import { type AgentRequest, type Job, NO_AGENT } from '../agent-protocol.ts';
import { intendedOf } from '../desire.ts';
import { LeaseLostError, type Claim } from '../delivery-ports.ts';
import { ServiceError } from '../../core/errors.ts';
import { nameServer } from '../../resources/name-server.ts';
import { createFairQueue } from '../../core/scheduling/fair-queue.ts';
import type { RunningAgentDelivery, ServedAgents } from '../reconciler/running-delivery.ts';
import { LEASE_MS } from '../reconciler/lease.ts';
import { preparePass } from '../reconciler/prepare.ts';
import { recordError, recordPass } from '../reconciler/record.ts';
import { waitForWork } from './waiting.ts';

/** The passes that read keys at the same time, one for each name server. Others wait. */
const READS = {
  concurrency: 2,
  concurrencyPerOwner: 1,
  maxWaitingPerOwner: 10_000,
  maxWaiting: 10_000,
};

/** Hands out the passes of name servers to their agents, and records the answers. */
export function serveAgents(dependencies: ServedAgents): RunningAgentDelivery {
  const { store, deliveries, agents } = dependencies;
  const work = waitForWork({
    due: (ids) => agents.due(ids),
    countChanges: (id) => deliveries.countChanges(id),
    listen: (wake) => store.onAnnounced(wake),
    failed: (error) => dependencies.failed(error),
  });
  const polls = createFairQueue({ ...READS, concurrency: 8 });
  const turns = createFairQueue(READS);
  return {
    close: () => work.close(),
    async desired(id, request) {
      const { agent, waitMs, knownTag, disconnected } = request;
      const poll = () => agents.poll(id, agent, waitMs + LEASE_MS);
      const { isPaused } = await polls.run(id, poll, disconnected);
      // An agent without a state gets one at once.
      const isForced = knownTag === undefined && !isPaused;
      const hasWork = isForced || (await work.wait(id, waitMs, disconnected));
      // The agent may have ended, and its successor has another name.
      if (!hasWork && disconnected.aborted) await agents.poll(id, agent, 0);
      if (!(await request.isValid())) throw new ServiceError('unauthenticated');
      const job = hasWork
        ? await turns.run(id, () => handOut(dependencies, id, request, isForced), disconnected)
        : undefined;
      if (job !== undefined || knownTag !== undefined) return job;
      throw new ServiceError(
        'agent_conflict',
        'The delivery to this name server is paused. To resume it, run: tsigil nameserver set NAME --paused false',
      );
    },
    async observed(id, { agent, fence, duration_ms: ms, ...result }) {
      const server = await store.get(nameServer, id);
      if (server === undefined) throw new ServiceError('resource_not_found', nameServer);
      if (server.delivery !== 'agent') throw new ServiceError('agent_conflict', NO_AGENT);
      const former = await deliveries.deliveries(id);
      const recorded = await orConflict(async () => {
        const assigned = await deliveries.assigned(id, agent, fence);
        const lease = { holder: agent, fence, keepLeaseMs: LEASE_MS };
        const parts = { ...dependencies, store: deliveries, random: Math.random };
        return recordPass(parts, { server, ...lease, former, ...assigned }, result);
      });
      dependencies.observe(recorded, ms / 1000);
    },
    renew: (id, { agent, fence }) => orConflict(() => agents.renew(id, agent, fence, LEASE_MS)),
  };
}

/** Returns the result of `work`. Throws `agent_conflict` if the lease was lost. */
async function orConflict<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    throw new ServiceError('agent_conflict', 'A later pass has begun. Request the next job');
  }
}

/**
 * Returns the next job of a name server, or undefined if there is none. New keys count as Tsigil's
 * from now on. Records a failure.
 */
async function handOut(
  dependencies: ServedAgents,
  id: string,
  { agent, knownTag }: AgentRequest,
  isForced: boolean,
): Promise<Job | undefined> {
  const { deliveries, agents, clock } = dependencies;
  const claim = await agents.claim(id, agent, LEASE_MS, isForced);
  if (claim === undefined) return undefined;
  try {
    const prepared = await preparePass(deliveries, claim, clock(), Math.random);
    const { job, plan, former, revived } = prepared;
    // The stamp that the agent reported last stays the first one, so that it is never forgotten.
    const [next = '', ...known] = job.stamps;
    await deliveries.assign(id, agent, claim.fence, {
      plan,
      stamps: [...known.slice(0, 1), next, ...known.slice(1)],
      rows: [...intendedOf(job.state.keys, former), ...revived],
      isApplied: job.is_applied,
    });
    return job.tag === knownTag ? { ...job, state: null } : job;
  } catch (error) {
    if (error instanceof LeaseLostError)
      throw new ServiceError('agent_conflict', 'Another agent holds the lease of the name server');
    await fail(dependencies, agent, claim, error);
    throw error;
  }
}

async function fail(
  { deliveries, observe }: ServedAgents,
  holder: string,
  claim: Claim,
  error: unknown,
): Promise<void> {
  const parts = { store: deliveries, random: Math.random, holder };
  const recorded = recordError(parts, claim, error, LEASE_MS);
  await recorded.then((result) => observe(result, 0)).catch(() => undefined); // the caller gets `error`
}
