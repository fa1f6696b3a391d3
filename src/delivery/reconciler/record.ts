import {
  LeaseLostError,
  type Claim,
  type Delivery,
  type DeliveryStore,
  type PassRecord,
} from '../delivery-ports.ts';
import type { AuditEntry } from '../../core/audit-record.ts';
import type { Fault } from '../../core/fault.ts';
import type { Clock } from '../../core/ports.ts';
import type { NameServer } from '../../resources/name-server.ts';
import { preparedHint } from '../../brands/driver.ts';
import { isOnServer, UNREADABLE } from './delivery-rows.ts';
import {
  addedNames,
  countLacking,
  countLive,
  deliveriesAfter,
  deliveryEvents,
  failureIn,
  newFaultIn,
  type DeliveriesAfter,
  type EndedPass,
} from './ended-pass.ts';
import { failureOf } from './failures.ts';
import { heldOf, holdReason, rowsToHold, type Held } from './hold.ts';
import type { Result } from './perform.ts';
import {
  checkInterval,
  PREPARED_CHECK_MS,
  RESUME_MS,
  retryMs,
  UNREADABLE_RETRY_MS,
} from './schedule.ts';

export interface PassResult {
  readonly server: NameServer;
  readonly outcome: 'unchanged' | 'changed' | 'failed' | 'lost';
  readonly error: Fault | null;
  readonly state: NameServer['state'];
  /** The names of the keys that the pass added or changed. */
  readonly addedKeys: readonly string[];
  /** The records of these keys in the audit trail. */
  readonly events: readonly AuditEntry[];
  readonly removedKeys: readonly string[];
  /** Whether another program had changed the name server. */
  readonly foundDrift: boolean;
  /** The age of the oldest change that the pass delivered. */
  readonly lagSeconds: number | undefined;
  readonly keysLive: number;
  /** What a hold leaves undelivered. Null if delivery is not held. */
  readonly held: NameServer['held'];
  /** The deliveries after a pass that added and removed none. */
  readonly deliveries?: readonly Delivery[];
}

/** Returns the result of a pass that changed nothing. */
export function nothing(server: NameServer): PassResult {
  return {
    server,
    outcome: 'unchanged',
    error: null,
    state: server.state,
    addedKeys: [],
    removedKeys: [],
    events: [],
    foundDrift: false,
    lagSeconds: undefined,
    keysLive: server.keys_live,
    held: server.held,
  };
}

export interface RecordDependencies {
  readonly store: Pick<DeliveryStore, 'record' | 'fail' | 'hold' | 'desired'>;
  readonly clock: Clock;
  random(): number;
  /** The time since when callers can change this database. */
  readonly since: string;
}

/** Records the result of a pass. Throws `LeaseLostError`. */
export async function recordPass(
  dependencies: RecordDependencies,
  pass: EndedPass,
  result: Result,
): Promise<PassResult> {
  if (result.error !== null) return recordFailure(dependencies, pass, result.error, result);
  if (result.is_foreign) return recordHold(dependencies, pass, result);
  return recordSuccess(dependencies, pass, result);
}

/** Records why a pass could not be made. Throws `LeaseLostError`. */
export function recordError(
  dependencies: Pick<RecordDependencies, 'store' | 'random'> & { readonly holder: string },
  { server, fence }: Claim,
  cause: unknown,
  keepLeaseMs = 0,
): Promise<PassResult> {
  const { holder } = dependencies;
  return recordFailure(dependencies, { server, holder, fence, keepLeaseMs }, failureOf(cause));
}

/** Records a failure. `result` is absent if the pass was not made. */
async function recordFailure(
  { store, random }: Pick<RecordDependencies, 'store' | 'random'>,
  pass: Pick<EndedPass, 'server' | 'holder' | 'fence'> & Partial<EndedPass>,
  error: Fault,
  result?: Result,
): Promise<PassResult> {
  const { server, holder, fence, plan, keepLeaseMs = 0 } = pass;
  const additions = new Set(plan?.keys.additions);
  await store.fail(server.id, holder, fence, {
    state: 'failed',
    keysWanted: plan?.state.keysWanted,
    outbox: plan?.outbox,
    error,
    notBegun: result?.not_begun.filter((id) => additions.has(id)) ?? [],
    log: result,
    retryMs: (attempts) => retryMs(attempts, error.code, random),
    stamp: keepLeaseMs > 0 ? (result?.stamp ?? undefined) : undefined,
    keepLeaseMs,
  });
  return { ...nothing(server), outcome: 'failed', state: 'failed', error };
}

/** Holds the delivery, after another or a newer database delivered the keys last. */
async function recordHold(
  dependencies: RecordDependencies,
  pass: EndedPass,
  result: Result,
): Promise<PassResult> {
  const { store, since } = dependencies;
  const { server, holder, fence, former, stamps } = pass;
  const held = heldOf(result.differences);
  if (held === null) throw new LeaseLostError(); // no agent of this version answers so
  const { keys } = (await store.desired(server)).state;
  const rows = rowsToHold(keys, former, result.differences);
  const carried = result.stamp === null ? [] : [result.stamp];
  await store.hold(server.id, holder, fence, {
    stamps: [...carried, ...stamps],
    held,
    rows,
    since,
  });
  const { blocked } = pass.plan.state;
  const error = blocked ?? holdReason(held, server.name);
  const state = blocked === null ? 'held' : 'blocked';
  await record(dependencies, pass, result, {
    outbox: [],
    found: { state, error, held, keysLive: server.keys_live, verifiedAt: undefined },
    applied: { hash: null },
    deliveries: { changedRows: [], removedIds: [], events: [] },
    next: { isFailed: false, checkMs: 0 },
  });
  return { ...nothing(server), state, error, held };
}

