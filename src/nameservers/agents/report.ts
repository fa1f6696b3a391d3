import { readEtag } from '../../domain/delivery/agent-pass.ts';
import type { ObservedByAgent } from '../../domain/delivery/agent-protocol.ts';
import {
  LeaseLostError,
  type Delivery,
  type DeliveryStore,
  type Failure,
} from '../../domain/delivery/ports.ts';
import type { NameServer } from '../../domain/resources/name-server.ts';
import { eachInSlices } from '../../domain/scheduling/slicer.ts';
import type { PassResult } from '../reconciler/pass.ts';
import { LEASE_MS } from '../reconciler/lease.ts';
import { redactor } from '../reconciler/redaction.ts';
import { newSlicer } from '../slices.ts';

/** The changes to the database that an agent's report causes. */
export interface ReadReport {
  /** The rows of deliveries that change. */
  readonly rows: readonly Delivery[];
  /** The keys that the name server no longer has. */
  readonly removed: readonly string[];
  readonly now: string;
  /** The result of the pass, for metrics and the log. */
  readonly result: Omit<PassResult, 'lagSeconds'>;
}

/**
 * Reads the report of an agent about `server`. Ignores keys that are not in `former`, because the
 * service adds each key before an agent gets it. All times are from the service's clock. `redact`
 * removes the secrets that the agent knows.
 */
export function readReport(
  server: NameServer,
  report: ObservedByAgent,
  former: readonly Delivery[],
  now: string,
  redact: (text: string) => string,
): ReadReport {
  const safe = (failure: Failure | null) => withoutSecrets(failure, redact);
  const known = new Map(former.map((row) => [row.keyId, row]));
  const rows = new Map<string, Delivery>();
  const added: string[] = [];
  for (const { key_id: id, state, delivered_version: version, error: given } of report.deliveries) {
    const error = safe(given);
    const row = known.get(id);
    if (row === undefined) continue;
    const isSame = row.state === 'delivered' && row.deliveredVersion === version;
    const isDelivered = state === 'delivered';
    if (isDelivered && !isSame) added.push(row.keyName);
    rows.set(id, {
      keyId: id,
      keyName: row.keyName,
      state,
      deliveredVersion: version,
      error,
      appliedAt:
        state === 'undeliverable'
          ? keptSince(row, error, now)
          : isDelivered && !isSame
            ? now
            : row.appliedAt,
      verifiedAt: isDelivered ? now : row.verifiedAt,
    });
  }
  const listed = report.removed.filter((id) => known.has(id));
  const removed = report.completed ? listed : [];
  return {
    rows: [...rows.values()],
    removed: listed,
    now,
    result: {
      server,
      outcome: report.outcome,
      error: safe(report.error),
      state: report.state,
      added,
      removed: removed.flatMap((id) => known.get(id)?.keyName ?? []),
      foundDrift: report.found_drift,
      keysWanted: report.keys_wanted,
      keysLive: report.keys_live,
      held: null,
    },
  };
}

/**
 * Returns `appliedAt` of an undeliverable key whose earlier version stays on the name server,
 * because its secret is unreadable. Returns null for other keys.
 */
function keptSince(row: Delivery, error: Delivery['error'], now: string): string | null {
  if (error?.code !== 'unreadable_secret') return null;
  return row.state === 'undeliverable' ? row.appliedAt : (row.appliedAt ?? now);
}

/**
 * Records the report of an agent. The agent keeps its lease. Returns the seconds since the oldest
 * change that the pass delivered, if any. Throws `LeaseLostError` if the report is not about the
 * last pass.
 */
export async function recordReport(
  deliveries: Pick<DeliveryStore, 'record' | 'fail'>,
  { id, rights }: NameServer,
  report: ObservedByAgent,
  { rows, removed, now, result: { error } }: ReadReport,
): Promise<number | undefined> {
  const { agent, fence, state } = report;
  const etag = readEtag(report.etag);
  if (etag?.fence !== fence) throw new LeaseLostError();
  if (!report.completed) {
    await deliveries.fail(id, agent, fence, {
      state,
      error: error ?? UNKNOWN,
      refusals: report.refusals,
      notBegun: removed,
      retryMs: () => report.next_ms,
      keepLeaseMs: LEASE_MS,
    });
    return undefined;
  }
  return deliveries.record(id, agent, fence, {
    outbox: report.changes,
    state,
    error,
    keysWanted: report.keys_wanted,
    keysLive: report.keys_live,
    appliedHash: state === 'blocked' ? null : etag.hash,
    appliedRights: state === 'blocked' || state === 'drifted' ? undefined : rights,
    appliedAt: report.applied ? now : undefined,
    verifiedAt: report.verified ? now : undefined,
    foundDrift: report.found_drift,
    changed: rows,
    removed,
    failed: error !== null && state !== 'drifted',
    nextCheckMs: report.next_ms,
    nextProbeMs: report.probed_all ? report.next_ms : undefined,
    keepLeaseMs: LEASE_MS,
  });
}

/**
 * Returns a function that removes the secrets of a name server's keys from the texts of a report.
 * Reads the keys only if the report has texts that are not stored yet.
 */
export async function redactorFor(
  deliveries: Pick<DeliveryStore, 'desired'>,
  server: NameServer,
  report: ObservedByAgent,
  former: readonly Delivery[],
): Promise<(text: string) => string> {
  const failures = [report, ...report.deliveries].flatMap(({ error }) => error ?? []);
  const fresh = new Set(failures.flatMap(({ code, message }) => [code, message]));
  for (const text of [server.error_code, server.error]) if (text !== null) fresh.delete(text);
  for (const { error } of former) {
    if (error === null) continue;
    fresh.delete(error.code);
    fresh.delete(error.message);
  }
  if (fresh.size === 0) return (text) => text;
  const { state } = await deliveries.desired(server);
  const redact = await redactor(state.keys.map(({ secret }) => secret));
  const safe = new Map<string, string>();
  await eachInSlices(newSlicer(), fresh, (text) => void safe.set(text, redact(text)));
  return (text) => safe.get(text) ?? text;
}

/**
 * Returns a failure without secrets and without control characters: a message must not look like
 * several lines.
 */
function withoutSecrets(failure: Failure | null, redact: (text: string) => string): Failure | null {
  if (failure === null) return null;
  return {
    code: redact(failure.code) === failure.code ? failure.code : UNKNOWN.code,
    message: redact(failure.message).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '),
  };
}

const UNKNOWN = { code: 'internal', message: 'the agent reported no reason' };
