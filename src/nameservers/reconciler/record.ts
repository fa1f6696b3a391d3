import {
  LeaseLostError,
  type Claim,
  type Delivery,
  type DeliveryStore,
  type LogRecord,
  type PassPlan,
} from '../../domain/delivery/delivery-ports.ts';
import type { AuditEntry } from '../../domain/audit/record.ts';
import type { Fault } from '../../domain/model/fault.ts';
import type { Clock } from '../../domain/model/ports.ts';
import { auditEntry, SERVICE } from '../../domain/operations/audit-entry.ts';
import type { FoundState } from '../../domain/resources/name-server-status.ts';
import type { NameServer } from '../../domain/resources/name-server.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { eachInSlices } from '../../domain/scheduling/slicer.ts';
import { preparedHint } from '../driver.ts';
import { newSlicer } from '../slices.ts';
import { failureOf } from './failures.ts';
import { heldOf, holdReason, rowsToHold, type Held } from './hold.ts';
import type { Result } from './perform.ts';
import {
  isOnServer,
  NOT_ADMITTED,
  rowsById,
  TOO_WIDE,
  undeliverableRow,
  UNREADABLE,
} from './prepare.ts';
import { CONFIGURATION_FAULTS } from './refusals.ts';
import {
  checkInterval,
  PREPARED_CHECK_MS,
  RESUME_MS,
  retryMs,
  UNREADABLE_RETRY_MS,
} from './schedule.ts';

/** The result of a pass. */
export interface PassResult {
  readonly server: NameServer;
  readonly outcome: 'unchanged' | 'changed' | 'failed' | 'lost';
  readonly error: Fault | null;
  readonly state: NameServer['state'];
  /** The names of the keys that the pass added or changed. */
  readonly added: readonly string[];
  /** The records of these keys in the audit trail. */
  readonly events: readonly AuditEntry[];
  /** The names of the keys that the pass removed. */
  readonly removed: readonly string[];
  /** Whether another program had changed the name server. */
  readonly foundDrift: boolean;
  /** The age of the oldest change that the pass delivered. */
  readonly lagSeconds: number | undefined;
  readonly keysWanted: number;
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
    added: [],
    removed: [],
    events: [],
    foundDrift: false,
    lagSeconds: undefined,
    keysWanted: server.keys_wanted,
    keysLive: server.keys_live,
    held: server.held,
  };
}

/** What recording the result of a pass needs. */
export interface RecordDependencies {
  readonly store: Pick<DeliveryStore, 'record' | 'fail' | 'hold' | 'desired' | 'deliveries'>;
  readonly clock: Clock;
  random(): number;
  /** The time since when callers can change this database. */
  readonly since: string;
}

/** A pass that has ended, and the lease under which it was made. */
export interface EndedPass {
  readonly server: NameServer;
  readonly holder: string;
  readonly fence: number;
  readonly plan: PassPlan;
  readonly former: readonly Delivery[];
  /** The stamps that the name server may have. */
  readonly stamps: readonly string[];
  /** Whether an agent made the pass. It keeps its lease for this time. */
  readonly keepLeaseMs?: number;
}

/** Records the result of a pass. Throws `LeaseLostError`. */
export async function recordPass(
  dependencies: RecordDependencies,
  pass: EndedPass,
  result: Result,
): Promise<PassResult> {
  const { error, not_begun: notBegun, stamp } = result;
  if (error !== null)
    return recordFailure(dependencies, pass, error, { ...result, notBegun, stamp });
  if (result.is_foreign) return recordHold(dependencies, pass, result);
  return settle(dependencies, pass, result);
}

/** Records why a pass could not be made. Throws `LeaseLostError`. */
export function recordError(
  dependencies: Pick<RecordDependencies, 'store' | 'random'> & { readonly holder: string },
  { server, fence }: Claim,
  cause: unknown,
  keepLeaseMs = 0,
): Promise<PassResult> {
  const pass = { server, holder: dependencies.holder, fence, plan: { refusals: 0, fresh: [] } };
  return recordFailure(dependencies, { ...pass, keepLeaseMs }, failureOf(cause));
}

