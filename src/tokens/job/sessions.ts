import type { Clock } from '../../core/ports.ts';
import { runJob, type Job } from '../../core/scheduling/job.ts';
import { earlier } from '../../core/text/timestamps.ts';
import type { Database, Sql } from '../../sql/sql.ts';

const CLEAN_UP_MS = 3_600_000;

/** How long after the last use of a session the stored time of that use may lag. */
const LAG_MS = 120_000;

interface SessionCleanUp {
  readonly database: Pick<Database, 'write'>;
  readonly now: Clock;
  readonly idleSeconds: number;
  failed(error: unknown): void;
  readonly intervalMs: number | undefined;
}

/**
 * Starts the job that deletes the sessions and codes of the console that have ended. They open
 * nothing any more, so it is no change that caches must see.
 */
export function runSessionCleanUp({
  database,
  now,
  idleSeconds,
  failed,
  intervalMs = CLEAN_UP_MS,
}: SessionCleanUp): Job {
  return runJob({
    everyMs: intervalMs,
    work: () =>
      database.write(async (sql) => {
        await sql.run('DELETE FROM sessions WHERE expires_at <= ? OR seen_at <= ?', [
          now(),
          earlier(now(), idleSeconds * 1000 + LAG_MS),
        ]);
      }),
    failed,
  });
}

/**
 * Deletes all sessions and codes. Those of a restored database belong to the replaced one, and those
 * of a database without its keys are not worth accepting: a person signs in again.
 */
export async function endSessions(sql: Sql): Promise<void> {
  await sql.run('DELETE FROM sessions', []);
}
