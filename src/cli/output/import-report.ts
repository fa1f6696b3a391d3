import { firstOf } from '../../core/text/first-of.ts';
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

interface Result {
  readonly outcome: Outcome;
  /** Must not contain secrets. */
  readonly text: string;
  /** The origin of the item: a line number, or text such as an id. */
  readonly place: number | string;
}

export interface Report {
  items(): readonly Result[];
  /** A `kind` is counted apart from the others, under its name. */
  add(outcome: Outcome, text: string, place?: Result['place'], kind?: Kind): void;
  /**
   * Returns the counts: `2 added, 1 invalid`, or `zones: 1 added; keys: 2 added`. With `outcomes`,
   * returns the counts of exactly these outcomes, including zeros.
   */
  summary(outcomes?: readonly Outcome[]): string;
  count(outcome: Outcome): number;
  /** Returns a line for each change: `+ name`, `~ name`, `- name`. */
  changes(): string;
  /** Returns a line for each of the first 10 refusals, sorted by line number: `line 3: reason`. */
  refusals(): string;
}

const MAX_SHOWN = 60;

const MAX_REFUSALS = 10;
const NOTHING = 'nothing to import';

/** Creates a report. With `write`, the report also writes a line for each outcome immediately. */
export function createReport(write?: (line: string) => unknown): Report {
  const items: Result[] = [];
  const zones = new Set<Result>();
  return {
    items: () => items,
    add(outcome, text, place = '', kind) {
      const item = { outcome, text, place };
      items.push(item);
      if (kind !== undefined) zones.add(item);
      write?.(`${placeOf(item)}: ${outcome}: ${plainCell(text)}\n`);
    },
    summary(outcomes) {
      if (outcomes !== undefined)
        return outcomes.map((outcome) => countText(items, outcome)).join(', ');
      if (zones.size === 0) return countTexts(items) || NOTHING;
      const isGeneral = ({ outcome }: Result) => GENERAL.includes(outcome);
      const others = items.filter((item) => !zones.has(item));
      const keys = countTexts(others.filter((item) => !isGeneral(item))) || NOTHING;
      const general = countTexts(others.filter(isGeneral));
      const parts = [`zones: ${countTexts([...zones])}`, `keys: ${keys}`, general];
      return parts.filter((part) => part !== '').join('; ');
    },
    count: (outcome) => countOf(items, outcome),
    changes: () =>
      items
        .filter(({ outcome }) => outcome in SIGNS)
        .map(({ outcome, text }) => `${SIGNS[outcome]} ${plainCell(text)}\n`)
        .join(''),
    refusals() {
      const refused = items
        .filter(({ outcome }) => outcome === 'refused')
        .sort((one, other) => Number(one.place) - Number(other.place));
      const lineOf = (item: Result) => `${placeOf(item)}: ${plainCell(item.text)}`;
      return firstOf(refused, MAX_REFUSALS, lineOf, 'lines')
        .map((line) => `${line}\n`)
        .join('');
    },
  };
}

/** Prints the summary of an import. Throws `CommandError` if an item failed. */
export function conclude(report: Report, dryRun: boolean, { out }: Terminal): void {
  const summary = `${report.summary()}${dryRun ? ' (dry run: nothing was changed)' : ''}`;
  if (FAILURES.some((outcome) => report.count(outcome) > 0))
    throw new CommandError(EXIT.refused, summary);
  out.write(`${summary}\n`);
}

/** Returns a text in quotes, shortened to 60 characters, or `none` without a text. */
export function quote(text: string | null | undefined): string {
  if (text === null || text === undefined) return 'none';
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
  return `'${plainCell(shown)}'`;
}

function countOf(items: readonly Result[], outcome: Outcome): number {
  return items.filter((item) => item.outcome === outcome).length;
}

function countText(items: readonly Result[], outcome: Outcome): string {
  const count = countOf(items, outcome);
  return `${count} ${outcome}${outcome === 'warning' && count !== 1 ? 's' : ''}`;
}

function countTexts(items: readonly Result[]): string {
  return OUTCOMES.filter((outcome) => countOf(items, outcome) > 0)
    .map((outcome) => countText(items, outcome))
    .join(', ');
}

function placeOf({ place }: Result): string {
  return typeof place === 'number' ? `line ${place}` : plainCell(place);
}