/** Records a failure. `notBegun` are new keys that the name server certainly does not have. */
async function recordFailure(
  { store, random }: Pick<RecordDependencies, 'store' | 'random'>,
  pass: Pick<EndedPass, 'server' | 'holder' | 'fence' | 'keepLeaseMs'> & {
    readonly plan: Pick<PassPlan, 'refusals' | 'fresh'> &
      Partial<Pick<PassPlan, 'wanted' | 'outbox'>>;
  },
  error: Fault,
  reported?: LogRecord & Pick<Result, 'stamp'> & { readonly notBegun: readonly string[] },
): Promise<PassResult> {
  const { server, holder, fence, plan, keepLeaseMs = 0 } = pass;
  const refusals = CONFIGURATION_FAULTS.includes(error.code) ? plan.refusals + 1 : 0;
  const isFresh = new Set(plan.fresh);
  await store.fail(server.id, holder, fence, {
    state: 'failed',
    keysWanted: plan.wanted,
    outbox: plan.outbox,
    error,
    refusals,
    notBegun: (reported?.notBegun ?? []).filter((id) => isFresh.has(id)),
    log: reported,
    retryMs: (attempts) => retryMs(attempts, error.code, random),
    stamp: keepLeaseMs > 0 ? (reported?.stamp ?? undefined) : undefined,
    keepLeaseMs,
  });
  const { wanted: keysWanted = server.keys_wanted } = plan;
  return { ...nothing(server), outcome: 'failed', state: 'failed', error, keysWanted };
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
  const { blocked } = pass.plan;
  const error = blocked ?? holdReason(held, server.name);
  const state = blocked === null ? 'held' : 'blocked';
  await record(dependencies, pass, result, {
    state,
    error,
    held,
    changed: [],
    removed: [],
    outbox: [],
    nextCheckMs: 0,
    appliedHash: null,
    keysLive: server.keys_live,
  });
  return { ...nothing(server), state, error, held };
}

type Recorded = Parameters<DeliveryStore['record']>[3];

function record(
  { store }: Pick<RecordDependencies, 'store'>,
  { server, holder, fence, plan, keepLeaseMs = 0 }: EndedPass,
  result: Result,
  recorded: Pick<Recorded, 'state' | 'error' | 'keysLive' | 'changed' | 'removed' | 'nextCheckMs'> &
    Partial<Recorded>,
): Promise<number | undefined> {
  return store.record(server.id, holder, fence, {
    outbox: plan.outbox,
    keysWanted: plan.wanted,
    appliedHash: plan.hash,
    appliedAt: undefined,
    verifiedAt: undefined,
    nextProbeMs: undefined,
    foundDrift: result.found_drift,
    failed: false,
    unknownKeys: result.unknown_keys ?? undefined,
    keyReferences: result.key_references,
    log: result,
    // A process of the service stores its stamps before it changes anything.
    stamp: keepLeaseMs > 0 ? (result.stamp ?? undefined) : undefined,
    keepLeaseMs,
    held: server.held,
    ...recorded,
  });
}

/** Returns deliveries after a pass that changed or added some of them. */
function withChanges(
  former: readonly Delivery[],
  changed: readonly Delivery[],
): readonly Delivery[] {
  if (changed.length === 0) return former;
  const rows = new Map(changed.map((row) => [row.keyId, row]));
  const known = rowsById(former);
  const added = [...rows.values()].filter(({ keyId }) => !known.has(keyId));
  return [...former.map((row) => rows.get(row.keyId) ?? row), ...added];
}

