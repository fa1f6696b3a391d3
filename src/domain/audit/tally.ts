import type { AuditEntry } from './record.ts';

/** Events combined in memory: one record for all events of a minute with the same key. */
export interface Tally {
  /**
   * Adds one event. `key` identifies the event's line. `coarseKey` omits the resource. If the
   * minute already has the maximum number of lines, an event with a new key uses `coarseKey`.
   * `create` returns the record of a new line, without counts.
   */
  count(
    key: string,
    coarseKey: string,
    amounts: Readonly<Record<string, number>>,
    create: (isCoarse: boolean) => AuditEntry,
  ): void;
  /** Returns the records of the minutes before `minute`; of every minute, if undefined. */
  finished(minute: string | undefined): readonly AuditEntry[];
  /** Forgets these records. Call this after the database has committed them. */
  written(entries: readonly AuditEntry[]): void;
  /** Returns how many records were dropped because writes to the database failed. */
  dropped(): number;
}

const MAX_LINES = 5000;

const MAX_FINISHED = 20_000;

interface Line {
  readonly entry: AuditEntry;
  readonly amounts: Record<string, number>;
}

export function createTally(maxLines = MAX_LINES): Tally {
  let current = new Map<string, Line>();
  let finished: AuditEntry[] = [];
  let minute = '';
  let dropped = 0;

  return {
    count(key, coarseKey, amounts, create) {
      let line = current.get(key);
      if (line === undefined) {
        const isCoarse = current.size >= maxLines;
        const place = isCoarse ? coarseKey : key;
        line = current.get(place) ?? { entry: create(isCoarse), amounts: {} };
        current.set(place, line);
      }
      for (const name in amounts)
        line.amounts[name] = (line.amounts[name] ?? 0) + (amounts[name] ?? 0);
    },
    finished(now) {
      if (now !== minute) {
        for (const { entry, amounts } of current.values())
          finished.push({ ...entry, detail: { ...entry.detail, ...amounts } });
        current = new Map();
        minute = now ?? '';
        dropped += finished.splice(0, Math.max(0, finished.length - MAX_FINISHED)).length;
      }
      return [...finished];
    },
    written(entries) {
      const gone = new Set(entries);
      finished = finished.filter((entry) => !gone.has(entry));
    },
    dropped: () => dropped,
  };
}
