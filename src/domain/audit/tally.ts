import type { AuditEntry } from './record.ts';

/** A line of a tally: the events that one record combines. */
export interface TallyLine {
  readonly id: string;
  /** The record with the counts so far. */
  readonly entry: AuditEntry;
  /** Whether the database has an earlier state of the record. */
  readonly isStored: boolean;
}

/** Lines to write to the database. */
export interface TallyChanges {
  /** The changed lines of the current minute. */
  readonly current: readonly TallyLine[];
  /** The lines of earlier minutes. These lines no longer change. */
  readonly finished: readonly TallyLine[];
  /** Marks these lines as stored. Call this after the database has committed the lines. */
  written(): void;
}

/** The events of one minute, combined in memory. */
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
  /** Returns the lines to write. If `isEnd` is true, finishes the current minute. */
  changes(minute: string, isEnd?: boolean): TallyChanges;
  /** Returns how many lines were dropped because writes to the database failed. */
  dropped(): number;
}

/** The maximum number of lines of one minute that name a resource. */
const MAX_LINES = 5000;

/** The maximum number of finished lines that wait to be written to the database. */
const MAX_FINISHED = 20_000;

interface Line {
  readonly id: string;
  readonly entry: AuditEntry;
  readonly amounts: Record<string, number>;
  version: number;
  stored: number;
}

/** Creates an empty tally. */
export function createTally(newId: () => string, maxLines = MAX_LINES): Tally {
  let current = new Map<string, Line>();
  let finished: Line[] = [];
  let minute = '';
  let dropped = 0;

  const add = (line: Line, amounts: Readonly<Record<string, number>>) => {
    line.version += 1;
    for (const name in amounts)
      line.amounts[name] = (line.amounts[name] ?? 0) + (amounts[name] ?? 0);
  };

  return {
    count(key, coarseKey, amounts, create) {
      let line = current.get(key);
      if (line === undefined) {
        const isCoarse = current.size >= maxLines;
        const place = isCoarse ? coarseKey : key;
        line = current.get(place);
        if (line === undefined) {
          line = { id: newId(), entry: create(isCoarse), amounts: {}, version: 0, stored: 0 };
          current.set(place, line);
        }
      }
      add(line, amounts);
    },
    changes(now, isEnd = false) {
      if (now !== minute || isEnd) {
        finished.push(...current.values());
        current = new Map();
        minute = now;
        const excess = Math.max(0, finished.length - MAX_FINISHED);
        finished.splice(0, excess);
        dropped += excess;
      }
      const changed = [...current.values()].filter(({ version, stored }) => version > stored);
      const versions = changed.map(({ version }) => version);
      const ended = [...finished];
      return {
        current: changed.map(shownLine),
        finished: ended.map(shownLine),
        written() {
          for (const [index, line] of changed.entries()) line.stored = versions[index] ?? 0;
          const gone = new Set(ended);
          finished = finished.filter((line) => !gone.has(line));
        },
      };
    },
    dropped: () => dropped,
  };
}

function shownLine({ id, entry, amounts, stored }: Line): TallyLine {
  return {
    id,
    entry: { ...entry, detail: { ...entry.detail, ...amounts } },
    isStored: stored > 0,
  };
}
