import { bindClauses } from './read-bind.ts';
import { knotSections } from './read-knot.ts';
import { colonLines, pdnsutilLines } from './read-lines.ts';
import { nsdSections } from './read-nsd.ts';
import type { KeyReader } from './reader.ts';

/** Every form from which keys can be read, by name, the most telling first. */
export const IMPORT_FORMATS: Readonly<Record<string, KeyReader>> = {
  bind: bindClauses,
  knot: knotSections,
  nsd: nsdSections,
  pdnsutil: pdnsutilLines,
  lines: colonLines,
};

/** The name of the form that `text` seems to be in; undefined where it looks like none. */
export function detectFormat(text: string): string | undefined {
  return Object.entries(IMPORT_FORMATS).find(([, { recognises }]) => recognises(text))?.[0];
}
