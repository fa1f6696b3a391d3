import { randomUUID } from 'node:crypto';
import type { AgentDelivery } from '../agent-protocol.ts';
import type { LogReaderOf } from '../log-protocol.ts';
import type { AgentStore, Delivery, DeliveryStatus, DeliveryStore } from '../delivery-ports.ts';
import type { ShownRequirement } from '../responses.ts';
import type { Clock, Store } from '../../core/ports.ts';
import { runJob, type Job } from '../../core/scheduling/job.ts';
import { nameServer, type NameServer } from '../../resources/name-server.ts';
import type { Dependencies } from '../../resources/operations/change.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { describeResult, type DeliveryLog } from './log.ts';
import type { Driver, Requirement } from '../../brands/driver.ts';
import { checkConfiguration } from '../configuration-check.ts';
import { isOnServer, surplusOf } from './delivery-rows.ts';
import type { PassResult } from './record.ts';
import { startReconciler, type Reconciler, type ServedNameServer } from './reconciler.ts';
import { registerNameServers, type ConfiguredNameServer } from './registration.ts';
import { checkUnsigned } from './unsigned.ts';
import { verifyByQueries, type Verify } from './verification.ts';

/** What the delivery by agents shares with the reconciler. */
export interface ServedAgents {
  readonly store: Store;
  readonly deliveries: DeliveryStore;
  readonly agents: AgentStore;
  readonly clock: Clock;
  /** The time since when callers can change this database. */
  readonly since: string;
  observe(result: PassResult, seconds: number): void;
  /** Receives errors of the database. */
  failed(error: unknown): void;
}

export interface RunningAgentDelivery extends AgentDelivery {
  /** Ends all waiting requests. Later requests do not wait. */
  close(): Promise<void>;
}

export interface DeliveryOptions extends Omit<ServedAgents, 'since' | 'failed'> {
  serveAgents(dependencies: ServedAgents): RunningAgentDelivery;
  readonly status: Omit<DeliveryStatus, 'milliseconds' | 'changed' | 'check'>;
  /** Reduces the outboxes of name servers that no one has claimed. */
  reduceOutboxes(): Promise<void>;
  readonly nameServers: readonly ConfiguredNameServer[];
  readonly logReaderOf?: LogReaderOf;
  readonly log: DeliveryLog;
  readonly verify?: Verify | undefined;
}

export interface RunningDelivery {
  readonly status: DeliveryStatus;
  readonly agents: AgentDelivery;
  /**
   * Starts no more passes, and ends the waiting requests of agents and other callers, so that the
   * service can stop.
   */
  endWaiting(): Promise<void>;
  /** Registers the name servers of the configuration, and starts to deliver. */
  start(dependencies: Dependencies): Promise<void>;
  /** Waits for the passes in progress, which `overdue` aborts. */
  close(overdue: AbortSignal): Promise<void>;
}

/** The maximum number of name servers to which one process delivers keys at the same time. */
const CONCURRENCY = 8;

/** How often a process reduces the outboxes of name servers that no one has claimed. */
const REDUCE_MS = 60_000;

/** The minimum time between two reads of waiting requests. */
const WAKE_MS = 50;

/** The time limit for checking all requirements. */
const CHECK_MS = 20_000;

/** The maximum number of names of unknown keys in the result of a check. */
const MAX_UNKNOWN = 100;

/** The maximum number of keys in the result of a check that the name server lacks. */
const MAX_LACKING = 20;

/** The maximum number of requests that wait for a change of a delivery. */
const MAX_WAITING = 200;

