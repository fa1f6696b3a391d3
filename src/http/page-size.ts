/**
 * Returns how many items at the start of `texts` fit into a JSON array of `maxBytes`. Returns at
 * least 1 unless `texts` is empty.
 */
export function countFitting(texts: readonly string[], maxBytes: number): number {
  let bytes = '[]'.length;
  for (const [index, text] of texts.entries()) {
    bytes += Buffer.byteLength(text) + (index === 0 ? 0 : ','.length);
    if (bytes > maxBytes) return Math.max(index, 1);
  }
  return texts.length;
}

/**
 * Returns whether a text is longer than `maxBytes` in UTF-8. A UTF-16 code unit has at most three
 * bytes in UTF-8.
 */
export function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}
