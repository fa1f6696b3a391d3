import type { DesiredKey } from '../../domain/delivery/desired-state.ts';
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
import { nextIfOver } from '../../domain/scheduling/slicer.ts';
import type { Driver, KeyProblem } from '../driver.ts';
import { newSlicer } from '../slices.ts';
import { failureOf, PassError } from './failures.ts';
import { keepLease, LEASE_MS } from './lease.ts';
import { redactor } from './redaction.ts';
import { checkInterval, RESUME_MS, retryMs, UNREADABLE_RETRY_MS } from './schedule.ts';
import { settle, type SettleDependencies } from './settle.ts';

/** The dependencies of a pass. */
export interface PassDependencies extends SettleDependencies {
  readonly store: DeliveryStore;
  readonly driver: Driver;
  /** The id of this process. */
  readonly holder: string;
  /** Whether a pass repairs or only reports differences that another program made. */
  readonly onDrift: 'repair' | 'report';
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
  const known: Known = { wanted: [], applying: undefined };
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
      await store.leave(id, leftoversOf(known.applying));
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
  const state = cause instanceof PassError ? cause.state : 'failed';
  const refused = failure.code === 'refused_by_server' ? refusals + 1 : 0;
  try {
    await store.fail(server.id, holder, fence, {
      state,
      error,
      refusals: refused,
      retryMs: (attempts) => retryMs(attempts, refused, failure.code, random),
    });
  } catch (lostError) {
    if (lostError instanceof LeaseLostError) return { ...nothing(server), outcome: 'lost' };
    throw lostError;
  }
  return { ...nothing(server), outcome: 'failed', state, error };
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
  const { state } = desired;
  known.wanted = state.keys;
  const slicer = newSlicer();
  const former = await store.deliveries(server.id);
  await nextIfOver(slicer);
  const gone = goneOf(desired, former);
  await nextIfOver(slicer);
  const present = former.filter(isOnServer);
  // Do not count keys that a former pass removed. A late apply added them again, or their removal
  // was not verified.
  const removals = gone.filter(({ state: of }) => of !== 'removing').length;
  if (!claim.isConfirmed && isMassRemoval(removals, present.length))
    throw new PassError(
      'blocked',
      'blocked_removal',
      removalMessage(removals, present.length, server),
    );
  for (const key of state.keys) if (!memory.has(key.id)) memory.set(key.id, key);
  await nextIfOver(slicer);
  const owned = new Set(present.map(({ keyName }) => keyName));
  await nextIfOver(slicer);
  const hash = hashOf(state);
  await nextIfOver(slicer);
  const isApplied =
    hash === claim.appliedHash &&
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
    };
    await store.record(server.id, holder, fence, record);
    return { ...nothing(server), outcome: 'drifted', state: 'drifted', error, foundDrift };
  }
  let problems: readonly KeyProblem[] = [];
  let hasApplied = false;
  if (foundDrift || !isApplied) {
    // Before its first change, the driver may find that another program already uses a key's name.
    const applied = await driver.apply(state, owned, signal, async (keys) => {
      await store.begin(server.id, holder, fence, intendedOf(keys, former));
      known.applying = keys;
    });
    problems = applied.problems;
    hasApplied = applied.changed;
  } else problems = namesTaken(former);
  const settled = await settle({
    dependencies,
    claim,
    desired,
    former,
    gone,
    problems,
    signal,
    slicer,
    isInterrupted: () => store.isBehind(server.id, outbox),
  });
  const interval = checkInterval(server, clock(), random);
  const { record } = settled;
  const lagSeconds = await store.record(server.id, holder, fence, {
    ...record,
    outbox,
    foundDrift,
    appliedHash: hash,
    appliedAt: hasApplied ? clock() : undefined,
    nextCheckMs: record.failed
      ? retryMs(server.attempts + 1, 0, record.error?.code, random)
      : settled.foundUnreadable
        ? UNREADABLE_RETRY_MS
        : interval,
    nextProbeMs: { all: interval, interrupted: RESUME_MS, none: undefined }[settled.probed],
  });
  // Keys whose secret is unreadable stay on the name server, which may quote their secrets.
  const kept = new Set(state.kept?.map(({ id }) => id));
  for (const id of memory.keys()) if (!kept.has(id)) memory.delete(id);
  for (const key of state.keys) memory.set(key.id, key);
  return {
    server,
    outcome: record.failed ? 'failed' : hasApplied ? 'changed' : 'unchanged',
    error: record.error,
    state: record.state,
    added: settled.added,
    removed: settled.removed,
    foundDrift,
    lagSeconds,
    keysWanted: record.keysWanted,
    keysLive: record.keysLive,
  };
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

function removalMessage(gone: number, present: number, { name }: NameServer): string {
  return `The pass would remove ${gone} of ${present} keys. To confirm this, run: tsigil nameserver reconcile ${name} --confirm`;
}
