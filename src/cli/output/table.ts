import { bold, type TextStyle } from './terminal.ts';

/** The minimum width of a column. A table that still does not fit is wider than the terminal. */
const MIN_COLUMN_WIDTH = 8;
/** Columns of single words, such as ids, are not wrapped up to this width if the table fits. */
const MAX_WORD_WIDTH = 36;

/** Draws a table with rules around it. Wraps cells if the table is wider than the terminal. */
export function drawTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  textStyle: TextStyle,
): string {
  const widths = fitWidths(header, rows, textStyle.width);
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+\n`;
  const draw = (row: readonly string[], style: (text: string) => string) => {
    const cells = row.map((cell, index) => wrap(cell, widths[index] ?? 0));
    const height = Math.max(...cells.map((lines) => lines.length));
    const line = (number: number) =>
      cells
        .map((lines, index) => ` ${style(pad(lines[number] ?? '', widths[index] ?? 0))} `)
        .join('|');
    return Array.from({ length: height }, (_, number) => `|${line(number)}|\n`).join('');
  };
  const head = draw(header, (text) => bold(text, textStyle));
  const body = rows.map((row) => draw(row, (text) => text)).join('');
  return rule + head + rule + (rows.length > 0 ? body + rule : '');
}

/** Returns the width of each column: that of its widest cell, or less if the table does not fit. */
function fitWidths(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const natural = header.map((name, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, displayWidth(row[index] ?? '')),
      displayWidth(name),
    ),
  );
  const available = width - 3 * header.length - 1;
  const isRigid = header.map(
    (_, index) =>
      (natural[index] ?? 0) <= MAX_WORD_WIDTH && rows.every((row) => !row[index]?.includes(' ')),
  );
  return shrink(natural, available, isRigid) ?? shrink(natural, available, []) ?? natural;
}

/** Limits all columns except the rigid ones to one maximum width, so that the table fits. Returns undefined if no width does. */
function shrink(
  natural: readonly number[],
  available: number,
  isRigid: readonly boolean[],
): number[] | undefined {
  for (let most = Math.max(...natural); most >= MIN_COLUMN_WIDTH; most -= 1) {
    const widths = natural.map((width, index) =>
      isRigid[index] === true ? width : Math.min(width, most),
    );
    let spare = available - widths.reduce((sum, each) => sum + each, 0);
    if (spare < 0) continue;
    return widths.map((width, index) => {
      const more = Math.min(spare, (natural[index] ?? 0) - width);
      spare -= more;
      return width + more;
    });
  }
  return undefined;
}

/** Splits `text` into lines of at most `width` columns. It breaks lines at blanks, then after punctuation, then anywhere. */
function wrap(text: string, width: number): string[] {
  if (displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const piece of text.split(/(?<= )/).flatMap((word) => breakWord(word, width))) {
    if (line !== '' && displayWidth((line + piece).trimEnd()) > width) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += piece;
  }
  return [...lines, line.trimEnd()];
}

function breakWord(word: string, width: number): string[] {
  if (displayWidth(word.trimEnd()) <= width) return [word];
  return word
    .split(/(?<=[-.,:/_])/)
    .flatMap((part) => (displayWidth(part.trimEnd()) <= width ? [part] : clustersOf(part)));
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

const SEGMENTER = new Intl.Segmenter();

/** Returns the grapheme clusters of `text`: what a reader sees as single characters. */
function clustersOf(text: string): string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
}

/** Returns the number of columns that a terminal uses for `text`: two for East Asian wide characters and emoji, none for combining marks. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return clustersOf(text).reduce((width, cluster) => width + clusterWidth(cluster), 0);
}

/** Returns the columns of one cluster. An emoji of several code points is one picture; other clusters add up their characters. */
function clusterWidth(cluster: string): number {
  if (/\p{Emoji_Presentation}|\ufe0f/u.test(cluster)) return 2;
  return Array.from(cluster).reduce(
    (width, character) =>
      width + (WITHOUT_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1),
    0,
  );
}

/** Combining marks, format characters, and Hangul medial vowels and final consonants. */
const WITHOUT_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u;

const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
