import { toAsciiName } from '../core/text/dns-name.ts';

export interface ListEntry {
  readonly line: number;
  readonly name: string;
  /** Absent if the list has no description for the entry. */
  readonly description?: string;
}

export interface RefusedLine {
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

/** The content of a list file, without blank lines and comments. Line numbers begin at 1. */
export interface TldList {
  readonly entries: readonly ListEntry[];
  readonly refused: readonly RefusedLine[];
  /** The number of lines with a domain name that the caller or the format excludes. */
  readonly leftOut: number;
  /** Whether the first line names columns. */
  readonly hasHeader?: boolean;
}

/** One line of a text, without its line ending. */
export interface Line {
  readonly number: number;
  readonly text: string;
}

export function linesOf(text: string): Line[] {
  return text.split(/\r\n|\n|\r/).map((line, index) => ({ number: index + 1, text: line }));
}

/** Returns an invalid domain name unchanged, so that the service refuses it. */
export function asciiForm(name: string): string {
  return toAsciiName(name) ?? name;
}

/** Later entries with the same name move to `refused`, ignoring case as the collection does. */
export function withoutRepeats(list: TldList): TldList {
  const first = new Map<string, ListEntry>();
  const refused = [...list.refused];
  for (const entry of list.entries) {
    const key = entry.name.toLowerCase();
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, entry);
    else
      refused.push({
        line: entry.line,
        text: entry.name,
        reason: `line ${earlier.line} has the same name`,
      });
  }
  return {
    ...list,
    entries: [...first.values()],
    refused: refused.sort((one, other) => one.line - other.line),
  };
}

/**
 * Returns the entries that the problems of a refused request name, and why each was refused.
 * `entries` is the member `tlds` of the request.
 */
export function refusedEntries(
  entries: readonly ListEntry[],
  problems: readonly { readonly path: readonly (string | number)[]; readonly message: string }[],
): Map<ListEntry, string[]> {
  const refused = new Map<ListEntry, string[]>();
  for (const { path, message } of problems) {
    const entry = path[0] === 'tlds' ? entries[Number(path[1])] : undefined;
    if (entry !== undefined) refused.set(entry, [...(refused.get(entry) ?? []), message]);
  }
  return refused;
}
