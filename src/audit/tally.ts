import type { AuditEntry } from '../core/audit-record.ts';

/**
 * Events that share records: the first of a minute has a record of its own, and all further ones
 * with the same key another, with their number.
 */
export interface Tally {
  /**
   * Adds an event of a caller. `key` identifies events with the same record; `create` returns that
   * record, without counts. Returns false, and adds nothing, if the share of the caller or the
   * memory of all callers has no room for another key. `weight` is the memory of a record, compared
   * with a usual one. 0 is for keys of which each caller has only a few: they are always added.
   */
  count(
    caller: string,
    key: string,
    amounts: Readonly<Record<string, number>>,
    create: () => AuditEntry,
    weight?: number,
  ): boolean;
  /**
   * Returns the records to write: of the first events, and of the further events of the minutes
   * before `minute`, or of every minute if undefined. Returns the same records until `written`.
   */
  finished(minute: string | undefined): readonly AuditEntry[];
  /** Forgets the records that `finished` has returned, because the database has them. */
  written(): void;
}

/** The keys that one caller and all callers together may have per minute. */
const SHARE = 5000;
const TOTAL = 20_000;

/** The further events of a minute with one key. */
interface Line {
  entry: AuditEntry | undefined;
  readonly amounts: Record<string, number>;
}

export function createTally(share = SHARE, total = TOTAL): Tally {
  const lines = new Map<string, Line>();
  const shares = new Map<string, number>();
  let used = 0;
  let fresh: AuditEntry[] = [];
  let unwritten: readonly AuditEntry[] = [];
  let minute = '';

  return {
    count(caller, key, amounts, create, weight = 1) {
      const place = `${caller}\n${key}`;
      const line = lines.get(place);
      if (line === undefined) {
        const own = (shares.get(caller) ?? 0) + weight;
        if (weight > 0 && (own > share || used + weight > total)) return false;
        shares.set(caller, own);
        used += weight;
        lines.set(place, { entry: undefined, amounts: {} });
        fresh.push(withAmounts(create(), amounts));
        return true;
      }
      line.entry ??= create();
      for (const name in amounts)
        line.amounts[name] = (line.amounts[name] ?? 0) + (amounts[name] ?? 0);
      return true;
    },
    finished(now) {
      // While the database cannot be written, the minute goes on, so memory stays within the shares.
      if (unwritten.length > 0) return unwritten;
      if (now !== minute) {
        for (const { entry, amounts } of lines.values())
          if (entry !== undefined) fresh.push(withAmounts(entry, amounts));
        lines.clear();
        shares.clear();
        used = 0;
        minute = now ?? '';
      }
      unwritten = fresh;
      fresh = [];
      return unwritten;
    },
    written() {
      unwritten = [];
    },
  };
}

function withAmounts(entry: AuditEntry, amounts: Line['amounts']): AuditEntry {
  return { ...entry, detail: { ...entry.detail, ...amounts } };
}
