import { auditEntry, SERVICE, type AuditEntry } from '../../core/audit-record.ts';
import type { Delivery, KeyVersion, PassPlan } from '../delivery-ports.ts';
import type { Fault } from '../../core/fault.ts';
import type { NameServer } from '../../resources/name-server.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { eachInSlices } from '../../core/scheduling/slicer.ts';
import { newSlicer } from '../../net/slices.ts';
import {
  isDelivered,
  isOnServer,
  isRefused,
  NOT_ADMITTED,
  rowsById,
  TOO_WIDE,
  undeliverableRow,
} from './delivery-rows.ts';
import type { Result } from './perform.ts';

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

export interface DeliveriesAfter {
  readonly rows: readonly Delivery[];
  /** Those that the pass changed or added. */
  readonly changedRows: readonly Delivery[];
  /** The former ones of keys that the name server no longer has. */
  readonly removedRows: readonly Delivery[];
  /** The ids of all keys without a delivery any more. */
  readonly removedIds: readonly string[];
  /** Whether all keys were verified that the pass had to verify. */
  readonly isVerified: boolean;
}

/** Returns the deliveries after a pass that ended well. `now` is the time of its record. */
export async function deliveriesAfter(
  pass: EndedPass,
  result: Result,
  now: string,
): Promise<DeliveriesAfter> {
  const { keys } = pass.plan;
  const problemIds = new Set(result.problems.map(({ id }) => id));
  const delivered = keys.accepted.filter(({ id }) => !problemIds.has(id));
  const verified = delivered.slice(0, result.verified);
  const removals = removalsOf(pass, result);
  const changedRows = [
    ...(await verifiedRows(pass, result, verified, now)),
    ...removals.refusing,
    ...problemRows(pass, result, now),
    ...keys.undeliverable,
  ];
  if (result.prepared !== null) changedRows.push(...unloadedRows(pass, changedRows));
  const removedIds = [...removals.removed.map(({ keyId }) => keyId), ...keys.orphans];
  return {
    rows: withChanges(pass.former, changedRows, new Set(removedIds)),
    changedRows,
    removedRows: removals.removed,
    removedIds,
    isVerified: verified.length === delivered.length,
  };
}

/** Returns the rows of verified keys that are new or changed. */
async function verifiedRows(
  { plan, former }: EndedPass,
  { verdicts }: Result,
  keys: readonly KeyVersion[],
  now: string,
): Promise<Delivery[]> {
  const rows = rowsById(former);
  const faults = new Map(verdicts.map(({ id, error }) => [id, error]));
  const changed: Delivery[] = [];
  await eachInSlices(newSlicer(), keys, (key) => {
    const row = rows.get(key.id);
    const next = verifiedRow(key, row, faults.get(key.id) ?? null, now);
    const isSame = isDelivered(row, key.version) && row?.error === next.error;
    if (!isSame || plan.probes !== 'none') changed.push(next);
  });
  return changed;
}

function verifiedRow(
  { id: keyId, name: keyName, version }: KeyVersion,
  row: Delivery | undefined,
  error: Fault | null,
  now: string,
): Delivery {
  const { deliveredVersion = 0, appliedAt = null, verifiedAt = null } = row ?? {};
  if (error !== null && !isFaultOfKey(error, row))
    return { keyId, keyName, state: 'failed', error, deliveredVersion, appliedAt, verifiedAt };
  return {
    keyId,
    keyName,
    state: 'delivered',
    error,
    deliveredVersion: version,
    appliedAt: isDelivered(row, version) ? appliedAt : now,
    verifiedAt: now,
  };
}

/** Returns the rows of removed keys, and those of keys that the name server did not refuse. */
function removalsOf(
  { plan, former }: EndedPass,
  { prepared, verdicts }: Result,
): Readonly<Record<'removed' | 'refusing', readonly Delivery[]>> {
  const rows = rowsById(former);
  const faults = new Map(verdicts.map(({ id, error }) => [id, error]));
  const removed: Delivery[] = [];
  const refusing: Delivery[] = [];
  for (const id of plan.keys.removals) {
    const row = rows.get(id);
    const error = faults.get(id);
    if (row === undefined) continue; // an earlier copy of this answer was recorded
    const wasOnlyPrepared = prepared !== null && row.deliveredVersion === 0;
    if (error === undefined || wasOnlyPrepared) removed.push(row);
    else refusing.push({ ...row, state: 'removing', error });
  }
  return { removed, refusing };
}

/** Returns the changed rows of the keys that the driver left out. */
function problemRows(
  { plan: { keys }, former }: EndedPass,
  { problems }: Result,
  now: string,
): Delivery[] {
  const rows = rowsById(former);
  const accepted = new Map(keys.accepted.map((key) => [key.id, key]));
  const others = new Set([...keys.removals, ...keys.undeliverable.map(({ keyId }) => keyId)]);
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  return [...byId.values()].flatMap(({ id, code, message }) => {
    const row = rows.get(id);
    const { name = row?.keyName, version = row?.deliveredVersion } = accepted.get(id) ?? {};
    // An agent can send anything.
    if (others.has(id) || name === undefined || version === undefined) return [];
    return undeliverableRow({ id, name, version }, { code, message }, row, now) ?? [];
  });
}

