import { bindClauses } from './read-bind.ts';
import { dhcpdClauses } from './read-dhcpd.ts';
import { knotSections } from './read-knot.ts';
import { colonLines, pdnsutilLines } from './read-lines.ts';
import { nsdSections } from './read-nsd.ts';
import type { KeyReader } from './reader.ts';

/**
 * Every import format, by name. Detection tries the formats in this order, so the most distinctive
 * formats come first.
 */
export const IMPORT_FORMATS: Readonly<Record<string, KeyReader>> = {
  bind: bindClauses,
  knot: knotSections,
  nsd: nsdSections,
  pdnsutil: pdnsutilLines,
  lines: colonLines,
  dhcpd: dhcpdClauses,
};

/** Returns the name of the format that `text` appears to be in, or undefined. */
export function detectFormat(text: string): string | undefined {
  return Object.entries(IMPORT_FORMATS).find(([, { recognises }]) => recognises(text))?.[0];
}
