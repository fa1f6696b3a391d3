import { runJob, type Job } from '../core/scheduling/job.ts';
import type { RotationDependencies } from './dependencies.ts';
import { advance, type RotationObserver } from './advance.ts';
import { watchExpiry } from './edit-description.ts';
import { WARNING_DAYS } from '../resources/expiry.ts';
import { DAY_MS, millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import { leaseOn } from '../sql/leases.ts';
import type { Database } from '../sql/sql.ts';

const INTERVAL_MS = 5000;

/** How long rotations pause after a process ends without releasing the lease. */
const LEASE_MS = 30_000;

const BATCH = 100;

/** Finds keys whose expiry nothing watches yet: of their own, or by the age of the secret. */
const UNWATCHED = `SELECT k.id FROM tsigkeys k LEFT JOIN tsigkey_lifecycles l ON l.id = k.id
  WHERE (l.id IS NULL OR (l.state = 'active' AND l.due_at IS NULL))
    AND (l.expires_at IS NOT NULL OR k.secret_set_at <= ?) LIMIT ${BATCH}`;

/** 1 for a key that nothing replaces and that expires until a time; NULL counts as 0. */
const EXPIRES = `CASE WHEN (l.id IS NULL OR l.state = 'active')
  AND (l.expires_at <= ? OR k.secret_set_at <= ?) THEN 1 ELSE 0 END)`;

/** Returns before when a secret was set that is too old in `days`. Empty, and so never, without limit. */
function setBefore(
  { clock, settings: { maxAgeDays } }: RotationDependencies,
  days: number,
): string {
  return maxAgeDays === 0
    ? ''
    : timestampOf(millisecondsOf(clock()) - (maxAgeDays - days) * DAY_MS);
}

export interface RotationJob {
  readonly database: Database;
  /** The id of this process. */
  readonly holder: string;
  dependencies(): RotationDependencies;
  readonly observer: RotationObserver;
  /** Reports the first failure after a success. */
  failed(error: unknown): void;
  readonly intervalMs?: number | undefined;
}

/** How many keys are in which state, how many rotations wait since when, and which keys are used. */
export interface RotationState {
  readonly states: ReadonlyMap<string, number>;
  readonly waits: ReadonlyMap<string, { readonly count: number; readonly since: string }>;
  readonly used: number;
  /** The keys that expire within so many days, by the days of `WARNING_DAYS`. */
  readonly expiring: ReadonlyMap<number, number>;
  readonly oldest: string | undefined;
}

/**
 * Starts the job that takes rotations of keys through their steps. It reads only the rows that are
 * due, so without a rotation it costs one query of an index.
 */
export function runRotations({
  database,
  holder,
  dependencies,
  observer,
  failed,
  intervalMs = INTERVAL_MS,
}: RotationJob): Pick<Job, 'close'> & { state(): Promise<RotationState> } {
  const { reads, exclusive } = database;
  const lease = leaseOn(database, 'rotations', exclusive ? 'the only process' : holder, LEASE_MS);
  let isClosed = false;

  const due = async (): Promise<string[]> => {
    const rows = await reads.all(
      `SELECT id FROM tsigkey_lifecycles WHERE due_at <= ? ORDER BY due_at LIMIT ${BATCH}`,
      [dependencies().clock()],
    );
    return rows.map(({ id }) => String(id));
  };
  const unwatched = async (): Promise<string[]> => {
    const rows = await reads.all(UNWATCHED, [setBefore(dependencies(), WARNING_DAYS[0])]);
    return rows.map(({ id }) => String(id));
  };
  let scannedAt = -Infinity;
  const tick = async () => {
    const errors: unknown[] = [];
    const time = millisecondsOf(dependencies().clock());
    if (time - scannedAt >= dependencies().rotations.pollMs) {
      const ids = await unwatched();
      for (const id of ids) await watchExpiry(dependencies(), id);
      if (ids.length < BATCH) scannedAt = time;
    }
    const ids = await due();
    // The lease only saves work: each step is safe in several processes.
    if (ids.length === 0 || (await lease.write(() => Promise.resolve(true))) === undefined) return;
    for (const id of ids) {
      if (isClosed) return;
      // A key that fails must not keep the others waiting.
      await advance(dependencies(), id, observer).catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  };
  const job = runJob({ everyMs: intervalMs, lease, work: tick, failed });
  return {
    close(last) {
      isClosed = true;
      return job.close(last);
    },
    async state() {
      const rows = await reads.all(
        'SELECT state, count(*) AS count, count(tripped_at) AS used FROM tsigkey_lifecycles GROUP BY state',
        [],
      );
      const waiting = await reads.all(
        `SELECT waiting_reason AS reason, count(*) AS count, min(waiting_since) AS since
          FROM tsigkey_lifecycles WHERE waiting_reason IS NOT NULL GROUP BY waiting_reason`,
        [],
      );
      const all = await reads.one(
        `SELECT count(*) AS count, min(k.secret_set_at) AS oldest, ${WARNING_DAYS.map((days) => `sum(${EXPIRES} AS within_${days}`).join(', ')}
          FROM tsigkeys k LEFT JOIN tsigkey_lifecycles l ON l.id = k.id`,
        WARNING_DAYS.flatMap((days) => [
          timestampOf(millisecondsOf(dependencies().clock()) + days * DAY_MS),
          setBefore(dependencies(), days),
        ]),
      );
      const states = new Map(rows.map((row) => [String(row.state), Number(row.count)]));
      const others = ['active', 'spreading', 'switching', 'draining'];
      const withRow = others.reduce((sum, state) => sum + (states.get(state) ?? 0), 0);
      states.set('active', (states.get('active') ?? 0) + Number(all?.count) - withRow);
      return {
        states,
        waits: new Map(
          waiting.map(({ reason, count, since }) => [
            String(reason),
            { count: Number(count), since: String(since) },
          ]),
        ),
        used: rows.reduce((sum, row) => sum + Number(row.used), 0),
        expiring: new Map(WARNING_DAYS.map((days) => [days, Number(all?.[`within_${days}`])])),
        oldest: typeof all?.oldest === 'string' ? all.oldest : undefined,
      };
    },
  };
}