async function settle(
  dependencies: RecordDependencies,
  pass: EndedPass,
  result: Result,
): Promise<PassResult> {
  const { clock, random } = dependencies;
  const { server, plan, former } = pass;
  const now = clock();
  const isPrepared = result.prepared !== null;
  const rows = rowsById(former);
  const left = new Set(result.problems.map(({ id }) => id));
  const verdicts = new Map(result.verdicts.map(({ id, error }) => [id, error]));
  const delivered = plan.accepted.filter(({ id }) => !left.has(id));
  const verified = delivered.slice(0, result.verified);
  const failures: Fault[] = [];
  const added: string[] = [];
  const removed: Delivery[] = [];
  const changed: Delivery[] = [];
  const events: AuditEntry[] = [];
  const newFaults: Fault[] = [];
  await eachInSlices(newSlicer(), verified, ({ id, name: keyName, version }) => {
    const row = rows.get(id);
    const verdict = verdicts.get(id) ?? null;
    const isSame = row?.state === 'delivered' && row.deliveredVersion === version;
    // The name server has the key: only the key shows the error, which delays no other key.
    const isOfKey = isFaultOfKey(verdict, row);
    const error = isOfKey ? null : verdict;
    if (isOfKey && verdict !== null && row?.error?.code !== verdict.code) newFaults.push(verdict);
    if (error !== null) {
      failures.push(error);
      changed.push({
        keyId: id,
        keyName,
        state: 'failed',
        error,
        deliveredVersion: row?.deliveredVersion ?? 0,
        appliedAt: row?.appliedAt ?? null,
        verifiedAt: row?.verifiedAt ?? null,
      });
    } else if (!isSame || plan.probes !== 'none' || row.error !== verdict)
      changed.push({
        keyId: id,
        keyName,
        state: 'delivered',
        error: verdict,
        deliveredVersion: version,
        appliedAt: isSame ? row.appliedAt : now,
        verifiedAt: now,
      });
    if (error === null && !isSame) added.push(keyName);
    if (error === null && verdict?.code !== NOT_ADMITTED && !hasVersion(row, version))
      events.push(deliveryEvent(pass, now, 'deliver', { keyId: id, keyName, version }));
  });
  const keysFailed = failures.length;
  for (const id of plan.gone) {
    const row = rows.get(id);
    const error = verdicts.get(id);
    if (row === undefined) continue; // an earlier copy of this answer was recorded
    const wasOnlyPrepared = isPrepared && row.deliveredVersion === 0;
    if (error === undefined || wasOnlyPrepared) {
      removed.push(row);
      if (hasVersion(row, row.deliveredVersion))
        events.push(deliveryEvent(pass, now, 'remove', row));
    } else {
      failures.push(error);
      changed.push({ ...row, state: 'removing', error });
    }
  }
  const names = new Map(plan.accepted.map((key) => [key.id, key]));
  const problems = new Map(result.problems.map((problem) => [problem.id, problem]));
  for (const id of [...plan.gone, ...plan.undeliverable.map(({ keyId }) => keyId)])
    problems.delete(id); // an agent can send anything
  for (const { id, code, message } of problems.values()) {
    const row = rows.get(id);
    const { name = row?.keyName, version = row?.deliveredVersion } = names.get(id) ?? {};
    if (name === undefined || version === undefined) continue; // not a key of this pass
    const given = undeliverableRow({ id, name, version }, { code, message }, row, now);
    if (given !== undefined) changed.push(given);
  }
  const dropped = new Set([...removed.map(({ keyId }) => keyId), ...plan.left]);
  // The name server had these keys before its operator took the file out of its configuration.
  if (isPrepared) {
    const handled = new Set([...plan.gone, ...changed.map(({ keyId }) => keyId)]);
    for (const row of former)
      if ((row.state === 'delivered' || row.state === 'failed') && !handled.has(row.keyId))
        changed.push(unloadedRow(row));
  }
  const deliveries = withChanges(former, [...changed, ...plan.undeliverable]);
  const lacking = deliveries.filter((row) => !isOnServer(row) && !dropped.has(row.keyId));
  const refused = deliveries.filter((row) => isRefused(row) && !dropped.has(row.keyId)).length;
  const [failure = null] = failures;
  const error = isPrepared ? null : (result.open ?? failure);
  const interval = isPrepared ? PREPARED_CHECK_MS : checkInterval(server, now, random);
  const held = server.held === null ? null : heldOf(result.differences);
  const restMs = verified.length === delivered.length ? interval : RESUME_MS;
  const [state, shown] = stateFound(pass, result, error, held);
  const isFailed = error !== null || state === 'blocked';
  const keysLive = isPrepared
    ? 0
    : Math.max(0, plan.wanted - plan.withheld - lacking.length - refused - keysFailed);
  const lagSeconds = await record(dependencies, pass, result, {
    state,
    error: shown,
    held,
    keysLive,
    changed: [...changed, ...plan.undeliverable],
    removed: [...dropped],
    events,
    ...(isPrepared ? { appliedHash: null, refusals: plan.refusals + 1 } : {}),
    failed: isFailed, // keys that the name server lacks delay no other key
    appliedAt: result.changed && !isPrepared ? now : undefined,
    appliedRights: plan.hash === null ? undefined : plan.rights,
    verifiedAt: isFailed || isPrepared || lacking.length + refused > 0 ? undefined : now,
    nextCheckMs: isFailed
      ? retryMs(server.attempts + 1, shown?.code, random)
      : nextCheckMs(pass, newFaults, held, interval, random),
    nextProbeMs: plan.probes === 'none' || isPrepared ? undefined : restMs,
  });
  const hasDelivered = added.length + removed.length > 0;
  const outcome = result.changed && !isPrepared ? 'changed' : 'unchanged';
  const isWhole = lacking.length === 0 && newFaults.length === 0;
  const isSettled =
    state === 'live' && isWhole && !hasDelivered && !result.changed && dropped.size === 0;
  return {
    ...(isSettled ? { deliveries } : {}),
    server,
    outcome: isFailed && !(state === 'blocked' && hasDelivered) ? 'failed' : outcome,
    error: shown,
    state,
    added,
    removed: removed.map(({ keyName }) => keyName),
    events,
    foundDrift: result.found_drift,
    lagSeconds,
    keysWanted: plan.wanted,
    keysLive,
    held,
  };
}

