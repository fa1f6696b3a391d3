import type { DesiredKey } from '../../domain/delivery/desired-state.ts';
import type { Claim, Delivery, Desire, Failure, PassRecord } from '../../domain/delivery/ports.ts';
import type { Clock } from '../../domain/model/ports.ts';
import { eachInSlices, nextIfOver, type Slicer } from '../../domain/scheduling/slicer.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import type { KeyProblem } from '../driver.ts';
import { redactor } from './redaction.ts';
import { dueProbes } from './schedule.ts';
import { verifySlowly, type RemovedKey, type Verdict, type Verify } from './verification.ts';

const UNREADABLE = 'unreadable_secret';

/** The dependencies of the verification. */
export interface SettleDependencies {
  readonly verify: Verify;
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  random(): number;
  /** The keys that this process applied last, with their secrets, by id. */
  readonly memory: Map<string, DesiredKey>;
}

/** The input of `settle`: the data of a pass after `apply`. */
export interface Settlement {
  readonly dependencies: SettleDependencies;
  readonly claim: Claim;
  readonly desired: Desire;
  readonly former: readonly Delivery[];
  /** The keys that the name server should no longer have. */
  readonly gone: readonly Delivery[];
  /** The keys that the driver left out. */
  readonly problems: readonly KeyProblem[];
  /** Returns whether a change waits. The scheduled verification then ends early. */
  isInterrupted(): Promise<boolean>;
  readonly signal: AbortSignal;
  readonly slicer: Slicer;
}

/** The members of the record that the verification determines. */
export type Decided = Pick<
  PassRecord,
  'state' | 'error' | 'keysWanted' | 'keysLive' | 'verifiedAt' | 'changed' | 'removed' | 'failed'
>;

/** Verifies the name server with signed and unsigned requests, and returns what to record. */
export async function settle(settlement: Settlement): Promise<{
  readonly record: Decided;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Whether this pass is the first to find that a key's secret cannot be decrypted. */
  readonly foundUnreadable: boolean;
  /** Whether the scheduled verification was complete, was interrupted, or did not run. */
  readonly probed: 'all' | 'interrupted' | 'none';
}> {
  const { dependencies, claim, desired, former, gone, problems, signal, slicer } = settlement;
  const { verify, clock, random, memory } = dependencies;
  const rows = new Map(former.map((row) => [row.keyId, row]));
  const taken = new Map(problems.map((problem) => [problem.id, problem]));
  const { keys: all, zones } = desired.state;
  const keys = taken.size === 0 ? all : all.filter(({ id }) => !taken.has(id));
  const isNew = (key: DesiredKey) => !isDelivered(rows.get(key.id), key);
  const [fresh, others]: [DesiredKey[], DesiredKey[]] = [[], []];
  await eachInSlices(slicer, keys, (key) => (isNew(key) ? fresh : others).push(key));
  const isScheduled = claim.probes === 'due' && fresh.length === 0 && gone.length === 0;
  const sample =
    claim.probes === 'all'
      ? others
      : isScheduled
        ? others.toSorted(byVerification(rows)).slice(0, dueProbes(others.length))
        : others.slice(Math.floor(random() * others.length)).slice(0, 1);
  await nextIfOver(slicer);
  const verdict: Verdict & { readonly verified?: number } = isScheduled
    ? await verifySlowly(verify, claim.server, zones, sample, settlement.isInterrupted, signal)
    : await verify(
        claim.server,
        zones,
        {
          accepted: [...fresh, ...sample],
          refused: removedKeys(settlement),
        },
        signal,
      );
  const verified = sample.slice(0, verdict.verified);
  const now = clock();
  const redact =
    verdict.failures.size === 0
      ? (text: string) => text
      : await redactor([...all, ...memory.values()].map(({ secret }) => secret));
  const safe = ({ code, message }: Failure): Failure => ({ code, message: redact(message) });
  const changed: Delivery[] = [];
  const failures: Failure[] = [];
  await eachInSlices(slicer, [...fresh, ...verified], (key) => {
    const row = rows.get(key.id);
    const failure = verdict.failures.get(key.id);
    if (failure === undefined) {
      if (isNew(key) || claim.probes !== 'none')
        changed.push(deliveredRow(key, row, now, isNew(key)));
      return;
    }
    failures.push(failure);
    changed.push({
      ...({ keyId: key.id, keyName: key.name, state: 'failed', error: safe(failure) } as const),
      deliveredVersion: row?.deliveredVersion ?? 0,
      appliedAt: row?.appliedAt ?? null,
      verifiedAt: row?.verifiedAt ?? null,
    });
  });
  const undeliverable = undeliverableRows(settlement, rows, now);
  changed.push(...undeliverable);
  const removed: string[] = [];
  await eachInSlices(slicer, gone, (row) => {
    const failure = verdict.failures.get(row.keyId);
    if (failure === undefined) removed.push(row.keyId);
    else {
      failures.push(failure);
      changed.push({ ...row, state: 'removing', error: safe(failure) });
    }
  });
  const left = former.filter((row) => row.state === 'undeliverable' && row.appliedAt === null);
  if (left.length > 0) {
    const ids = new Set([...all, ...desired.undeliverable.map(({ key }) => key)].map(idOf));
    for (const { keyId } of left) if (!ids.has(keyId)) removed.push(keyId);
  }
  const failed = new Set(
    changed.filter(({ state }) => state === 'failed').map(({ keyId }) => keyId),
  );
  const [failure] = failures;
  const error = verdict.open ?? (failure === undefined ? null : safe(failure));
  return {
    record: {
      state: verdict.open !== undefined ? 'open' : error === null ? 'live' : 'failed',
      error,
      failed: error !== null,
      keysWanted: all.length,
      keysLive: keys.filter(({ id }) => !failed.has(id)).length,
      verifiedAt: error === null ? now : undefined,
      changed,
      removed,
    },
    added: fresh.filter(({ id }) => !failed.has(id)).map(({ name }) => name),
    removed: gone.flatMap(({ keyId, keyName }) => (verdict.failures.has(keyId) ? [] : [keyName])),
    probed:
      claim.probes === 'all' || (isScheduled && verified.length === sample.length)
        ? 'all'
        : isScheduled
          ? 'interrupted'
          : 'none',
    foundUnreadable: undeliverable.some(({ error: reason }) => reason?.code === UNREADABLE),
  };
}

