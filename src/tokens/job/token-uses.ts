import { CONFIGURED_ID, type Caller } from '../../core/caller.ts';
import type { Store } from '../../core/ports.ts';
import { runJob } from '../../core/scheduling/job.ts';
import { timestampOf } from '../../core/text/timestamps.ts';

export interface TokenUseSettings {
  readonly store: Pick<Store, 'noteUses'>;
  /** Logs a warning about a failed write. The next write includes the same uses. */
  readonly log: { warn(fields: object, message: string): void };
  /** The system time in milliseconds since 1970. */
  readonly now?: () => number;
  readonly intervalMs?: number | undefined;
}

export interface TokenUses {
  note(caller: Caller): void;
  /** Writes the uses that are still in memory, and stops the timer. */
  close(): Promise<void>;
}

/** How often uses are written, and the minimum time between two writes for one token. */
const INTERVAL_MS = 60_000;

/** The most tokens whose uses are in memory. Uses of further tokens are not recorded. */
const MAX_TOKENS = 10_000;

/**
 * Each request only sets an entry in a map, which a timer writes to the database. The database
 * changes at most once a minute for each token, even with several processes.
 */
export function createTokenUses({
  store,
  log,
  now = Date.now,
  intervalMs = INTERVAL_MS,
}: TokenUseSettings): TokenUses {
  let uses = new Map<string, number>();
  const write = async (): Promise<void> => {
    if (uses.size === 0) return;
    const written = uses;
    uses = new Map();
    const stamps = new Map([...written].map(([id, at]) => [id, timestampOf(at)]));
    try {
      await store.noteUses(stamps, timestampOf(now() - intervalMs));
    } catch (error) {
      for (const [id, at] of written) if (!uses.has(id) && uses.size < MAX_TOKENS) uses.set(id, at);
      throw error;
    }
  };
  const job = runJob({
    everyMs: intervalMs,
    work: write,
    failed: (err) =>
      log.warn(
        { err },
        'Cannot store when tokens were last used. The service tries again with the next write.',
      ),
  });
  return {
    note({ id, scope }) {
      // The configured administrator and Keystone users have no token in the database.
      if (scope !== undefined || id === CONFIGURED_ID) return;
      if (uses.size < MAX_TOKENS || uses.has(id)) uses.set(id, now());
    },
    close: () => job.close(write),
  };
}
