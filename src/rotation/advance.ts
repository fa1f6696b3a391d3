import { isDeepStrictEqual } from 'node:util';
import { change, type ChangeContext, type Changes } from '../resources/operations/change.ts';
import { SERVICE } from '../core/audit-record.ts';
import { isUnreadable } from '../core/unreadable.ts';
import { grantList } from '../resources/grants.ts';
import {
  lifecycle,
  lineage,
  retiredKey,
  type Lifecycle,
  type RetiredKey,
} from '../resources/lineage.ts';
import { tsigkey, type Tsigkey } from '../resources/tsigkey.ts';
import { grantsOfKey } from '../resources/grant-rules.ts';
import { leave, relink } from './lineage-rows.ts';
import { millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import { daysUntil, expiryOf, firstWarning, nextWarning } from '../resources/expiry.ts';
import type { UseAfterRetirement } from './clients.ts';
import type { RotationDependencies } from './dependencies.ts';
import { factsOf, type Rotation } from './facts.ts';
import { RETIRE_RIGHT } from '../resources/limits.ts';
import { nextStep, PROCEEDING } from './step.ts';

export interface RotationObserver {
  /** A rotation begins to wait. */
  waiting(key: Pick<Tsigkey, 'id' | 'name'>, reason: string, who: readonly string[]): void;
  retired(key: Pick<Tsigkey, 'id' | 'name'>): void;
  usedAfterRetirement(use: UseAfterRetirement): void;
  /** A key that nothing replaces expires in `days`, which are negative after its expiry. */
  expiring(key: Pick<Tsigkey, 'id' | 'name'>, expiresAt: string, days: number): void;
}

const SILENT: RotationObserver = {
  waiting: () => undefined,
  retired: () => undefined,
  usedAfterRetirement: () => undefined,
  expiring: () => undefined,
};

const AT_ONCE_MS = 60_000;

/** The most steps that follow each other at once, from `spreading` to `retired`. */
const MAX_STEPS = 4;

/**
 * Takes a key through all steps that are due. Each step is a transaction that changes nothing if
 * another process has changed the row meanwhile. Throws `unavailable`.
 */
export async function advance(
  dependencies: RotationDependencies,
  id: string,
  observer: RotationObserver = SILENT,
): Promise<void> {
  for (let count = 0; count < MAX_STEPS; count += 1)
    if (!(await takeStep(dependencies, id, observer))) return;
}

/** Takes the steps that are due now. A failure is left to the job, because the change is stored. */
export async function settle(dependencies: RotationDependencies, id: string): Promise<void> {
  await advance(dependencies, id).catch(() => undefined);
}

/** Takes one step. Returns whether another one may follow at once. */
async function takeStep(
  dependencies: RotationDependencies,
  id: string,
  observer: RotationObserver,
): Promise<boolean> {
  const row = await dependencies.store.get(lifecycle, id);
  if (row === undefined) return false;
  if (row.state === 'active') return lookAtExpiry(dependencies, row, observer);
  if (row.state === 'retired') return lookAtRetired(dependencies, row, observer);
  const rotation = await readRotation(dependencies, row);
  if (rotation === undefined) return false;
  const step = nextStep(row, await factsOf(dependencies, rotation));
  const context = { ...SERVICE, right: RETIRE_RIGHT };
  const successor = { isStale: false };
  const went = await changeRow(dependencies, context, row, async (changes) => {
    // Name servers were asked about this version of the successor.
    const current = await changes.get(tsigkey, rotation.successor.id);
    successor.isStale = current?.version !== rotation.successor.version;
    if (successor.isStale) return;
    if (step.retire) await retireNow(changes, dependencies, rotation);
    else await moveOn(changes, dependencies, rotation, { ...row, ...step.row });
  });
  if (!went || successor.isStale) return true;
  if (step.retire) {
    observer.retired(rotation.key);
    return false;
  }
  const { state, waiting_reason: reason, waiting_for: who } = { ...row, ...step.row };
  if (reason !== null && reason !== row.waiting_reason) observer.waiting(rotation.key, reason, who);
  return state !== row.state;
}

async function moveOn(
  changes: Changes,
  dependencies: RotationDependencies,
  rotation: Rotation,
  changed: Lifecycle,
): Promise<void> {
  const { row, key } = rotation;
  const now = changes.now();
  const due = dueAt(changed, now, dependencies);
  await changes.put(lifecycle, { ...changed, due_at: due, updated_at: now });
  // The successor signs NOTIFY from now on, or no longer.
  if ((row.state === 'draining') !== (changed.state === 'draining')) changes.deliver(key);
  if (row.state === 'spreading' && changed.state === 'switching')
    changes.event(eventOf(rotation, 'verified'));
  const { waiting_reason: reason, waiting_for: who } = changed;
  if (reason !== null && reason !== row.waiting_reason)
    changes.event(eventOf(rotation, 'waiting', { reason, who }));
}

/** Reads what belongs to a rotation. Undefined if something of it was deleted meanwhile. */
export async function readRotation(
  { store }: Pick<RotationDependencies, 'store'>,
  row: Lifecycle,
): Promise<Rotation | undefined> {
  const key = await store.get(tsigkey, row.id);
  const own = await store.get(lineage, row.lineage_id);
  const successor =
    row.successor_id === null ? undefined : await store.get(tsigkey, row.successor_id);
  if (key === undefined || own === undefined || successor === undefined) return undefined;
  return { row, lineage: own, key, successor };
}

/**
 * Runs `work` in a transaction if the row of a key is still as it was read, and returns whether it
 * is. All changes of a lineage hold the lock on its row.
 */
export function changeRow(
  dependencies: RotationDependencies,
  context: ChangeContext,
  row: Lifecycle,
  work: (changes: Changes) => Promise<void>,
): Promise<boolean> {
  return change(dependencies, context, async (changes) => {
    await changes.getToChange(lineage, row.lineage_id);
    const current = await changes.getToChange(lifecycle, row.id);
    if (!isDeepStrictEqual({ ...current }, { ...row })) return false;
    await work(changes);
    return true;
  });
}

/** A rotation that waits for days is looked at this many times less often than a new one. */
const MAX_SLOWER = 10;

/** Clients move within days, so a rotation that waits for them is looked at less and less. */
function dueAt(
  { state, started_at: started, verified_at: verified, retire_at: retireAt }: Lifecycle,
  now: string,
  { rotations }: Pick<RotationDependencies, 'rotations'>,
): string {
  const time = millisecondsOf(now);
  const isNew = started !== null && time - millisecondsOf(started) < AT_ONCE_MS;
  if (state === 'spreading' && isNew) return now;
  const { pollMs } = rotations;
  const waitedMs = state === 'spreading' || verified === null ? 0 : time - millisecondsOf(verified);
  const slower = Math.min(Math.max(waitedMs / (MAX_SLOWER * pollMs), 1), MAX_SLOWER);
  const next = timestampOf(time + Math.round(slower * pollMs));
  return retireAt !== null && retireAt > now && retireAt < next ? retireAt : next;
}

interface Concerned extends Pick<Rotation, 'key' | 'successor'> {
  readonly lineage: Pick<Rotation['lineage'], 'handle'>;
}

/** Returns an event of a rotation, about the key that is replaced. */
export function eventOf(
  { key, successor, lineage: { handle } }: Concerned,
  event: 'started' | 'verified' | 'waiting' | 'retired',
  detail: Readonly<Record<string, unknown>> = {},
) {
  return {
    action: `tsigkey.rotation.${event}`,
    type: tsigkey,
    id: key.id,
    name: key.name,
    detail: { handle, successor: successor.name, successor_id: successor.id, ...detail },
  };
}

/** The key leaves its name servers like a deleted one, and can be restored in the grace time. */
export async function retireNow(
  changes: Changes,
  { settings: { graceSeconds } }: Pick<RotationDependencies, 'settings'>,
  rotation: Rotation,
): Promise<void> {
  const { row } = rotation;
  // The key may have changed since the rotation was read.
  const key = (await changes.getToChange(tsigkey, row.id)) ?? rotation.key;
  const now = changes.now();
  const grants = await grantsOfKey(changes, key);
  const retired: RetiredKey = {
    ...withoutMembers(key, 'granted'),
    secret: isUnreadable(key.secret) ? '' : key.secret,
    grants: grants && grantList(grants),
    retired_at: now,
    purge_at: timestampOf(millisecondsOf(now) + graceSeconds * 1000),
  };
  const isKept = graceSeconds > 0;
  await changes.retire(key, isKept ? retired : undefined, rotation.successor.id);
  await relink(changes, row, now);
  if (isKept)
    await changes.put(lifecycle, {
      ...row,
      state: 'retired',
      ...PROCEEDING,
      due_at: retired.purge_at,
      updated_at: now,
    });
  else await leave(changes, row);
  const until = isKept ? retired.purge_at : null;
  changes.event(eventOf(rotation, 'retired', { restorable_until: until }));
}

export function withoutMembers<T extends object, K extends keyof T>(
  value: T,
  ...names: readonly K[]
): Omit<T, K> {
  const kept = Object.entries(value).filter(
    ([name]) => !(names as readonly string[]).includes(name),
  );
  return Object.fromEntries(kept) as Omit<T, K>; // only these members are missing
}

/** Reports the first use of a retired key, and destroys its secret when its time is over. */
async function lookAtRetired(
  dependencies: RotationDependencies,
  row: Lifecycle,
  observer: RotationObserver,
): Promise<boolean> {
  const { store, clock, clients } = dependencies;
  const key = await store.get(retiredKey, row.id);
  if (key === undefined || key.purge_at <= clock()) {
    await changeRow(dependencies, SERVICE, row, async (changes) => {
      await changes.drop(retiredKey, row.id);
      await leave(changes, row);
    });
    return false;
  }
  const [use] = await clients.usesAfterRetirement([key]);
  const isFirst = use !== undefined && row.tripped_at === null;
  const went = await changeRow(dependencies, SERVICE, row, async (changes) => {
    const now = changes.now();
    await changes.put(lifecycle, {
      ...row,
      due_at: key.purge_at,
      updated_at: now,
      ...(isFirst ? { tripped_at: now } : {}),
    });
    if (isFirst)
      changes.event({
        action: 'tsigkey.rotation.used_after_retirement',
        type: tsigkey,
        id: key.id,
        name: key.name,
        detail: { count: use.count, last_at: use.lastAt, addresses: use.addresses },
      });
  });
  if (went && isFirst) observer.usedAfterRetirement(use);
  return false;
}

async function lookAtExpiry(
  dependencies: RotationDependencies,
  row: Lifecycle,
  observer: RotationObserver,
): Promise<boolean> {
  const { store, clock, settings } = dependencies;
  const now = clock();
  if (row.due_at === null || row.due_at > now) return false;
  const key = await store.get(tsigkey, row.id);
  if (key === undefined) return false;
  const expiry = expiryOf(key, row, settings.maxAgeDays);
  const isNear = expiry !== null && firstWarning(expiry) <= now;
  const warning = () => expiry && (isNear ? nextWarning(expiry, now) : firstWarning(expiry));
  const dueAt = warning();
  const days = expiry === null ? 0 : daysUntil(expiry, now);
  const went = await changeRow(dependencies, SERVICE, row, async (changes) => {
    await changes.put(lifecycle, { ...row, due_at: dueAt, updated_at: changes.now() });
    if (isNear)
      changes.event({
        action: 'tsigkey.rotation.expiring',
        type: tsigkey,
        id: key.id,
        name: key.name,
        detail: { expires_at: expiry, days },
      });
  });
  if (went && isNear) observer.expiring(key, expiry, days);
  return false;
}
