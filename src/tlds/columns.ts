import { withoutFormulaMark } from '../core/text/csv.ts';
import { asciiForm, type ListEntry } from './list.ts';

/** The columns of top-level domains in the output of `tsigil` and of the `openstack` client. */
const COLUMNS = new Set(['id', 'name', 'description', 'created_at', 'updated_at', 'links']);

/** In lower case, or undefined for a first record without the names of columns. */
export function columnsOf(fields: readonly string[]): readonly string[] | undefined {
  const names = fields.map((field) => field.trim().toLowerCase());
  return names.length > 1 && names.every((name) => COLUMNS.has(name)) ? names : undefined;
}

/** Returns an entry of such an output, in which an absent description is empty or `None`. */
export function entryIn(line: number, name: string, description: unknown): ListEntry {
  const entry = { line, name: asciiForm(name) };
  if (typeof description !== 'string' || /^(?:None)?$/.test(description)) return entry;
  return { ...entry, description: withoutFormulaMark(description) };
}
