import type { StateHead } from '../../domain/delivery/agent-pass.ts';
import {
  MAX_AT_ONCE,
  MAX_ITEMS,
  type DesiredForAgent,
  type ObservedByAgent,
} from '../../domain/delivery/agent-protocol.ts';
import type { Delivery, PassRecord } from '../../domain/delivery/ports.ts';
import { briefly } from '../reconciler/failures.ts';
import { RESUME_MS } from '../reconciler/schedule.ts';

/** The members that every report of a pass has. */
export type Result = Pick<ObservedByAgent, 'completed' | 'outcome' | 'state' | 'error' | 'next_ms'>;

/** Returns what an agent reports about a successful pass. */
export function reportOf(record: PassRecord): Partial<ObservedByAgent> & Result {
  const { state, error, appliedAt, keysWanted, keysLive } = record;
  const applied = appliedAt !== undefined;
  const done = applied ? 'changed' : 'unchanged';
  // Undeliverable keys come first: the next pass must know that other programs may use their names.
  const isFirst = (row: Delivery) => row.state === 'undeliverable';
  const sorted = record.changed.toSorted((one, other) => +isFirst(other) - +isFirst(one));
  const changed = sorted.slice(0, MAX_AT_ONCE);
  return {
    completed: true,
    outcome: state === 'drifted' ? 'drifted' : record.failed ? 'failed' : done,
    state,
    error,
    keys_wanted: keysWanted,
    keys_live: keysLive,
    applied,
    verified: record.verifiedAt !== undefined,
    probed_all: isComplete(record),
    found_drift: record.foundDrift,
    deliveries: changed.flatMap(({ keyId, state: of, deliveredVersion, error: failure }) =>
      of === 'pending' || of === 'held' // only the service writes these states
        ? []
        : [
            {
              key_id: keyId,
              state: of,
              delivered_version: deliveredVersion,
              error: failure && briefly(failure),
            },
          ],
    ),
    removed: record.removed,
    // The next pass begins at once and reports the remaining keys. The changes wait until then.
    ...(changed.length < record.changed.length
      ? { changes: [], next_ms: 0 }
      : { next_ms: Math.round(record.nextCheckMs) }),
  };
}

/** Returns whether a pass verified all keys that were due, and no change interrupted it. */
function isComplete({ nextProbeMs = 0 }: PassRecord): boolean {
  return nextProbeMs > RESUME_MS;
}

/**
 * Returns the ids of keys that have no delivery and that a pass has not begun to deliver.
 * `delivered` has the ids of keys with deliveries. The names of the returned keys do not count as
 * Tsigil's, because other programs may use these names.
 */
export function notBegun(
  keys: readonly { readonly id: string }[],
  delivered: Iterable<string>,
  begun: Iterable<string> = [],
): string[] {
  const others = new Set([...delivered, ...begun]);
  return keys.flatMap(({ id }) => (others.has(id) ? [] : [id])).slice(0, MAX_ITEMS);
}

/** How long an agent waits after a response that it cannot use. */
const RETRY_MS = 5000;

/** Returns the report of an agent that cannot use a state. `message` is the reason. */
export function unusable(
  agent: string,
  head: StateHead | DesiredForAgent,
  message: string,
): ObservedByAgent {
  const { etag, fence } = head;
  const removed =
    'keys' in head
      ? notBegun(
          head.keys,
          head.deliveries.map(({ key_id: id }) => id),
        )
      : [];
  return {
    agent,
    etag,
    fence,
    completed: false,
    ...({ outcome: 'failed', state: 'failed' } as const),
    error: briefly({ code: 'agent_mismatch', message }),
    keys_wanted: 0,
    keys_live: 0,
    applied: false,
    verified: false,
    probed_all: false,
    found_drift: false,
    refusals: 0,
    changes: [],
    deliveries: [],
    removed,
    next_ms: RETRY_MS,
    duration_ms: 0,
  };
}
