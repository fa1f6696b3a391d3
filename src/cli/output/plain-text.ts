import { Document, isScalar, Scalar, visit } from 'yaml';

/**
 * Characters that a terminal may act on or that change the order in which a line is read: controls (C0, DEL and C1),
 * bidirectional marks, embeddings, overrides and isolates, line and paragraph separators, and interlinear annotations.
 */
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/gu;

/** Text from a server or a file on one line, with every unprintable character escaped as in JSON: `\u001b`, `\n`. */
export function plainText(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    const quoted = JSON.stringify(character).slice(1, -1);
    return quoted === character ? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}` : quoted;
  });
}

/** The same for text whose line feeds are its layout. */
export function plainLines(text: string): string {
  return text.split('\n').map(plainText).join('\n');
}

/** A value as JSON. Parsing the text gives the value exactly. */
export function formatJson(value: unknown): string {
  // Line feeds inside strings are escaped already; the others are the layout.
  return `${plainLines(JSON.stringify(value, null, 2))}\n`;
}

/** A value as YAML. Parsing the text gives the value exactly: texts with unprintable characters stand in double quotes, where escapes count. */
export function formatYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, (_key, node) => {
    if (isScalar(node) && typeof node.value === 'string' && plainLines(node.value) !== node.value) node.type = Scalar.QUOTE_DOUBLE;
  });
  return plainLines(document.toString());
}

/** What spreadsheets take for the start of a formula, the full-width forms included. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/**
 * A value as a cell of CSV (RFC 4180 section 2), in quotes where it needs them. Text that a spreadsheet would run as a formula is
 * preceded by an apostrophe. Line feeds stay, between quotes; other unprintable characters are escaped.
 */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = plainLines(FORMULA.test(value) ? `'${value}` : value);
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
