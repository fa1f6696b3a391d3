/** How many of `items`, from the first on, fit into `maxBytes` as a JSON array. At least one, if there is one. */
export function countFitting(items: readonly unknown[], maxBytes: number): number {
  let bytes = '[]'.length;
  for (const [index, item] of items.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + (index === 0 ? 0 : ','.length);
    if (bytes > maxBytes) return Math.max(index, 1);
  }
  return items.length;
}

/** Tells whether a text is longer than `maxBytes` in UTF-8, in which a UTF-16 unit takes three bytes at most. */
export function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}