/**
 * Returns the removed keys to verify. Omits a key if its former secret is not known and another key
 * has the same name. A query cannot distinguish the two keys.
 */
function removedKeys({ dependencies, desired, gone }: Settlement): RemovedKey[] {
  if (gone.length === 0) return [];
  const names = new Set(desired.state.keys.map(({ name }) => name));
  return gone.flatMap(({ keyId: id, keyName: name }) => {
    const former = dependencies.memory.get(id);
    return former === undefined && names.has(name) ? [] : [{ id, name, former }];
  });
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}

/** Compares keys by the time of their last verification, the oldest first. */
function byVerification(rows: ReadonlyMap<string, Delivery>) {
  const timeOf = ({ id }: DesiredKey) => rows.get(id)?.verifiedAt ?? '';
  return (one: DesiredKey, other: DesiredKey) => (timeOf(one) < timeOf(other) ? -1 : 1);
}

function isDelivered(row: Delivery | undefined, key: DesiredKey): boolean {
  return row?.state === 'delivered' && row.deliveredVersion === key.version;
}

function deliveredRow(
  { id, name, version }: DesiredKey,
  row: Delivery | undefined,
  now: string,
  isNew: boolean,
): Delivery {
  return {
    ...({
      keyId: id,
      keyName: name,
      state: 'delivered',
      deliveredVersion: version,
      error: null,
    } as const),
    appliedAt: isNew ? now : (row?.appliedAt ?? now),
    verifiedAt: now,
  };
}

/** Returns the changed rows of undeliverable keys. */
function undeliverableRows(
  { desired, problems }: Settlement,
  rows: ReadonlyMap<string, Delivery>,
  now: string,
): Delivery[] {
  const left = [
    ...desired.undeliverable.map(({ key, code, reason }) => ({
      id: key.id,
      name: comparisonForm(key.name),
      version: key.version,
      error: { code, message: reason },
    })),
    ...problems.flatMap(({ id, code, message }) => {
      const key = desired.state.keys.find((each) => each.id === id);
      return key === undefined
        ? []
        : [{ id, name: key.name, version: key.version, error: { code, message } }];
    }),
  ];
  return left.flatMap(({ id, name, version, error }): Delivery[] => {
    const row = rows.get(id);
    if (
      row?.state === 'undeliverable' &&
      row.deliveredVersion === version &&
      row.error?.message === error.message
    )
      return [];
    const isKept = error.code === UNREADABLE && row !== undefined;
    const appliedAt = row?.state === 'undeliverable' ? row.appliedAt : (row?.appliedAt ?? now);
    return [
      {
        ...({ keyId: id, keyName: name, state: 'undeliverable' } as const),
        deliveredVersion: version,
        error,
        appliedAt: isKept ? appliedAt : null,
        verifiedAt: isKept ? row.verifiedAt : null,
      },
    ];
  });
}
