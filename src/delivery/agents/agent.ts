import { setTimeout as pause } from 'node:timers/promises';
import { MAX_ANSWER_BYTES, type Job } from '../agent-protocol.ts';
import type { DesiredKey } from '../../brands/desired-state.ts';
import { LeaseLostError } from '../delivery-ports.ts';
import type { Driver } from '../../brands/driver.ts';
import type { LogReader } from '../log-protocol.ts';
import { failureOf } from '../reconciler/failures.ts';
import { keepLease, LEASE_MS } from '../reconciler/lease.ts';
import type { DeliveryLog } from '../reconciler/log.ts';
import {
  failedPass,
  partOf,
  performPass,
  type FullJob,
  type Result,
} from '../reconciler/perform.ts';
import { minimumIntervalOf } from '../reconciler/registration.ts';
import type { Verify } from '../reconciler/verification.ts';
import { RefusedError, type ServiceLink } from './service-link.ts';

/** The longest pause between two attempts to reach the service. */
const MAX_PAUSE_MS = 5000;

/** The shortest and the longest pause if another agent has the lease of the name server. */
const [MIN_TAKEOVER_MS, MAX_TAKEOVER_MS] = [500, 1500];

/** The shortest time between two requests if nothing changes. */
const MIN_POLL_MS = 1000;

/** How long an agent waits for the service before it first repairs the name server alone. */
const FIRST_REPAIR_MS = 5000;

/** How often an agent repairs the name server while the service does not respond. */
const REPAIR_MS = 60_000;

export interface AgentDependencies {
  readonly link: ServiceLink;
  readonly agent: string;
  /** The name of the name server. */
  readonly nameServer: string;
  readonly driver: string;
  createDriver(id: string): Driver;
  readonly logReader?: LogReader | undefined;
  readonly verify: Verify;
  readonly log: DeliveryLog;
  readonly signal: AbortSignal;
  /** Returns a number from 0 to 1. */
  random(): number;
}

/**
 * Makes the passes of one name server for the service, until `signal` aborts. While the service does
 * not respond, repairs the name server with the state of the last pass, which only this process
 * stores.
 */
export async function runAgent(dependencies: AgentDependencies): Promise<void> {
  const { link, signal, nameServer, log } = dependencies;
  const reach = contact(dependencies);
  const id = await reach.until(() => link.nameServerId(signal));
  if (id === undefined) return;
  const driver = dependencies.createDriver(id);
  const served: Served = { id, driver, memory: new Map() };
  let last: FullJob | undefined;
  let repairAt = Infinity;

  const next = async (): Promise<void> => {
    const began = performance.now();
    const job = await usableJob(dependencies, id, last?.tag);
    repairAt = Infinity;
    if (job === undefined) {
      const rest = MIN_POLL_MS - (performance.now() - began);
      if (rest > 0) await pause(rest, undefined, { signal });
      return;
    }
    const state = job.state ?? last?.state;
    if (state === undefined) return;
    last = { ...job, state };
    const started = performance.now();
    const changed = await makePass(dependencies, served, last);
    const interval = changed ? minimumIntervalOf(dependencies.driver) : 0;
    const left = interval - (performance.now() - started);
    if (left > 0) await pause(left, undefined, { signal });
  };

  /** Applies the last state, unless another or a newer database delivered the keys meanwhile. */
  const repair = async (): Promise<void> => {
    if (last === undefined) return;
    if (performance.now() < repairAt) return;
    repairAt = performance.now() + REPAIR_MS;
    const { state, ownNames } = partOf(last);
    try {
      const carried = await driver.stamp(signal);
      if (carried !== undefined && !last.stamps.includes(carried)) return;
      const applied = await driver.apply(state, ownNames, signal);
      const fields = { name_server: nameServer };
      if (applied.changed) log.warn(fields, 'Repaired the name server without the service');
    } catch (error) {
      const { code } = failureOf(error);
      log.warn({ name_server: nameServer, code }, 'Cannot repair the name server');
    }
  };

  while (!signal.aborted)
    await reach.until(next, async (error) => {
      if (error instanceof RefusedError) return;
      repairAt = Math.min(repairAt, performance.now() + FIRST_REPAIR_MS);
      await repair();
    });
  await dependencies.logReader?.close();
  link.close();
}

interface Served {
  readonly id: string;
  readonly driver: Driver;
  readonly memory: Map<string, DesiredKey>;
  /** The message of the last pass if it failed. */
  problem?: string | undefined;
}

