import type { DesiredKey, DesiredState } from '../../domain/delivery/desired-state.ts';
import { hashOf, intendedOf, isMassRemoval, leftoversOf } from '../../domain/delivery/desire.ts';
import {
  LeaseLostError,
  type Claim,
  type Delivery,
  type DeliveryStore,
  type Desire,
  type Failure,
} from '../../domain/delivery/ports.ts';
import type { NameServer } from '../../domain/resources/name-server.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { nextIfOver } from '../../domain/scheduling/slicer.ts';
import type { Driver, KeyProblem } from '../driver.ts';
import { newSlicer } from '../slices.ts';
import { failureOf } from './failures.ts';
import { heldOf, holdReason, nextStamps, rowsToHold, withoutBlocked, withoutHeld } from './hold.ts';
import { keepLease, LEASE_MS } from './lease.ts';
import { redactor } from './redaction.ts';
import { checkInterval, RESUME_MS, retryMs, UNREADABLE_RETRY_MS } from './schedule.ts';
import { settle, type Decided, type SettleDependencies } from './settle.ts';

/** The maximum number of names in `unknown_keys`. */
const MAX_UNKNOWN = 1000;

/** The dependencies of a pass. */
export interface PassDependencies extends SettleDependencies {
  readonly store: DeliveryStore;
  readonly driver: Driver;
  /** The id of this process. */
  readonly holder: string;
  /** Whether a pass repairs or only reports differences that another program made. */
  readonly onDrift: 'repair' | 'report';
  /** The time since when callers can change this database. */
  readonly since: string;
  /** Aborts when the service stops without waiting for the pass to end. */
  readonly signal: AbortSignal;
}

/** The result of a pass. */
export interface PassResult {
  readonly server: NameServer;
  readonly outcome: 'unchanged' | 'changed' | 'drifted' | 'failed' | 'lost';
  readonly error: Failure | null;
  readonly state: NameServer['state'];
  /**
   * The names of the keys that the pass added or changed. `removed` has the names of the removed
   * keys.
   */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Whether another program had changed the name server. */
  readonly foundDrift: boolean;
  /** The age of the oldest change that the pass delivered. */
  readonly lagSeconds: number | undefined;
  readonly keysWanted: number;
  readonly keysLive: number;
  /** What a hold leaves undelivered. Null if delivery is not held. */
  readonly held: NameServer['held'];
}

/**
 * Runs one pass for a name server. Claims the server, reads the outbox and then the desired state,
 * compares, applies, verifies and records. Returns undefined if there is no work or another process
 * has the claim. After a failure, records the failure and leaves the outbox unchanged. Throws
 * errors of the database.
 */
export async function makePass(
  dependencies: PassDependencies,
  id: string,
): Promise<PassResult | undefined> {
  const { store, holder } = dependencies;
  const claim = await store.claim(id, holder, LEASE_MS);
  if (claim === undefined) return undefined;
  const lease = keepLease(store, id, holder, claim.fence, dependencies.signal);
  const known: Known = { wanted: [], applying: undefined, stamp: '' };
  try {
    return await reconcile(dependencies, claim, known, lease.signal);
  } catch (error) {
    const result =
      error instanceof LeaseLostError || lease.isLost()
        ? lost(claim)
        : await recordFailure(dependencies, claim, known, error);
    // This pass may have replaced what a later holder applied, or added keys that the later holder
    // removed.
    if (result.outcome === 'lost' && known.applying !== undefined)
      await store.leave(id, leftoversOf(known.applying), known.stamp);
    return result;
  } finally {
    lease.stop();
  }
}

/** What a pass has read before it failed. */
interface Known {
  wanted: readonly DesiredKey[];
  /** The keys that the driver delivers. Undefined before its first change. */
  applying: readonly DesiredKey[] | undefined;
  /** The stamp that the driver writes. */
  stamp: string;
}

function lost({ server }: Claim): PassResult {
  return { ...nothing(server), outcome: 'lost' };
}

function nothing(server: NameServer): PassResult {
  return {
    server,
    outcome: 'unchanged',
    error: null,
    state: server.state,
    added: [],
    removed: [],
    foundDrift: false,
    lagSeconds: undefined,
    keysWanted: server.keys_wanted,
    keysLive: server.keys_live,
    held: server.held,
  };
}

async function recordFailure(
  { store, holder, random, memory }: PassDependencies,
  { server, fence, refusals }: Claim,
  { wanted }: Known,
  cause: unknown,
): Promise<PassResult> {
  const failure = failureOf(cause);
  // A name server may quote its configuration, which contains secrets.
  const redact = await redactor([...wanted, ...memory.values()].map(({ secret }) => secret));
  const error = { ...failure, message: redact(failure.message) };
  const refused = failure.code === 'refused_by_server' ? refusals + 1 : 0;
  try {
    await store.fail(server.id, holder, fence, {
      state: 'failed',
      error,
      refusals: refused,
      retryMs: (attempts) => retryMs(attempts, refused, failure.code, random),
    });
  } catch (lostError) {
    if (lostError instanceof LeaseLostError) return { ...nothing(server), outcome: 'lost' };
    throw lostError;
  }
  return { ...nothing(server), outcome: 'failed', state: 'failed', error };
}

