import { bold, coloured, type TextStyle } from './terminal.ts';

const MIN_COLUMN_WIDTH = 8;
/** An id of this service or of Keystone, which is never wrapped, so that it can be copied. */
const ID = /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{32})$/i;
/** Up to this width, a column of single words, such as ids, is not wrapped if the table fits. */
const MAX_WORD_WIDTH = 36;

type Row = readonly string[];

/**
 * Draws a table with borders. Wraps cells if the table is wider than the terminal. If the
 * wrapped table does not fit, draws a block for each row, with a line for each column.
 */
export function drawTable(header: Row, rows: readonly Row[], textStyle: TextStyle): string {
  const widths = fitWidths(header, rows, textStyle.width);
  if (widths === undefined) return drawBlocks(header, rows, textStyle);
  const rule = ruleOf(widths);
  const head = drawRow(header, widths, true, textStyle);
  const body = rows.map((row) => drawRow(row, widths, false, textStyle)).join('');
  return rule + head + rule + (rows.length > 0 ? body + rule : '');
}

/**
 * Draws each row as a block. A block is wider than the terminal if an id and the names of the
 * columns do not fit.
 */
function drawBlocks(header: Row, rows: readonly Row[], textStyle: TextStyle): string {
  const pairs = rows.map((row) => header.map((name, index): Row => [name, row[index] ?? '']));
  const all = [header.map((name): Row => [name, '']), ...pairs].flat();
  const widths = fitWidths(['', ''], all, textStyle.width) ?? naturalWidths(['', ''], all);
  const rule = ruleOf(widths);
  const blocks = pairs.map((block) =>
    block.map((pair) => drawRow(pair, widths, false, textStyle)).join(''),
  );
  return rule + blocks.map((block) => block + rule).join('');
}

function ruleOf(widths: readonly number[]): string {
  return `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+\n`;
}

/** Draws the cells of one row, wrapped to `widths`. A cell that begins with a mark has its colour. */
function drawRow(
  row: Row,
  widths: readonly number[],
  isBold: boolean,
  textStyle: TextStyle,
): string {
  const cells = row.map((cell, index) => wrap(cell, widths[index] ?? 0));
  const height = Math.max(...cells.map((lines) => lines.length));
  const style = (text: string, cell: string) =>
    isBold ? bold(text, textStyle) : coloured(text, cell, textStyle);
  const line = (number: number) =>
    cells
      .map((lines, index) => {
        const text = pad(lines[number] ?? '', widths[index] ?? 0);
        return ` ${style(text, row[index] ?? '')} `;
      })
      .join('|');
  return Array.from({ length: height }, (_, number) => `|${line(number)}|\n`).join('');
}

function naturalWidths(header: Row, rows: readonly Row[]): number[] {
  return header.map((_, index) =>
    [header, ...rows].reduce((most, row) => Math.max(most, displayWidth(row[index] ?? '')), 0),
  );
}

/**
 * Returns the width of each column: the width of its widest cell, or less if the table does not
 * fit. Returns undefined if no widths fit.
 */
function fitWidths(header: Row, rows: readonly Row[], width: number): number[] | undefined {
  const natural = naturalWidths(header, rows);
  const available = width - 3 * header.length - 1;
  const isRigid = header.map(
    (_, index) =>
      (natural[index] ?? 0) <= MAX_WORD_WIDTH && rows.every((row) => !row[index]?.includes(' ')),
  );
  const hasIds = header.map((_, index) => rows.some((row) => ID.test(row[index] ?? '')));
  return shrink(natural, available, isRigid) ?? shrink(natural, available, hasIds);
}

/**
 * Limits all columns except the rigid columns to one maximum width, so that the table fits. Returns
 * undefined if no maximum width makes the table fit.
 */
function shrink(
  natural: readonly number[],
  available: number,
  isRigid: readonly boolean[],
): number[] | undefined {
  for (let most = Math.max(MIN_COLUMN_WIDTH, ...natural); most >= MIN_COLUMN_WIDTH; most -= 1) {
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

/**
 * Splits `text` into lines of at most `width` columns. Breaks lines at blanks, else after
 * punctuation, else anywhere.
 */
export function wrap(text: string, width: number): string[] {
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

/** Created at first use, because the creation takes milliseconds. */
let segmenter: Intl.Segmenter | undefined;

/** Returns the grapheme clusters of `text`: what a reader sees as single characters. */
function clustersOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/**
 * Returns the number of columns that a terminal uses for `text`. East Asian wide characters and
 * emoji use two columns, and combining marks use none.
 */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return clustersOf(text).reduce((width, cluster) => width + clusterWidth(cluster), 0);
}

/** An emoji of several code points uses two columns. */
function clusterWidth(cluster: string): number {
  if (/\p{Emoji_Presentation}|\ufe0f/u.test(cluster)) return 2;
  return Array.from(cluster)
    .filter((character) => !WITHOUT_WIDTH.test(character))
    .reduce((width, character) => width + (WIDE.test(character) ? 2 : 1), 0);
}

/** Combining marks, format characters, and Hangul medial vowels and final consonants. */
const WITHOUT_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u;

const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
