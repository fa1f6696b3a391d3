import { toAsciiName } from '../../domain/dns-name.ts';
import { tld } from '../../domain/tld.ts';

/** One entry of a list, and the line on which it begins. */
export interface ListEntry {
  readonly line: number;
  readonly name: string;
  /** Absent where the list says nothing about it. */
  readonly description?: string;
}

/** A line that cannot be taken, and why. */
export interface RefusedLine {
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

/** What a file holds. Lines count from 1; every line is in one of these, or blank, or a comment. */
export interface TldList {
  readonly entries: readonly ListEntry[];
  readonly refused: readonly RefusedLine[];
  /** How many lines that name a domain were left out, because the caller or the format says so. */
  readonly leftOut: number;
}

/** One line of a text, without its end. */
export interface Line {
  readonly number: number;
  readonly text: string;
}

/** The lines of `text`, however they end. */
export function linesOf(text: string): Line[] {
  return text.split(/\r\n|\n|\r/).map((line, index) => ({ number: index + 1, text: line }));
}

/** `name` in its ASCII form if it has one; what is no domain name stays as it is, for the service to refuse. */
export function asciiForm(name: string): string {
  return toAsciiName(name) ?? name;
}

/** The list with every entry refused whose name an earlier one has. */
export function refuseRepeats(list: TldList): TldList {
  const first = new Map<string, ListEntry>();
  const refused = [...list.refused];
  for (const entry of list.entries) {
    const key = tld.unique.comparisonForm(entry.name);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, entry);
    else refused.push({ line: entry.line, text: entry.name, reason: `line ${earlier.line} has the same name` });
  }
  return { ...list, entries: [...first.values()], refused: refused.sort((one, other) => one.line - other.line) };
}
