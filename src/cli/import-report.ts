import { plainCell } from './output.ts';
import type { Stream } from './terminal.ts';

/** What became of one thing that was to be imported. */
export const OUTCOMES = ['added', 'updated', 'unchanged', 'different', 'invalid', 'refused'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The outcomes that leave something to do. */
const FAILURES: readonly Outcome[] = ['different', 'invalid', 'refused'];

/** Tells line by line what became of each thing, and counts. */
export interface Report {
  /** `place` is where it was found; nothing that could be a secret belongs in `text`. */
  tell(place: string, outcome: Outcome, text: string): void;
  /** The counts, such as `2 added, 1 invalid`. */
  summary(): string;
  /** Whether everything is as it was wanted. */
  isClean(): boolean;
}

/** A report on `out`. */
export function startReport(out: Stream): Report {
  const counts = new Map<Outcome, number>();
  return {
    tell(place, outcome, text) {
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      out.write(`${plainCell(place)}: ${outcome}: ${plainCell(text)}\n`);
    },
    summary: () =>
      OUTCOMES.filter((outcome) => counts.has(outcome))
        .map((outcome) => `${counts.get(outcome)} ${outcome}`)
        .join(', ') || 'nothing to import',
    isClean: () => !FAILURES.some((outcome) => counts.has(outcome)),
  };
}
