import { plainCell } from './output.ts';
import type { BulkAnswer } from './tld-bulk.ts';
import type { ListEntry, RefusedLine } from './tld-lists/list.ts';

/** What an import has done so far. */
export interface Tally {
  readonly counts: Record<keyof BulkAnswer['counts'], number>;
  /** One line of text for each entry that is no longer as it was. */
  readonly changes: string[];
  readonly refused: RefusedLine[];
}

/** The longest text of a refused line that is shown. */
const MAX_SHOWN = 60;

/** A tally in which only lines that could not be read are counted. */
export function emptyTally(refused: readonly RefusedLine[]): Tally {
  return { counts: { added: 0, unchanged: 0, updated: 0, removed: 0, refused: refused.length }, changes: [], refused: [...refused] };
}

/** Adds to `tally` what the service answered about `entries`. */
export function addAnswer(tally: Tally, entries: readonly ListEntry[], { counts, results, removed }: BulkAnswer): void {
  for (const outcome of Object.keys(counts) as (keyof typeof counts)[]) tally.counts[outcome] += counts[outcome];
  for (const { index, outcome, name = '', previous, message = '' } of results) {
    const entry = entries[index];
    if (entry === undefined) continue;
    if (outcome === 'refused') tally.refused.push({ line: entry.line, text: entry.name, reason: message });
    else if (outcome === 'added') tally.changes.push(`+ ${name}`);
    else if (outcome === 'updated') tally.changes.push(`~ ${name}: ${quote(previous?.description)} -> ${quote(entry.description)}`);
  }
  for (const { name } of removed) tally.changes.push(`- ${name}`);
}

/** The counts in words: `2 added, 1 unchanged, 0 updated, 0 removed, 1 refused`. */
export function describeCounts(counts: Tally['counts']): string {
  const { added, unchanged, updated, removed, refused } = counts;
  return `${added} added, ${unchanged} unchanged, ${updated} updated, ${removed} removed, ${refused} refused`;
}

/** A line for each entry that is, or would be, no longer as it was: `+` added, `-` removed, `~` updated. */
export function describeChanges(changes: readonly string[]): string {
  return changes.map((change) => `${plainCell(change)}\n`).join('');
}

/** A line for each refused line of a list, in their order. */
export function describeRefusals(refused: readonly RefusedLine[]): string {
  const ordered = [...refused].sort((one, other) => one.line - other.line);
  return ordered.map(({ line, text, reason }) => `line ${line}: ${quote(text)}: ${plainCell(reason)}\n`).join('');
}

function quote(text: string | null | undefined): string {
  if (text === null || text === undefined) return 'none';
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
  return `'${plainCell(shown)}'`;
}