export function prepareDelivery(options: DeliveryOptions): RunningDelivery {
  const { store, deliveries, status, nameServers, log } = options;
  const since = options.clock();
  const waiters = new Set<() => void>();
  let waking: NodeJS.Timeout | undefined;
  let wokenAt = -Infinity;
  let reducing: Job | undefined;
  let reconciler: Reconciler | undefined;
  let isEnding = false;
  let servers: readonly ServedNameServer[] = [];
  let stopListening: (() => Promise<void>) | undefined;
  const observed = (result: PassResult, seconds: number) => {
    options.observe(result, seconds);
    describeResult(log, result);
    store.announced();
  };
  const failed = (err: unknown) => log.error({ err }, 'Cannot use the database to deliver keys');
  const agents = options.serveAgents({ ...options, since, observe: observed, failed });
  const listen = () => {
    stopListening ??= store.onAnnounced(() => {
      reconciler?.wake();
      // Continuous changes must not make every waiting request read its status each time.
      waking ??= setTimeout(
        () => {
          waking = undefined;
          wokenAt = performance.now();
          for (const resolve of waiters) resolve();
        },
        wokenAt + WAKE_MS - performance.now(),
      );
    });
  };
  return {
    status: {
      ...status,
      milliseconds: () => performance.now(),
      changed(ms) {
        if (isEnding || waiters.size >= MAX_WAITING) return Promise.resolve(false);
        listen();
        return new Promise((resolve) => {
          const done = () => {
            clearTimeout(timer);
            waiters.delete(done);
            resolve(!isEnding);
          };
          const timer = setTimeout(done, ms);
          waiters.add(done);
        });
      },
      async check(id) {
        const server = servers.find((each) => each.id === id);
        const stored = await store.get(nameServer, id);
        const lacking = [
          ...(await checkLacking(deliveries, id)),
          ...(await checkBlocked(deliveries, stored)),
        ];
        if (stored?.delivery === 'agent') return [BY_AGENT, ...lacking];
        if (server === undefined) return [NOT_SERVED];
        const requirements = await server.driver.check(AbortSignal.timeout(CHECK_MS), stored?.name);
        const zones = stored === undefined ? [] : (await deliveries.desired(stored)).state.zones;
        const unsigned = stored && (await checkUnsigned(stored, zones));
        // Report a server that is down as one problem, not as two.
        const isDown = unsigned?.responds === false && requirements.some(({ ok }) => !ok);
        const unknown = isDown ? [] : await checkUnknown(deliveries, stored, server.driver);
        const further = unsigned === undefined || isDown ? [] : [unsigned];
        const signal = AbortSignal.timeout(CHECK_MS);
        const notes = stored ? await checkConfiguration(server.driver, stored, zones, signal) : [];
        return [
          ...[...requirements, ...further, ...unknown].map(shown),
          ...lacking,
          ...notes.map(shown),
        ];
      },
    },
    agents,
    endWaiting() {
      isEnding = true;
      reconciler?.stop();
      for (const done of waiters) done();
      return agents.close();
    },
    async start(dependencies) {
      reducing = runJob({ everyMs: REDUCE_MS, work: () => options.reduceOutboxes(), failed });
      if (nameServers.length === 0) return;
      servers = await registerNameServers(dependencies, nameServers, options.logReaderOf);
      for (const { name } of await agentServers(store, servers))
        log.warn(
          { name_server: name },
          "An agent delivers the keys of this name server, although 'nameServers' contains it",
        );
      const ids = servers.map(({ id }) => id);
      await deliveries.checkNow(ids);
      await deliveries.seen(ids);
      reconciler = startReconciler({
        store: deliveries,
        servers,
        verify: options.verify ?? verifyByQueries,
        clock: dependencies.clock,
        random: Math.random,
        holder: randomUUID(),
        since,
        concurrency: CONCURRENCY,
        observe: observed,
        failed,
      });
      listen();
    },
    async close(overdue) {
      clearTimeout(waking);
      await reducing?.close();
      await stopListening?.();
      await reconciler?.close(overdue);
    },
  };
}

async function agentServers(store: Store, servers: readonly ServedNameServer[]) {
  const ids = servers.map(({ id }) => id);
  return (await store.find(nameServer, 'id', ids)).filter(({ delivery }) => delivery === 'agent');
}

function shown({ requirement, ok, problem, hint }: Requirement): ShownRequirement {
  return { requirement, ok, problem: problem ?? null, hint: hint ?? null };
}