/** Makes one pass, and sends the answer. Returns whether it changed the name server. */
async function makePass(
  { link, agent, nameServer, log, logReader, signal, verify }: AgentDependencies,
  served: Served,
  job: FullJob,
): Promise<boolean> {
  const { id, driver, memory } = served;
  const { fence } = job;
  const began = performance.now();
  let heldAt = began;
  let changes = job.changes;
  /** Extends the lease. Without contact, the lease ends after `LEASE_MS`. */
  const renew = async (): Promise<boolean> => {
    const asked = performance.now();
    try {
      changes = await link.renew(id, fence);
      heldAt = asked;
      return true;
    } catch (error) {
      return !(error instanceof RefusedError) && asked - heldAt < LEASE_MS;
    }
  };
  const lease = keepLease({ renew }, id, agent, fence, signal);
  let result: Result;
  try {
    result = await performPass(job, {
      driver,
      verify,
      memory,
      logReader,
      signal: lease.signal,
      async begin() {
        if (!(await renew())) throw new LeaseLostError();
      },
      isInterrupted: async () => !(await renew()) || changes > job.changes,
    });
  } catch (error) {
    if (error instanceof LeaseLostError) return false;
    throw error;
  } finally {
    lease.stop();
  }
  const { changed, error } = result;
  if (lease.isLost()) return changed;
  const fields = { name_server: nameServer, fence };
  // Log each reason only once, not at every attempt.
  if (error !== null && error.message !== served.problem)
    log.warn({ ...fields, error }, 'A pass failed');
  else if (changed) log.info(fields, 'Delivered keys to a name server');
  served.problem = error?.message;
  const ms = Math.round(performance.now() - began);
  await link.observed(id, { ...ofLimitedSize(result), agent, fence, duration_ms: ms });
  logReader?.acknowledge();
  return changed;
}

/** Returns a result, or a failure if the result would list more keys than an answer can. */
function ofLimitedSize(result: Result): Result {
  if (Buffer.byteLength(JSON.stringify(result)) < MAX_ANSWER_BYTES - 1000) return result;
  const { verdicts, problems, differences, uses, evidence, log_position } = result;
  const count = verdicts.length + problems.length + differences.length;
  const different = { code: 'drift', message: 'the name server differs from the state' };
  const { code, message } = verdicts[0]?.error ?? problems[0] ?? different;
  const failed = failedPass({ code, message: `${count} problems, such as: ${message}` });
  return { ...failed, uses, evidence, log_position };
}

/**
 * Returns the next job, or undefined if there is none. If the agent cannot use the response, reports
 * this to the service and throws `RefusedError`.
 */
async function usableJob(
  { link, signal, agent, nameServer, driver }: AgentDependencies,
  id: string,
  tag: string | undefined,
): Promise<Job | undefined> {
  const response = await link.desired(id, tag, signal);
  if (response === undefined) return undefined;
  const problem =
    'job' in response ? problemOf(response.job, nameServer, driver) : response.problem;
  if ('job' in response && problem === undefined) return response.job;
  const { fence } = 'job' in response ? response.job : response;
  const keys = 'job' in response ? (response.job.state?.keys ?? []) : [];
  const message = problem ?? '';
  const failed = failedPass({ code: 'agent_mismatch', message: message.slice(0, 400) });
  const notBegun = keys.map((key) => key.id);
  const answer = { ...failed, not_begun: notBegun, agent, fence, duration_ms: 0 };
  await link.observed(id, answer).catch(() => undefined);
  throw new RefusedError(200, message);
}

function problemOf(job: Job, name: string, driver: string): string | undefined {
  const { name_server: server } = job;
  if (server.name.toLowerCase() !== name.toLowerCase())
    return `The token is limited to the name server '${server.name}', but nameServer is '${name}'. Use the token of '${name}', or correct nameServer`;
  if (server.driver !== driver)
    return `The name server '${server.name}' has the driver '${server.driver}', but driver is '${driver}'. Correct the driver of the agent or of the name server`;
  return undefined;
}

interface Contact {
  /**
   * Returns undefined once the agent stops. After a failure, calls `failed`, and waits for a random
   * time, so that agents do not all send requests at once.
   */
  until<T>(
    work: () => Promise<T>,
    failed?: (error: unknown) => Promise<void>,
  ): Promise<T | undefined>;
}

function contact({ log, signal, nameServer, random }: AgentDependencies): Contact {
  let problem: string | undefined;
  const isStopped = () => signal.aborted;
  return {
    async until(work, failed) {
      while (!isStopped()) {
        try {
          const result = await work();
          if (problem !== undefined) log.info({ name_server: nameServer }, 'Reached the service');
          problem = undefined;
          return result;
        } catch (error) {
          if (isStopped()) return undefined;
          await failed?.(error);
          const message = error instanceof Error ? error.message : String(error);
          // Log each reason only once, not at every attempt.
          if (message !== problem)
            log.warn(
              { name_server: nameServer, reason: message },
              error instanceof RefusedError
                ? 'The service refuses the agent'
                : 'The service does not respond',
            );
          problem = message;
          const ms =
            error instanceof RefusedError && error.status === 409
              ? MIN_TAKEOVER_MS + random() * (MAX_TAKEOVER_MS - MIN_TAKEOVER_MS)
              : random() * MAX_PAUSE_MS;
          await pause(ms, undefined, { signal }).catch(() => undefined);
        }
      }
      return undefined;
    },
  };
}
