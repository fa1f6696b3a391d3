import { readEtag, type ObservedByAgent } from '../../domain/delivery/agent-protocol.ts';
import { LeaseLostError, type Delivery, type DeliveryStore } from '../../domain/delivery/ports.ts';
import type { NameServer } from '../../domain/resources/name-server.ts';
import type { PassResult } from '../reconciler/pass.ts';

/** How long an agent keeps its lease after a pass. */
const KEEP_LEASE_MS = 45_000;

/** What the report of an agent means for the database. */
export interface ReadReport {
  /** The rows of deliveries that change. */
  readonly rows: readonly Delivery[];
  /** The keys that the name server no longer has. */
  readonly removed: readonly string[];
  readonly now: string;
  /** For metrics and the log. */
  readonly result: Omit<PassResult, 'lagSeconds'>;
}

/**
 * Reads the report of an agent about `server`. Keys that are not among `former` are ignored: the
 * service adds each key before an agent gets it. Times are those of the service.
 */
export function readReport(
  server: NameServer,
  report: ObservedByAgent,
  former: readonly Delivery[],
  now: string,
): ReadReport {
  const known = new Map(former.map((row) => [row.keyId, row]));
  const rows = new Map<string, Delivery>();
  const added: string[] = [];
  for (const { key_id: id, state, delivered_version: version, error: given } of report.deliveries) {
    const error = oneLine(given);
    const row = known.get(id);
    if (row === undefined) continue;
    const isSame = row.state === 'delivered' && row.deliveredVersion === version;
    const isDelivered = state === 'delivered';
    if (isDelivered && !isSame) added.push(row.keyName);
    rows.set(id, {
      ...{ keyId: id, keyName: row.keyName, state, deliveredVersion: version, error },
      appliedAt:
        state === 'undeliverable'
          ? keptSince(row, error, now)
          : isDelivered && !isSame
            ? now
            : row.appliedAt,
      verifiedAt: isDelivered ? now : row.verifiedAt,
    });
  }
  const removed = report.removed.filter((id) => known.has(id));
  return {
    ...{ rows: [...rows.values()], removed, now },
    result: {
      ...{ server, outcome: report.outcome, error: oneLine(report.error), state: report.state },
      ...{ added, removed: removed.flatMap((id) => known.get(id)?.keyName ?? []) },
      ...{ foundDrift: report.found_drift, keysWanted: report.keys_wanted },
      keysLive: report.keys_live,
    },
  };
}

/** Returns since when a name server keeps a key whose secret is not known. Null for other keys. */
function keptSince(row: Delivery, error: Delivery['error'], now: string): string | null {
  if (error?.code !== 'unreadable_secret') return null;
  return row.state === 'undeliverable' ? row.appliedAt : (row.appliedAt ?? now);
}

/**
 * Records the report of an agent, which keeps its lease. Returns the seconds since the oldest change
 * that the pass delivered, if any. Throws `LeaseLostError` if the report is not about the last pass.
 */
export async function recordReport(
  deliveries: Pick<DeliveryStore, 'record' | 'fail'>,
  { id }: NameServer,
  report: ObservedByAgent,
  { rows, removed, now }: ReadReport,
): Promise<number | undefined> {
  const { agent, fence, state } = report;
  const error = oneLine(report.error);
  const etag = readEtag(report.etag);
  if (etag?.fence !== fence) throw new LeaseLostError();
  if (!report.completed) {
    await deliveries.fail(id, agent, fence, {
      ...{ state, error: error ?? UNKNOWN, refusals: report.refusals },
      ...{ retryMs: () => report.next_ms, keepLeaseMs: KEEP_LEASE_MS },
    });
    return undefined;
  }
  return deliveries.record(id, agent, fence, {
    ...{ outbox: report.changes, state, error },
    ...{ keysWanted: report.keys_wanted, keysLive: report.keys_live, appliedHash: etag.hash },
    appliedAt: report.applied ? now : undefined,
    verifiedAt: report.verified ? now : undefined,
    foundDrift: report.found_drift,
    ...{ changed: rows, removed, failed: error !== null && state !== 'drifted' },
    nextCheckMs: report.next_ms,
    nextProbeMs: report.probed_all ? report.next_ms : undefined,
    keepLeaseMs: KEEP_LEASE_MS,
  });
}

/** Returns a failure without control characters: a message must not look like several lines. */
function oneLine(failure: Delivery['error']): Delivery['error'] {
  if (failure === null) return null;
  return { ...failure, message: failure.message.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ') };
}

const UNKNOWN = { code: 'internal', message: 'the agent reported no reason' };