async function reconcile(
  dependencies: PassDependencies,
  claim: Claim,
  known: Known,
  signal: AbortSignal,
): Promise<PassResult> {
  const { store, driver, holder, clock, random, memory, onDrift } = dependencies;
  const { server, fence } = claim;
  // Read the outbox before the state. A change that commits in between is then in the state, and
  // its row remains.
  const outbox = await store.outbox(server.id);
  const desired = await store.desired(server);
  known.wanted = desired.state.keys;
  const slicer = newSlicer();
  let former = await store.deliveries(server.id);
  await nextIfOver(slicer);
  const present = former.filter(isOnServer);
  const unwanted = goneOf(desired, former);
  await nextIfOver(slicer);
  const blocked = blockedBy(claim, unwanted, present.length);
  const gone = blocked === undefined ? unwanted : unwanted.filter(isExplained);
  const carried = await driver.stamp(signal);
  const isForeign =
    carried !== undefined && !claim.stamps.includes(carried) && claim.isAgent !== true;
  const stamps = claim.isAgent === true ? claim.stamps : nextStamps(carried, claim.stamps);
  [known.stamp = ''] = stamps;
  const whole: DesiredState = { ...desired.state, stamps };
  const namesOf = (rows: readonly Delivery[]) => new Set(rows.map(({ keyName }) => keyName));
  let { held } = server;
  if (isForeign) {
    // Another or a newer database delivered the keys last.
    const differences = await driver.compare(whole, namesOf(present), signal);
    const found = heldOf(differences);
    if (found !== null) {
      held = found;
      const rows = rowsToHold(whole, former, differences);
      const hold = { stamps, held, rows, since: dependencies.since };
      const begun = await store.hold(server.id, holder, fence, hold);
      const ids = new Set(begun.map(({ keyId }) => keyId));
      former = [...former.filter(({ keyId }) => !ids.has(keyId)), ...begun];
    }
  }
  const unheld =
    held === null ? { state: whole, heldIds: new Set<string>() } : withoutHeld(whole, former);
  const { state, heldIds } = blocked === undefined ? unheld : withoutBlocked(unheld.state, former);
  // A removed key is verified with its secret. The name server may have another one of a held key.
  for (const key of state.keys) if (!memory.has(key.id)) memory.set(key.id, key);
  for (const id of unheld.heldIds) memory.delete(id);
  await nextIfOver(slicer);
  const owned = namesOf(present.filter(({ keyId }) => !heldIds.has(keyId)));
  await nextIfOver(slicer);
  const wanted = new Set(state.keys.map(({ id }) => id));
  const revived = former.filter(({ keyId, state: of }) => of === 'removing' && wanted.has(keyId));
  if (revived.length > 0)
    await store.intend(
      ...([server.id, holder, fence] as const),
      revived.map((row) => ({ ...row, state: 'pending' })),
    );
  const hash = hashOf(state);
  await nextIfOver(slicer);
  const isApplied =
    hash === claim.appliedHash &&
    !isForeign &&
    former.every((each) => ['delivered', 'undeliverable'].includes(each.state));
  const differences = isApplied ? await driver.compare(state, owned, signal) : [];
  await nextIfOver(slicer);
  const foundDrift = differences.length > 0;
  if (foundDrift && onDrift === 'report') {
    const error = {
      code: 'drift',
      message: differences[0]?.message ?? 'the name server differs from the desired state',
    };
    const nextCheckMs = checkInterval(server, clock(), random);
    const record = {
      ...({ outbox, state: 'drifted', error, keysWanted: state.keys.length } as const),
      keysLive: server.keys_live,
      appliedHash: hash,
      changed: [],
      removed: [],
      appliedAt: undefined,
      verifiedAt: undefined,
      nextCheckMs,
      nextProbeMs: undefined,
      foundDrift,
      failed: false,
      held,
    };
    await store.record(server.id, holder, fence, record);
    return { ...nothing(server), outcome: 'drifted', state: 'drifted', error, foundDrift };
  }
  let problems: readonly KeyProblem[] = [];
  let hasApplied = false;
  if (foundDrift || !isApplied) {
    // Before its first change, the driver may find that another program already uses a key's name.
    const applied = await driver.apply(state, owned, signal, async (keys) => {
      await store.begin(server.id, holder, fence, intendedOf(keys, former), stamps);
      known.applying = keys;
    });
    problems = applied.problems;
    hasApplied = applied.changed;
  } else problems = namesTaken(former);
  const settled = await settle({
    dependencies,
    claim,
    desired: { ...desired, state },
    former,
    gone,
    problems,
    signal,
    slicer,
    isInterrupted: () => store.isBehind(server.id, outbox),
  });
  const interval = checkInterval(server, clock(), random);
  const isStillHeld = held !== null;
  if (isStillHeld) held = heldOf(await driver.compare(whole, namesOf(present), signal));
  const record = partialRecord(settled.record, blocked, held, desired, server);
  const unknownKeys =
    hasApplied && !isStillHeld
      ? undefined
      : (await driver.unknownKeys?.(namesIn(desired, former), signal))?.slice(0, MAX_UNKNOWN);
  const lagSeconds = await store.record(server.id, holder, fence, {
    ...record,
    outbox,
    foundDrift,
    held,
    unknownKeys,
    appliedHash: held === null && blocked === undefined ? hash : null,
    appliedRights: isStillHeld || blocked !== undefined ? undefined : server.rights,
    appliedAt: hasApplied ? clock() : undefined,
    nextCheckMs: record.failed
      ? retryMs(server.attempts + 1, 0, record.error?.code, random)
      : isStillHeld && held === null
        ? 0 // nothing differs any more: deliver the keys that were held
        : settled.foundUnreadable
          ? UNREADABLE_RETRY_MS
          : interval,
    nextProbeMs: { all: interval, interrupted: RESUME_MS, none: undefined }[settled.probed],
  });
  const hasDelivered = settled.added.length + settled.removed.length > 0;
  // Keys that stay on the name server, which may quote their secrets.
  const kept = new Set(blocked === undefined ? state.kept?.map(({ id }) => id) : heldIds);
  for (const id of memory.keys()) if (!kept.has(id)) memory.delete(id);
  for (const key of state.keys) memory.set(key.id, key);
  return {
    server,
    outcome:
      record.failed && !(record.state === 'blocked' && hasDelivered)
        ? 'failed'
        : hasApplied
          ? 'changed'
          : 'unchanged',
    error: record.error,
    state: record.state,
    added: settled.added,
    removed: settled.removed,
    foundDrift,
    lagSeconds,
    keysWanted: record.keysWanted,
    keysLive: record.keysLive,
    held,
  };
}