/** Returns the state that a pass has found, and why, for a person. The worst comes first. */
function stateFound(
  { server, plan }: EndedPass,
  { open, prepared }: Result,
  error: Fault | null,
  held: Held | null,
): [FoundState, Fault | null] {
  if (open !== null) return ['open', open];
  if (error !== null) return ['failed', error];
  if (plan.blocked !== null) return ['blocked', plan.blocked];
  if (held !== null) return ['held', holdReason(held, server.name)];
  // Nothing differs any more: the next pass delivers the held keys.
  if (plan.withheld > 0) return ['pending', null];
  if (prepared === null) return ['live', null];
  return ['prepared', { code: 'prepared', message: `${prepared} ${preparedHint(server.name)}` }];
}

/** Returns when to look again at a name server that has not failed. */
function nextCheckMs(
  { server, plan }: EndedPass,
  newFaults: readonly Fault[],
  held: Held | null,
  interval: number,
  random: RecordDependencies['random'],
): number {
  if (newFaults.length > 0) return retryMs(1, newFaults[0]?.code, random);
  if (server.held !== null && held === null) return 0;
  const isUnreadable = plan.undeliverable.some(({ error }) => error?.code === UNREADABLE);
  return isUnreadable ? UNREADABLE_RETRY_MS : interval;
}

/** Returns the row of a key that a name server no longer has from Tsigil's file. */
function unloadedRow(row: Delivery): Delivery {
  return { ...row, state: 'pending', deliveredVersion: 0, appliedAt: null, error: null };
}

/**
 * Returns whether a fault is one of a key that the name server has: its zone does not admit it, or,
 * after the pass has been repeated, a line that an operator keeps opens more to it.
 */
function isFaultOfKey(fault: Fault | null, row: Delivery | undefined): boolean {
  return (
    fault?.code === NOT_ADMITTED || (fault?.code === TOO_WIDE && row?.error?.code === TOO_WIDE)
  );
}

function isRefused({ state, error }: Delivery): boolean {
  return state === 'delivered' && error?.code === NOT_ADMITTED;
}

/** Returns whether a name server had verified this version of a key before the pass. */
function hasVersion(row: Delivery | undefined, version: number): boolean {
  return (
    row !== undefined &&
    ['delivered', 'failed', 'removing'].includes(row.state) &&
    row.deliveredVersion === version &&
    !isRefused(row) &&
    version > 0
  );
}

/** Returns the record of a key that a pass delivered or removed. The pass was checked by queries. */
function deliveryEvent(
  { server, holder, keepLeaseMs }: EndedPass,
  at: string,
  done: 'deliver' | 'remove',
  { keyId, keyName, version }: { keyId: string; keyName: string; version?: number },
): AuditEntry {
  return auditEntry(SERVICE, {
    at,
    action: `${tsigkey.collection}:${done}`,
    type: tsigkey,
    id: keyId,
    name: keyName,
    detail: {
      name_server: server.name,
      ...(version === undefined ? {} : { version }),
      ...(keepLeaseMs === undefined ? {} : { agent: holder }),
    },
  });
}
