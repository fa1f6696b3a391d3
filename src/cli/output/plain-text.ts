/**
 * Characters that a terminal may interpret, or that change the reading order of a line. The
 * characters are controls (C0, DEL and C1), line and paragraph separators, interlinear annotations,
 * bidirectional marks, embeddings, overrides and isolates, and halves of surrogate pairs, which
 * UTF-8 cannot encode.
 */
const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/gu;

/**
 * Returns text from a server or a file on one line. Escapes unprintable characters as in JSON:
 * `\u001b`, `\n`.
 */
export function plainText(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    const quoted = JSON.stringify(character).slice(1, -1);
    return quoted === character
      ? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
      : quoted;
  });
}

/** Escapes unprintable characters, except line feeds. */
export function plainLines(text: string): string {
  return text.split('\n').map(plainText).join('\n');
}

/** Formats a value as JSON. Parsing the text returns an equal value. */
export function formatJson(value: unknown): string {
  // JSON.stringify escapes line feeds inside strings. The remaining line feeds separate lines.
  return `${plainLines(JSON.stringify(value, null, 2))}\n`;
}

/** The characters with which a formula begins in spreadsheets, including the full-width forms. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/**
 * Formats a text as a CSV cell (RFC 4180 section 2), in quotes if necessary. An apostrophe precedes
 * text that a spreadsheet would run as a formula. Does not escape line feeds, which are valid inside
 * quotes.
 */
export function csvText(value: string): string {
  const safe = plainLines(FORMULA.test(value) ? `'${value}` : value);
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