/** Returns the record of a pass that leaves changes blocked, or held, which is not a failure. */
function partialRecord(
  record: Decided,
  blocked: Failure | undefined,
  held: NameServer['held'],
  { state }: Desire,
  { name }: NameServer,
): Decided {
  if (blocked === undefined && held === null) return record;
  const keysWanted = state.keys.length;
  if (record.state !== 'live') return { ...record, keysWanted };
  if (blocked !== undefined) {
    const verifiedAt = undefined;
    return { ...record, keysWanted, state: 'blocked', error: blocked, failed: true, verifiedAt };
  }
  return { ...record, keysWanted, state: 'held', error: held && holdReason(held, name) };
}

/** Returns the names of all keys that the database has or had on a name server. */
export function namesIn(
  { state, undeliverable }: Desire,
  former: readonly Delivery[],
): Set<string> {
  return new Set([
    ...[...state.keys, ...(state.kept ?? [])].map(({ name }) => name),
    ...undeliverable.map(({ key }) => comparisonForm(key.name)),
    ...former.map(({ keyName }) => keyName),
  ]);
}

/**
 * Returns why a pass needs a confirmation: it would remove most keys, or their rights, and the
 * database does not state why. Keys that callers deleted or moved are `removing`.
 */
function blockedBy(
  { server, isConfirmed, appliedRights }: Claim,
  unwanted: readonly Delivery[],
  present: number,
): Failure | undefined {
  if (isConfirmed) return undefined;
  const gone = unwanted.filter((row) => !isExplained(row)).length;
  const staying = present - unwanted.length;
  const lost = appliedRights.filter((right) => !server.rights.includes(right));
  const lostKeys = lost.length === 0 ? 0 : (staying * lost.length) / appliedRights.length;
  // Keys that callers delete meanwhile do not confirm the removal of the others.
  const isStillBlocked = server.state === 'blocked' && gone + lostKeys > 0;
  if (!isStillBlocked && !isMassRemoval(gone + lostKeys, present)) return undefined;
  const rights = lost.map((right) => `'${right}'`).join(' and ');
  const parts = [
    ...(gone === 0 ? [] : [`${gone} of ${present} keys`]),
    ...(lostKeys === 0 ? [] : [`the right ${rights} of ${staying} keys`]),
  ];
  const message = `The pass would remove ${parts.join(', and ')}. To confirm this, run: tsigil nameserver reconcile ${server.name} --confirm`;
  return { code: 'blocked_removal', message };
}

/** Returns whether a caller deleted or moved the key. */
function isExplained({ state }: Delivery): boolean {
  return state === 'removing';
}

/** Returns whether a name server may have a key. */
function isOnServer({ state, appliedAt }: Delivery): boolean {
  return state !== 'undeliverable' || appliedAt !== null;
}

/** Returns the keys that the name server may have but should not have. */
function goneOf({ state }: Desire, former: readonly Delivery[]): Delivery[] {
  const wanted = new Set([...state.keys, ...(state.kept ?? [])].map(({ id }) => id));
  return former.filter(({ keyId }) => !wanted.has(keyId)).filter(isOnServer);
}

/** Returns the keys that the last pass left out because their names were taken. */
function namesTaken(former: readonly Delivery[]): KeyProblem[] {
  return former.flatMap(({ keyId, error }) =>
    error?.code === 'name_taken'
      ? [{ id: keyId, code: 'name_taken' as const, message: error.message }]
      : [],
  );
}
