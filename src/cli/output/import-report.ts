import { firstOf } from '../../domain/text/first-of.ts';
import { CommandError, EXIT } from './command-error.ts';
import { plainCell } from './output.ts';
import type { Terminal } from './terminal.ts';

/** The possible results for one item of an import, in the order in which a summary counts them. */
const OUTCOMES = [
  'added',
  'unchanged',
  'updated',
  'removed',
  'left out',
  'left in your configuration',
  'different',
  'invalid',
  'refused',
  'not read',
  'warning',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The outcomes that are changes, with the characters that begin their lines. */
const SIGNS: Partial<Record<Outcome, string>> = { added: '+', updated: '~', removed: '-' };

/** The outcomes that need a correction by the operator. */
const FAILURES: readonly Outcome[] = ['different', 'invalid', 'refused', 'not read'];

/** What an import is about besides its keys or entries. */
export type Kind = 'zones';

/** The outcomes that are about neither keys nor zones. */
const GENERAL: readonly Outcome[] = ['not read', 'warning'];

/** The origin of an item: a line number, or text such as an id. */
export type Place = number | string;

/** The outcomes of an import. Texts must not contain secrets. */
export interface Report {
  items(): readonly { readonly outcome: Outcome; readonly text: string; readonly place: Place }[];
  /** A `kind` is counted apart from the others, under its name. */
  add(outcome: Outcome, text: string, place?: Place, kind?: Kind): void;
  /**
   * Returns the counts: `2 added, 1 invalid`, or `zones: 1 added; keys: 2 added`. With `outcomes`, returns the counts of exactly these
   * outcomes, including zeros.
   */
  summary(outcomes?: readonly Outcome[]): string;
  count(outcome: Outcome): number;
  isClean(): boolean;
  /** Returns a line for each change: `+ name`, `~ name`, `- name`. */
  changes(): string;
  /**
   * Returns a line for each of the first 10 refusals, sorted by line number: `line 3: reason`. The
   * last line counts the remaining refusals.
   */
  refusals(): string;
}

/** The maximum number of characters that `quote` shows. */
const MAX_SHOWN = 60;

const MAX_REFUSALS = 10;

/** Creates a report. With `write`, the report also writes a line for each outcome immediately. */
export function createReport(write?: (line: string) => unknown): Report {
  const added: { readonly outcome: Outcome; readonly text: string; readonly place: Place }[] = [];
  const zones = new Set<(typeof added)[number]>();
  const count = (outcome: Outcome) => added.filter((each) => each.outcome === outcome).length;
  const countsOf = (items: readonly (typeof added)[number][]) =>
    OUTCOMES.map(
      (outcome) => [outcome, items.filter((each) => each.outcome === outcome).length] as const,
    )
      .filter(([, number]) => number > 0)
      .map(([outcome, number]) => countText(number, outcome))
      .join(', ');
  return {
    items: () => added,
    add(outcome, text, place = '', kind) {
      const item = { outcome, text, place };
      added.push(item);
      if (kind !== undefined) zones.add(item);
      write?.(`${placeOf(place)}: ${outcome}: ${plainCell(text)}\n`);
    },
    summary(outcomes) {
      if (outcomes !== undefined)
        return outcomes.map((outcome) => countText(count(outcome), outcome)).join(', ');
      if (zones.size === 0) return countsOf(added) || 'nothing to import';
      const others = added.filter((each) => !zones.has(each));
      const keys = others.filter(({ outcome }) => !GENERAL.includes(outcome));
      const general = others.filter(({ outcome }) => GENERAL.includes(outcome));
      return [
        `zones: ${countsOf([...zones])}`,
        `keys: ${countsOf(keys) || 'nothing to import'}`,
        ...(general.length === 0 ? [] : [countsOf(general)]),
      ].join('; ');
    },
    count,
    isClean: () => !added.some(({ outcome }) => FAILURES.includes(outcome)),
    changes: () =>
      added
        .filter(({ outcome }) => outcome in SIGNS)
        .map(({ outcome, text }) => `${SIGNS[outcome]} ${plainCell(text)}\n`)
        .join(''),
    refusals() {
      const lines = added
        .filter(({ outcome }) => outcome === 'refused')
        .sort((one, other) => Number(one.place) - Number(other.place));
      const lineOf = ({ text, place }: (typeof added)[number]) =>
        `${placeOf(place)}: ${plainCell(text)}`;
      return firstOf(lines, MAX_REFUSALS, lineOf, 'lines')
        .map((line) => `${line}\n`)
        .join('');
    },
  };
}

/** Prints the summary of an import. Throws `CommandError` if an item failed. */
export function conclude(report: Report, dryRun: boolean, { out }: Terminal): void {
  const summary = `${report.summary()}${dryRun ? ' (dry run: nothing was changed)' : ''}`;
  if (!report.isClean()) throw new CommandError(EXIT.refused, summary);
  out.write(`${summary}\n`);
}

/** Returns a text in quotes, shortened to 60 characters, or `none` without a text. */
export function quote(text: string | null | undefined): string {
  if (text === null || text === undefined) return 'none';
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
  return `'${plainCell(shown)}'`;
}

function countText(count: number, outcome: Outcome): string {
  return `${count} ${outcome}${outcome === 'warning' && count !== 1 ? 's' : ''}`;
}

function placeOf(place: Place): string {
  return typeof place === 'number' ? `line ${place}` : plainCell(place);
}
