import { csvText, formatJson, plainText } from './plain-text.ts';
import { formatYaml } from './yaml.ts';
import { drawTable } from './table.ts';
import { textStyleOf, type Terminal, type TextStyle } from './terminal.ts';

export const FORMATS = ['table', 'json', 'yaml', 'csv', 'value'] as const;
export type Format = (typeof FORMATS)[number];

export interface OutputFlags {
  /** Undefined for a table on a terminal, and for columns separated by tabs elsewhere. */
  readonly format?: Format | undefined;
  /** The columns to print, in this order, or undefined for all columns. */
  readonly column?: readonly string[] | undefined;
}

type Item = Readonly<Record<string, unknown>>;

export function formatList(
  items: readonly Item[],
  columns: readonly string[],
  { format, column: chosen = columns }: OutputFlags,
  textStyle: TextStyle,
): string {
  const rows = items.map((item) => chosen.map((column) => item[column]));
  const cells = rows.map((row) => row.map(plainCell));
  switch (format ?? (textStyle.decorated ? 'table' : 'tabs')) {
    case 'json':
      return formatJson(items.map((item) => pick(item, chosen)));
    case 'yaml':
      return formatYaml(items.map((item) => pick(item, chosen)));
    case 'csv':
      return lines([chosen, ...rows], csvCell, ',');
    case 'value':
      return lines(cells, String, ' ');
    case 'tabs':
      return lines([chosen, ...cells], String, '\t');
    case 'table':
      return drawTable(chosen, cells, textStyle);
  }
}

export function formatItem(
  item: Item,
  columns: readonly string[],
  { format, column: chosen = columns }: OutputFlags,
  textStyle: TextStyle,
): string {
  if (format === 'json') return formatJson(pick(item, chosen));
  if (format === 'yaml') return formatYaml(pick(item, chosen));
  const pairs = chosen.map((column) => ({ Field: column, Value: item[column] }));
  const shown = format === 'value' ? ['Value'] : ['Field', 'Value'];
  return formatList(pairs, shown, { format }, textStyle);
}

export function printList(
  { out, environment }: Terminal,
  items: readonly Item[],
  columns: readonly string[],
  flags: OutputFlags,
): void {
  out.write(formatList(items, columns, flags, textStyleOf(out, environment)));
}

export function printItem(
  { out, environment }: Terminal,
  item: Item,
  columns: readonly string[],
  flags: OutputFlags,
): void {
  out.write(formatItem(item, columns, flags, textStyleOf(out, environment)));
}

function pick(item: Item, columns: readonly string[]): Item {
  return Object.fromEntries(columns.map((column) => [column, item[column] ?? null]));
}

function lines<T>(
  rows: readonly (readonly T[])[],
  textOf: (cell: T) => string,
  separator: string,
): string {
  return rows.map((row) => `${row.map(textOf).join(separator)}\n`).join('');
}

function csvCell(value: unknown): string {
  return typeof value === 'number' ? String(value) : csvText(textOf(value));
}

/** Formats a value on one line. Escapes unprintable characters. */
export function plainCell(value: unknown): string {
  return plainText(textOf(value));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value))
    return value
      .map((item) => (isObject(item) ? Object.values(item).map(textOf).join(':') : textOf(item)))
      .join(', ');
  if (isObject(value))
    return Object.entries(value)
      .filter(([, member]) => member === '' || textOf(member) !== '')
      .map(([name, member]) => `${name}:${textOf(member)}`)
      .join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null;
}
