import { earlier, millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import type { Lifecycle, WaitingReason } from '../resources/lineage.ts';
import type { ClientFacts } from './clients.ts';

/** What is known of a rotation outside its row. */
export interface RotationFacts extends ClientFacts {
  /** The time, in the timestamp format of the API. */
  readonly now: string;
  /** The name servers that must accept the successor and were not seen to do so. */
  readonly unverifiedServers: readonly string[];
  /** The consumers that the lineage names, with whether one was seen with the successor. */
  readonly consumers: readonly { readonly name: string; readonly hasMoved: boolean }[];
  /** The places in configurations of name servers that name the former key. */
  readonly references: readonly string[];
}

/** What a step changes: the row of the former key, or the key itself. */
export type Step =
  { readonly retire: true } | { readonly retire: false; readonly row: Partial<Lifecycle> };

export type RotatingKey = Pick<
  Lifecycle,
  | 'state'
  | 'overlap_seconds'
  | 'retire'
  | 'retire_at'
  | 'started_at'
  | 'confirmed'
  | 'confirmed_all'
  | 'waiting_reason'
  | 'waiting_for'
  | 'waiting_since'
>;

/** How long a successor may take to reach all name servers, before the rotation counts as waiting. */
const PATIENCE_MS = 60_000;

/** The most that a row names. */
const MAX_NAMED = 100;

/**
 * Returns the next step of a rotation. The clock of the retirement runs only while every name server
 * accepts the successor, and only after everybody could have moved to it.
 */
export function nextStep(row: RotatingKey, facts: RotationFacts): Step {
  const { now, unverifiedServers } = facts;
  if (unverifiedServers.length > 0) {
    const isEarly = row.started_at !== null && row.started_at > earlier(now, PATIENCE_MS);
    return change({
      state: 'spreading',
      verified_at: null,
      retire_at: null,
      ...(isEarly ? PROCEEDING : waiting(row, now, 'not_verified', unverifiedServers)),
    });
  }
  if (row.state === 'spreading')
    return change({ state: 'switching', verified_at: now, ...PROCEEDING });
  if (row.state === 'switching') {
    const obstacle = switchingObstacle(row, facts);
    if (obstacle !== undefined) return change(waiting(row, now, ...obstacle));
    return change({
      state: 'draining',
      ...PROCEEDING,
      retire_at: timestampOf(millisecondsOf(now) + (row.overlap_seconds ?? 0) * 1000),
    });
  }
  if (row.retire_at === null || row.retire_at > now) return change(PROCEEDING);
  const obstacle = row.retire === 'manual' ? (['manual', []] as const) : retirementObstacle(facts);
  return obstacle === undefined ? { retire: true } : change(waiting(row, now, ...obstacle));
}

type Obstacle = readonly [reason: WaitingReason, who: readonly string[]];

/** Returns why not everybody can be assumed to have moved to the successor. */
export function switchingObstacle(
  { confirmed, confirmed_all, retire }: RotatingKey,
  { consumers, unknownOn, remainingClients }: RotationFacts,
): Obstacle | undefined {
  if (confirmed_all) return undefined;
  if (consumers.length > 0) {
    const missing = consumers
      .filter(({ name, hasMoved }) => !hasMoved && !confirmed.includes(name))
      .map(({ name }) => name);
    return missing.length === 0 ? undefined : ['unconfirmed', missing];
  }
  if (unknownOn === null || unknownOn.length > 0)
    return retire === 'automatic' ? undefined : ['unknown_consumers', unknownOn ?? []];
  return remainingClients.length === 0 ? undefined : ['unconfirmed', remainingClients];
}

/** Returns why the former key may still be needed. */
export function retirementObstacle({
  users,
  references,
}: Pick<RotationFacts, 'users' | 'references'>): Obstacle | undefined {
  if (users.length > 0) return ['in_use', users];
  return references.length > 0 ? ['referenced', references] : undefined;
}

export const PROCEEDING = { waiting_reason: null, waiting_for: [], waiting_since: null } as const;

function change(row: Partial<Lifecycle>): Step {
  return { retire: false, row };
}

function waiting(
  row: RotatingKey,
  now: string,
  reason: WaitingReason,
  who: readonly string[],
): Partial<Lifecycle> {
  return {
    waiting_reason: reason,
    waiting_for: who.slice(0, MAX_NAMED),
    waiting_since: row.waiting_reason === reason ? row.waiting_since : now,
  };
}