/** Lists the keys that the last pass could not deliver to a name server, or not as they should be. */
async function checkLacking(
  deliveries: DeliveryStore,
  id: string,
): Promise<readonly ShownRequirement[]> {
  const rows = await deliveries.deliveries(id);
  const lacking = rows.filter((row) => !isOnServer(row));
  const refused = rows.filter(({ state, error }) => state === 'delivered' && error !== null);
  // The message about a name that is taken says what to do.
  const isTaken = lacking.every(({ error }) => error?.code === 'name_taken');
  const hint = isTaken ? null : 'Rename, correct or delete these keys.';
  return [
    ...unmetByKeys(HAS_KEYS, 'It lacks ', lacking, hint),
    ...unmetByKeys(ADMITS_KEYS, '', refused, 'Change the lists of the zones, or limit these keys.'),
  ];
}

/** Returns the requirement that these keys do not meet, with their names by the reason. */
function unmetByKeys(
  requirement: string,
  start: string,
  rows: readonly Delivery[],
  hint: string | null,
): readonly ShownRequirement[] {
  if (rows.length === 0) return [];
  const byMessage = new Map<string, string[]>();
  for (const { keyName, error } of rows) {
    const message = error?.message ?? '';
    const names = byMessage.get(message) ?? [];
    names.push(`'${keyName}'`);
    byMessage.set(message, names);
  }
  const reasons = firstOf([...byMessage], MAX_LACKING, ([message, names]) => {
    return `${firstOf(names, MAX_LACKING, String).join(', ')}: ${message}`;
  });
  return [{ requirement, ok: false, problem: start + reasons.join(' '), hint }];
}

/** Lists the keys that a name server would lose by the change that waits for a confirmation. */
async function checkBlocked(
  deliveries: DeliveryStore,
  server: NameServer | undefined,
): Promise<readonly ShownRequirement[]> {
  if (server?.state !== 'blocked') return [];
  const desired = await deliveries.desired(server);
  const lost = surplusOf(desired, await deliveries.deliveries(server.id));
  const names = lost.slice(0, MAX_UNKNOWN).map(({ keyName }) => keyName);
  const more = lost.length > names.length ? ` and ${lost.length - names.length} more` : '';
  const problem =
    lost.length === 0
      ? (server.error ?? 'It would lose rights of its keys')
      : `It would lose: ${names.join(', ')}${more}.`;
  const hint = `Undo the change, or confirm it: tsigil nameserver reconcile ${server.name} --confirm`;
  return [{ requirement: 'No change waits for a confirmation.', ok: false, problem, hint }];
}

const HAS_KEYS = 'The name server has all keys.';

const ADMITS_KEYS = 'The zones on the name server admit each key, and only where it may.';

/** Lists the keys on a name server that the database lacks. They may be the operator's own. */
async function checkUnknown(
  deliveries: DeliveryStore,
  server: NameServer | undefined,
  driver: Driver,
): Promise<readonly Requirement[]> {
  if (server === undefined) return [];
  const { state, undeliverable } = await deliveries.desired(server);
  const names = new Set([
    ...[...state.keys, ...(state.kept ?? [])].map(({ name }) => name),
    ...undeliverable.map(({ key }) => comparisonForm(key.name)),
    ...(await deliveries.deliveries(server.id)).map(({ keyName }) => keyName),
  ]);
  const unknown = (await driver.unknownKeys?.(names, AbortSignal.timeout(CHECK_MS))) ?? [];
  if (unknown.length === 0) return [];
  return [
    {
      requirement: 'The database has the keys on the name server.',
      ok: true,
      problem: `The database lacks: ${unknown.slice(0, MAX_UNKNOWN).join(', ')}.`,
      hint: `Leave your own keys. Import a key of Tsigil, or run: tsigil nameserver remove-key ${server.name} KEY`,
    },
  ];
}

const BY_AGENT: ShownRequirement = {
  requirement: 'The service can check the name server.',
  ok: false,
  problem: 'An agent delivers the keys, and only the agent can check its host.',
  hint: 'Run on the host of the name server: tsigil agent --config FILE --check',
};

const NOT_SERVED: ShownRequirement = {
  requirement: "The process that responds has the name server in its setting 'nameServers'.",
  ok: false,
  problem: 'It does not, so it cannot check the requirements.',
  hint: 'Add the name server to the configuration, and restart the service.',
};
