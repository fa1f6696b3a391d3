import type { NameServer } from '../../resources/name-server.ts';
import { millisecondsOf } from '../../core/text/timestamps.ts';

/** How often a name server is compared with the desired state. */
const CHECK_INTERVAL_MS = 60_000;

/**
 * How long until a new or changed name server is checked again. Its first pass may have missed a
 * concurrent change.
 */
const FIRST_CHECK_MS = 30_000;

/** How often a name server is asked again that is not ready to load the file. */
export const PREPARED_CHECK_MS = 10_000;

/** The time in which each key of a name server with at most 300 keys is verified once. */
const VERIFY_ALL_MS = 900_000;

/**
 * The most keys that a pass verifies without a change. A verification costs about 1 ms of
 * processor time, and each pass also compares the keys of the name server.
 */
const MAX_DUE = 20;

/** The maximum number of probes of a scheduled verification in one second. */
export const PROBES_PER_SECOND = 20;

/** How long a scheduled verification waits after a change has interrupted it. */
export const RESUME_MS = 1000;

/** Returns how many of `count` keys to verify in a pass. */
export function dueProbes(count: number): number {
  return Math.min(MAX_DUE, Math.ceil((count * CHECK_INTERVAL_MS) / VERIFY_ALL_MS));
}

/**
 * How long until a name server is checked again if a secret could not be decrypted. A process loads
 * new data keys of other processes within 10 s.
 */
export const UNREADABLE_RETRY_MS = 12_000;

/** The longest time between two attempts. */
const MAX_RETRY_SECONDS = 15;

/** The failures that an attempt finds before it changes anything. */
const CHEAP_FAILURES: readonly string[] = [
  'unreachable',
  'timeout',
  'not_permitted',
  'not_writable',
  'foreign_file',
];

/** The longest time between two attempts after one of `CHEAP_FAILURES`. */
const MAX_CHEAP_RETRY_SECONDS = 3;

/** Returns a random time in milliseconds: up to 2^`attempts` s, and up to the limit of `code`. */
export function retryMs(attempts: number, code: string | undefined, random: () => number): number {
  const most =
    code !== undefined && CHEAP_FAILURES.includes(code)
      ? MAX_CHEAP_RETRY_SECONDS
      : MAX_RETRY_SECONDS;
  return Math.round(random() * Math.min(most, 2 ** Math.min(attempts, 20)) * 1000);
}

/** Returns whether a name server changed so recently that a pass may have missed a change. */
export function isNew(
  { created_at: createdAt, updated_at: updatedAt }: NameServer,
  now: string,
): boolean {
  return millisecondsOf(now) - millisecondsOf(updatedAt ?? createdAt) < FIRST_CHECK_MS;
}

/** Returns milliseconds, with 10 % of jitter unless the name server is new. */
export function checkInterval(server: NameServer, now: string, random: () => number): number {
  if (isNew(server, now)) return FIRST_CHECK_MS;
  return Math.round(CHECK_INTERVAL_MS * (0.9 + 0.2 * random()));
}
