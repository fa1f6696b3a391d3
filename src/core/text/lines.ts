/** Splits a text into lines at any kind of line ending. Omits a byte order mark at the start. */
export function linesOf(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
}