/**
 * Returns the changed rows of a name server that is only prepared. It had these keys before its
 * operator took the file out of its configuration.
 */
function unloadedRows({ plan, former }: EndedPass, changed: readonly Delivery[]): Delivery[] {
  const others = new Set([...plan.keys.removals, ...changed.map(({ keyId }) => keyId)]);
  return former
    .filter(({ state, keyId }) => ['delivered', 'failed'].includes(state) && !others.has(keyId))
    .map((row) => ({
      ...row,
      state: 'pending',
      deliveredVersion: 0,
      appliedAt: null,
      error: null,
    }));
}

function withChanges(
  former: readonly Delivery[],
  changed: readonly Delivery[],
  removedIds: ReadonlySet<string>,
): readonly Delivery[] {
  if (changed.length + removedIds.size === 0) return former;
  const rows = new Map([...former, ...changed].map((row) => [row.keyId, row]));
  return [...rows.values()].filter(({ keyId }) => !removedIds.has(keyId));
}

/** Returns how many keys a name server does not have, or its zones do not admit. */
export function countLacking({ rows }: DeliveriesAfter): number {
  return rows.filter((row) => !isOnServer(row) || isRefused(row)).length;
}

/** Returns how many of the keys that a name server should have it accepts. */
export function countLive({ plan: { state } }: EndedPass, after: DeliveriesAfter): number {
  const failed = after.changedRows.filter((row) => row.state === 'failed').length;
  const live = state.keysWanted - state.keysWithheld - countLacking(after) - failed;
  return Math.max(0, live);
}

/** Returns why a pass counts as failed: a key that the name server neither has nor refuses. */
export function failureIn({ changedRows }: DeliveriesAfter): Fault | null {
  return changedRows.find(({ state }) => state === 'failed' || state === 'removing')?.error ?? null;
}

/** Returns a fault of a key that the name server has, if the last pass did not find it. */
export function newFaultIn(
  { former }: EndedPass,
  { changedRows }: DeliveriesAfter,
): Fault | undefined {
  const rows = rowsById(former);
  const isNew = ({ keyId, state, error }: Delivery) =>
    state === 'delivered' && error !== null && error.code !== rows.get(keyId)?.error?.code;
  return changedRows.find(isNew)?.error ?? undefined;
}

/** Returns the names of the keys that a pass added or changed on the name server. */
export function addedNames({ former }: EndedPass, { changedRows }: DeliveriesAfter): string[] {
  const rows = rowsById(former);
  return changedRows.flatMap(({ keyId, keyName, state, deliveredVersion }) =>
    state === 'delivered' && !isDelivered(rows.get(keyId), deliveredVersion) ? [keyName] : [],
  );
}

/** Returns the records of the audit trail: the keys that a pass delivered and removed. */
export function deliveryEvents(
  { server, holder, keepLeaseMs, former }: EndedPass,
  { changedRows, removedRows }: DeliveriesAfter,
  at: string,
): AuditEntry[] {
  const rows = rowsById(former);
  const eventOf = (done: 'deliver' | 'remove', row: Delivery, version?: number) =>
    auditEntry(SERVICE, {
      at,
      action: `${tsigkey.collection}:${done}`,
      type: tsigkey,
      id: row.keyId,
      name: row.keyName,
      detail: {
        name_server: server.name,
        ...(version === undefined ? {} : { version }),
        ...(keepLeaseMs === undefined ? {} : { agent: holder }),
      },
    });
  const isNew = (row: Delivery) =>
    row.state === 'delivered' &&
    !isRefused(row) &&
    !hasVersion(rows.get(row.keyId), row.deliveredVersion);
  return [
    ...changedRows.filter(isNew).map((row) => eventOf('deliver', row, row.deliveredVersion)),
    ...removedRows
      .filter(({ deliveredVersion }) => deliveredVersion > 0)
      .map((row) => eventOf('remove', row)),
  ];
}

/**
 * Returns whether a fault is one of a key that the name server has: its zone does not admit it, or,
 * after the pass has been repeated, a line that an operator keeps opens more to it.
 */
function isFaultOfKey({ code }: Fault, row: Delivery | undefined): boolean {
  return code === NOT_ADMITTED || (code === TOO_WIDE && row?.error?.code === TOO_WIDE);
}

/** Returns whether a name server had verified this version of a key before the pass. */
function hasVersion(row: Delivery | undefined, version: number): boolean {
  return (
    row !== undefined &&
    ['delivered', 'failed', 'removing'].includes(row.state) &&
    row.deliveredVersion === version &&
    !isRefused(row)
  );
}
