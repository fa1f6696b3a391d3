import { parseTimestamp } from '../../core/field.ts';
import { CommandError, EXIT } from '../output/command-error.ts';

const UNIT_SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60 };

/**
 * Returns the timestamp for the value of a flag: a timestamp (`2030-01-31T12:00:00`), or a duration
 * from `now` (`90d`, `12h`, `30m`). `now` is in milliseconds since 1970. Throws `CommandError`.
 */
export function readTime(text: string, now: number): string {
  return timeOf(text, now, 1);
}

/** Returns the timestamp for a timestamp or a duration before `now`. Throws `CommandError`. */
export function readPastTime(text: string, now: number): string {
  return timeOf(text, now, -1);
}

/** Returns what `readTime` returns. Throws `CommandError`, also for a duration of 0. */
export function readExpiry(text: string, now: number): string {
  if (/^0+[dhm]$/.test(text))
    throw new CommandError(
      EXIT.usage,
      `Invalid expiry '${text}': the token would expire at once. Use a longer duration (90d, 12h, 30m), or omit --expires for a token that does not expire.`,
    );
  return readTime(text, now);
}

/** Returns the seconds of a duration such as `7d`, `12h` or `30m`. Throws `CommandError`. */
export function readDuration(text: string): number {
  const seconds = secondsIn(text);
  if (seconds !== undefined) return seconds;
  throw new CommandError(EXIT.usage, `Invalid duration '${text}'. Use one such as 7d, 12h or 30m.`);
}

function secondsIn(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})([dhm])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNIT_SECONDS[unit] ?? 0);
}

function timeOf(text: string, now: number, sign: 1 | -1): string {
  const seconds = secondsIn(text);
  // A token with a duration of 0 would expire at once.
  if (seconds !== undefined && (seconds > 0 || sign < 0))
    return new Date(now + sign * seconds * 1000).toISOString();
  const timestamp = parseTimestamp(text);
  if (timestamp !== undefined) return timestamp;
  throw new CommandError(
    EXIT.usage,
    `Invalid time '${text}'. Use a timestamp (2030-01-31T12:00:00) or a duration (90d, 12h, 30m).`,
  );
}