async function recordSuccess(
  dependencies: RecordDependencies,
  pass: EndedPass,
  result: Result,
): Promise<PassResult> {
  const now = dependencies.clock();
  const { server, plan } = pass;
  const after = await deliveriesAfter(pass, result, now);
  const events = deliveryEvents(pass, after, now);
  const isPrepared = result.prepared !== null;
  const hasChanged = result.changed && !isPrepared;
  const found = findingsOf(pass, result, after, now);
  const next = nextPass(dependencies, pass, result, after, { ...found, now });
  const { hash, rights } = plan.state;
  const lagSeconds = await record(dependencies, pass, result, {
    outbox: plan.outbox,
    found,
    applied: {
      hash: isPrepared ? null : hash,
      rights: hash === null ? undefined : rights,
      at: hasChanged ? now : undefined,
    },
    deliveries: { changedRows: after.changedRows, removedIds: after.removedIds, events },
    next,
  });
  const { state, error, held, keysLive } = found;
  const [addedKeys, removedKeys] = [
    addedNames(pass, after),
    after.removedRows.map(({ keyName }) => keyName),
  ];
  const hasDelivered = addedKeys.length + removedKeys.length > 0;
  const isFailed = next.isFailed && !(state === 'blocked' && hasDelivered);
  const outcome = hasChanged ? 'changed' : 'unchanged';
  const isSettled =
    state === 'live' &&
    !result.changed &&
    addedKeys.length + after.removedIds.length === 0 &&
    after.rows.every(isOnServer) &&
    newFaultIn(pass, after) === undefined;
  return {
    ...(isSettled ? { deliveries: after.rows } : {}),
    server,
    outcome: isFailed ? 'failed' : outcome,
    error,
    state,
    addedKeys,
    removedKeys,
    events,
    foundDrift: result.found_drift,
    lagSeconds,
    keysLive,
    held,
  };
}

type Findings = Pick<PassRecord['found'], 'state' | 'error' | 'held' | 'keysLive' | 'verifiedAt'>;

function record(
  { store }: Pick<RecordDependencies, 'store'>,
  { server, holder, fence, plan, keepLeaseMs = 0 }: EndedPass,
  result: Result,
  recorded: Pick<PassRecord, 'outbox' | 'applied' | 'deliveries' | 'next'> & {
    readonly found: Findings;
  },
): Promise<number | undefined> {
  return store.record(server.id, holder, fence, {
    ...recorded,
    found: {
      ...recorded.found,
      keysWanted: plan.state.keysWanted,
      unknownKeys: result.unknown_keys ?? undefined,
      keyReferences: result.key_references,
    },
    log: result,
    // A process of the service stores its stamps before it changes anything.
    stamp: keepLeaseMs > 0 ? (result.stamp ?? undefined) : undefined,
    keepLeaseMs,
  });
}

function findingsOf(
  pass: EndedPass,
  result: Result,
  after: DeliveriesAfter,
  now: string,
): Findings {
  const { server } = pass;
  const isPrepared = result.prepared !== null;
  const failure = isPrepared ? null : (result.open ?? failureIn(after));
  const held = server.held === null ? null : heldOf(result.differences);
  const { state, error } = stateFound(pass, result, failure, held);
  const isComplete = failure === null && state !== 'blocked' && !isPrepared;
  return {
    state,
    error,
    held,
    keysLive: isPrepared ? 0 : countLive(pass, after),
    verifiedAt: isComplete && countLacking(after) === 0 ? now : undefined,
  };
}

/** Returns the state that a pass has found, and why, for a person. The worst comes first. */
function stateFound(
  { server, plan }: EndedPass,
  { open, prepared }: Result,
  failure: Fault | null,
  held: Held | null,
): Pick<Findings, 'state' | 'error'> {
  if (open !== null) return { state: 'open', error: open };
  if (failure !== null) return { state: 'failed', error: failure };
  const { blocked, keysWithheld } = plan.state;
  if (blocked !== null) return { state: 'blocked', error: blocked };
  if (held !== null) return { state: 'held', error: holdReason(held, server.name) };
  // Nothing differs any more: the next pass delivers the held keys.
  if (keysWithheld > 0) return { state: 'pending', error: null };
  if (prepared === null) return { state: 'live', error: null };
  const message = `${prepared} ${preparedHint(server.name)}`;
  return { state: 'prepared', error: { code: 'prepared', message } };
}

/** Returns whether a pass counts as a failed attempt, and when the next one follows. */
function nextPass(
  { random }: Pick<RecordDependencies, 'random'>,
  pass: EndedPass,
  result: Result,
  after: DeliveriesAfter,
  { state, error, held, now }: Findings & { readonly now: string },
): PassRecord['next'] {
  const { server, plan } = pass;
  const isPrepared = result.prepared !== null;
  // Keys that the name server lacks delay no other key.
  const isFailed = ['open', 'failed', 'blocked'].includes(state);
  const intervalMs = isPrepared ? PREPARED_CHECK_MS : checkInterval(server, now, random);
  const isProbed = plan.probes !== 'none' && !isPrepared;
  const restMs = after.isVerified ? intervalMs : RESUME_MS;
  const newFault = newFaultIn(pass, after);
  const isUnreadable = plan.keys.undeliverable.some((row) => row.error?.code === UNREADABLE);
  const checkMs = () => {
    if (isFailed) return retryMs(server.attempts + 1, error?.code, random);
    if (newFault !== undefined) return retryMs(1, newFault.code, random);
    if (server.held !== null && held === null) return 0;
    return isUnreadable ? UNREADABLE_RETRY_MS : intervalMs;
  };
  return {
    isFailed,
    checkMs: checkMs(),
    probeMs: isProbed ? restMs : undefined,
  };
}
