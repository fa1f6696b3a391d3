import { bold, type Look } from './terminal.ts';

/** How narrow a column may become before the table is left wider than the terminal. */
const NARROWEST = 8;
/** Columns of single words, such as ids, stay whole up to this width while there is room. */
const WHOLE_WORD = 36;

/** A table with rules around it. Cells are wrapped where it would else be wider than the terminal. */
export function drawTable(header: readonly string[], rows: readonly (readonly string[])[], look: Look): string {
  const widths = fitWidths(header, rows, look.width);
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+\n`;
  const draw = (row: readonly string[], style: (text: string) => string) => {
    const cells = row.map((cell, index) => wrap(cell, widths[index] ?? 0));
    const height = Math.max(...cells.map((lines) => lines.length));
    const line = (number: number) => cells.map((lines, index) => ` ${style(pad(lines[number] ?? '', widths[index] ?? 0))} `).join('|');
    return Array.from({ length: height }, (_, number) => `|${line(number)}|\n`).join('');
  };
  const head = draw(header, (text) => bold(text, look));
  const body = rows.map((row) => draw(row, (text) => text)).join('');
  return rule + head + rule + (rows.length > 0 ? body + rule : '');
}

/** How wide each column is drawn: as wide as its widest cell, unless the whole would not fit. */
function fitWidths(header: readonly string[], rows: readonly (readonly string[])[], width: number): number[] {
  const natural = header.map((name, index) => rows.reduce((widest, row) => Math.max(widest, displayWidth(row[index] ?? '')), displayWidth(name)));
  const available = width - 3 * header.length - 1;
  const isRigid = header.map((_, index) => (natural[index] ?? 0) <= WHOLE_WORD && rows.every((row) => !row[index]?.includes(' ')));
  return shrink(natural, available, isRigid) ?? shrink(natural, available, []) ?? natural;
}

/** The widths with all but the rigid columns cut to one greatest width such that the sum fits; undefined where none does. */
function shrink(natural: readonly number[], available: number, isRigid: readonly boolean[]): number[] | undefined {
  for (let most = Math.max(...natural); most >= NARROWEST; most -= 1) {
    const widths = natural.map((width, index) => (isRigid[index] === true ? width : Math.min(width, most)));
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

/** `text` in lines of at most `width` columns, broken at blanks, else after punctuation, else anywhere. */
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
  return word.split(/(?<=[-.,:/_])/).flatMap((part) => (displayWidth(part.trimEnd()) <= width ? [part] : clustersOf(part)));
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

const SEGMENTER = new Intl.Segmenter();

/** What a reader takes for single characters. */
function clustersOf(text: string): string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
}

/** Columns that a terminal uses for `text`: two for East Asian wide characters and emoji, none for marks that take no place of their own. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return clustersOf(text).reduce((width, cluster) => width + clusterWidth(cluster), 0);
}

/** An emoji is one picture, however many characters make it; of other characters each takes its place. */
function clusterWidth(cluster: string): number {
  if (/\p{Emoji_Presentation}|\ufe0f/u.test(cluster)) return 2;
  return Array.from(cluster).reduce((width, character) => width + (WITHOUT_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1), 0);
}

/** Marks above and below, format characters, and the vowels and finals of Hangul that are written into the syllable. */
const WITHOUT_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u;

const WIDE = /^[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
