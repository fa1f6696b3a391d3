import { parseTimestamp } from '../../domain/model/field.ts';
import { CommandError, EXIT } from '../output/errors.ts';

const UNIT_SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60 };

/**
 * Returns the timestamp that a flag gives: a timestamp (`2030-01-31T12:00:00`), or a duration from `now` (`90d`, `12h`, `30m`). `now` is
 * in milliseconds since 1970. Throws `CommandError`.
 */
export function readTime(text: string, now: number): string {
  const [, amount = '', unit = ''] = /^(\d{1,6})([dhm])$/.exec(text) ?? [];
  const seconds = UNIT_SECONDS[unit];
  if (seconds !== undefined) return new Date(now + Number(amount) * seconds * 1000).toISOString();
  const moment = parseTimestamp(text);
  if (moment === undefined)
    throw new CommandError(EXIT.usage, `'${text}' is no moment: give one such as 2030-01-31T12:00:00, or a time from now such as 90d, 12h or 30m`);
  return moment;
}
