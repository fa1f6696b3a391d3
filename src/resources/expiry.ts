import type { Lifecycle } from './lineage.ts';
import type { Tsigkey } from './tsigkey.ts';
import { DAY_MS, millisecondsOf, timestampOf } from '../core/text/timestamps.ts';

/**
 * The days before its expiry at which the service warns of a key that nothing replaces. After the
 * last, it warns each day.
 */
export const WARNING_DAYS = [30, 14, 7, 1, 0] as const;

/**
 * Returns when a key should be replaced: at its own time, or when its secret is `maxAgeDays` old,
 * whichever is earlier. Null without either; 0 days is no limit.
 */
export function expiryOf(
  { secret_set_at: since }: Pick<Tsigkey, 'secret_set_at'>,
  own: Pick<Lifecycle, 'expires_at'> | undefined,
  maxAgeDays: number,
): string | null {
  const stated = own?.expires_at ?? null;
  if (maxAgeDays === 0) return stated;
  const aged = timestampOf(millisecondsOf(since) + maxAgeDays * DAY_MS);
  return stated === null || aged < stated ? aged : stated;
}

export function firstWarning(expiry: string): string {
  return warningAt(expiry, WARNING_DAYS[0]);
}

export function nextWarning(expiry: string, now: string): string {
  const next = WARNING_DAYS.map((days) => warningAt(expiry, days)).find((time) => time > now);
  return next ?? warningAt(expiry, daysUntil(expiry, now) - 1);
}

/** Returns the days until the expiry, rounded up; negative after it. */
export function daysUntil(expiry: string, now: string): number {
  return Math.ceil((millisecondsOf(expiry) - millisecondsOf(now)) / DAY_MS);
}

function warningAt(expiry: string, days: number): string {
  return timestampOf(millisecondsOf(expiry) - days * DAY_MS);
}
