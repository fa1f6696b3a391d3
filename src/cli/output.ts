import { stringify } from 'yaml';

/** The forms in which results can be printed. */
export const FORMATS = ['table', 'json', 'yaml', 'csv', 'value'] as const;
export type Format = (typeof FORMATS)[number];

/** How to print, as asked on the command line. */
export interface OutputFlags {
  readonly format: Format;
  /** The columns to print, in this order; undefined for all. */
  readonly column?: readonly string[] | undefined;
}

type Item = Readonly<Record<string, unknown>>;

/** A list of things as text: a row each. `decorated` draws a table for a terminal; without it, columns are separated by tabs. */
export function formatList(items: readonly Item[], columns: readonly string[], flags: OutputFlags, decorated: boolean): string {
  const chosen = flags.column ?? columns;
  const rows = items.map((item) => chosen.map((column) => item[column]));
  switch (flags.format) {
    case 'json':
      return `${JSON.stringify(
        items.map((item) => pick(item, chosen)),
        null,
        2,
      )}\n`;
    case 'yaml':
      return stringify(items.map((item) => pick(item, chosen)));
    case 'csv':
      return lines([chosen, ...rows].map((row) => row.map(csvCell).join(',')));
    case 'value':
      return lines(rows.map((row) => row.map(plainCell).join(' ')));
    case 'table':
      return decorated ? drawTable(chosen, rows) : lines([chosen, ...rows].map((row) => row.map(plainCell).join('\t')));
  }
}

/** One thing as text: a line for each of its fields. */
export function formatItem(item: Item, columns: readonly string[], flags: OutputFlags, decorated: boolean): string {
  const chosen = flags.column ?? columns;
  const pairs = chosen.map((column) => ({ Field: column, Value: item[column] }));
  switch (flags.format) {
    case 'json':
      return `${JSON.stringify(pick(item, chosen), null, 2)}\n`;
    case 'yaml':
      return stringify(pick(item, chosen));
    case 'value':
      return lines(chosen.map((column) => plainCell(item[column])));
    default:
      return formatList(pairs, ['Field', 'Value'], { format: flags.format }, decorated);
  }
}

function pick(item: Item, columns: readonly string[]): Item {
  return Object.fromEntries(columns.map((column) => [column, item[column] ?? null]));
}

function lines(rows: readonly string[]): string {
  return rows.map((row) => `${row}\n`).join('');
}

/** Control characters are shown escaped: they could move a terminal's cursor or forge a row. */
export function plainCell(value: unknown): string {
  const text =
    value === null || value === undefined ? '' : Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value);
  return text.replaceAll(/\p{Cc}/gu, escapeControl);
}

/** JSON has short forms for some, and none for those above U+007F. */
function escapeControl(character: string): string {
  const short = JSON.stringify(character).slice(1, -1);
  return short.startsWith('\\') ? short : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function csvCell(value: unknown): string {
  const text = plainCell(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function drawTable(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [header, ...rows].map((row) => row.map(plainCell));
  const widths = header.map((_, index) => Math.max(...cells.map((row) => displayWidth(row[index] ?? ''))));
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+`;
  const [head = '', ...body] = cells.map((row) => `|${row.map((cell, index) => ` ${pad(cell, widths[index] ?? 0)} `).join('|')}|`);
  return lines([rule, head, rule, ...body, ...(body.length > 0 ? [rule] : [])]);
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Columns that a terminal uses for `text`: none for combining marks, two for East Asian wide characters and emoji. */
function displayWidth(text: string): number {
  const clusters = [...new Intl.Segmenter().segment(text)];
  return clusters.reduce((width, { segment }) => width + (/^[\p{M}\p{Cf}]+$/u.test(segment) ? 0 : WIDE.test(segment) ? 2 : 1), 0);
}

const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\ufe0f/u;
