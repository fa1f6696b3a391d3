import { setTimeout as pause } from 'node:timers/promises';
import { readDesired } from '../../domain/delivery/agent-pass.ts';
import type { DesiredForAgent } from '../../domain/delivery/agent-protocol.ts';
import type { Clock } from '../../domain/model/ports.ts';
import type { Driver } from '../driver.ts';
import { describeResult, type DeliveryLog } from '../reconciler/log.ts';
import { startReconciler } from '../reconciler/reconciler.ts';
import { minimumIntervalOf } from '../reconciler/registration.ts';
import type { Verify } from '../reconciler/verification.ts';
import { unusable } from './pass-report.ts';
import { createRemoteStore } from './remote-store.ts';
import { RefusedError, type ServiceLink } from './service-link.ts';

/** The longest pause between two attempts to reach the service. */
const MAX_PAUSE_MS = 5000;

/** The shortest and the longest pause if another agent has the lease of the name server. */
const [MIN_TAKEOVER_MS, MAX_TAKEOVER_MS] = [500, 1500];

/** The shortest time between two requests if nothing changes. */
const MIN_POLL_MS = 1000;

/** How long a pass in progress may take once the agent stops. */
const STOP_MS = 15_000;

/** The dependencies of an agent. */
export interface AgentDependencies {
  readonly link: ServiceLink;
  /** The name of the agent. */
  readonly agent: string;
  /** The name of the name server. */
  readonly nameServer: string;
  /** The name of the driver. */
  readonly driver: string;
  /** Creates the driver of the name server with this id. */
  createDriver(id: string): Driver;
  readonly verify: Verify;
  readonly onDrift: 'repair' | 'report';
  readonly clock: Clock;
  readonly log: DeliveryLog;
  /** The signal that stops the agent. */
  readonly signal: AbortSignal;
  /** Returns a number from 0 to 1. */
  random(): number;
}

/**
 * Keeps the keys of one name server equal to the service's desired state, until `signal` aborts.
 * While the service does not respond, the last desired state applies.
 */
export async function runAgent(dependencies: AgentDependencies): Promise<void> {
  const { link, log, signal, agent, random } = dependencies;
  const reach = contact(dependencies);
  const id = await reach.until(() => link.nameServerId(signal));
  if (id === undefined) return;
  const stopped = aborted(signal);
  let refusal: RefusedError | undefined;
  const remote = createRemoteStore({
    id,
    agent,
    now: () => performance.now(),
    report: (report) =>
      link.observed(id, report).catch((error: unknown) => {
        if (error instanceof RefusedError) refusal = error;
        throw error;
      }),
    renew: (fence) => link.renew(id, fence),
  });
  const { driver: kind, createDriver, verify, clock, onDrift } = dependencies;
  const reconciler = startReconciler({
    store: remote.store,
    servers: [{ id, driver: createDriver(id), minimumIntervalMs: minimumIntervalOf(kind) }],
    verify,
    clock,
    random,
    holder: agent,
    since: clock(),
    onDrift,
    concurrency: 1,
    observe(result) {
      remote.end();
      describeResult(log, result);
    },
    failed: (err) => log.error({ err }, 'A delivery pass failed'),
  });
  let etag: string | undefined;
  let secrets = new Map<string, string>();
  const next = async (): Promise<void> => {
    const began = performance.now();
    const given = await usableState(dependencies, id, etag);
    remote.setAlone(false);
    if (given === undefined) {
      const rest = MIN_POLL_MS - (performance.now() - began);
      if (rest > 0) await pause(rest, undefined, { signal });
      return;
    }
    const pass = readDesired(given, (key) => secrets.get(key));
    etag = pass?.etag;
    if (pass === undefined) return;
    secrets = new Map(pass.desired.state.keys.map((key) => [key.id, key.secret]));
    const ended = remote.offer(pass);
    reconciler.wake();
    await Promise.race([ended, stopped]);
    const refused = refusal;
    refusal = undefined;
    // The service refuses reports if two agents have the same name. The random pause after the
    // error separates the agents.
    if (refused !== undefined) throw refused;
  };
  while (!signal.aborted)
    await reach.until(next, (error) => remote.setAlone(!(error instanceof RefusedError)));
  await reconciler.close(STOP_MS);
  link.close();
}

/**
 * Reads the desired state of the name server. Returns undefined if nothing has changed. If the
 * agent cannot use the response, reports this to the service and throws `RefusedError`.
 */
async function usableState(dependencies: AgentDependencies, id: string, etag: string | undefined) {
  const { link, signal, agent } = dependencies;
  try {
    const given = await link.desired(id, etag, signal);
    if (given !== undefined) assertFits(dependencies, given);
    return given;
  } catch (error) {
    if (error instanceof RefusedError && error.head !== undefined)
      await link.observed(id, unusable(agent, error.head, error.message)).catch(() => undefined);
    throw error;
  }
}

/**
 * Throws `RefusedError` if the name server or its driver differs from the agent's configuration.
 */
function assertFits({ nameServer, driver }: AgentDependencies, given: DesiredForAgent): void {
  const { name_server: server } = given;
  if (server.name.toLowerCase() !== nameServer.toLowerCase())
    throw new RefusedError(
      200,
      `The token is limited to the name server '${server.name}', but nameServer is '${nameServer}'. Use the token of '${nameServer}', or correct nameServer`,
      given,
    );
  if (server.driver !== driver)
    throw new RefusedError(
      200,
      `The name server '${server.name}' has the driver '${server.driver}', but driver is '${driver}'. Correct the driver of the agent or of the name server`,
      given,
    );
}

/** A function that repeats requests to the service until one succeeds. */
interface Contact {
  /**
   * Returns what `work` returns, or undefined once the agent stops. After a failure, calls `failed`
   * and waits up to 5 s. The time is random, so that agents do not all send requests at once. If
   * another agent has the lease, waits 0.5 to 1.5 s.
   */
  until<T>(work: () => Promise<T>, failed?: (error: unknown) => void): Promise<T | undefined>;
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
          failed?.(error);
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
