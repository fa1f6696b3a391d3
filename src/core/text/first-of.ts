/** The first texts, and how many more there are: `a`, `b`, `and 3 more lines`. */
export function firstOf<T>(
  items: readonly T[],
  most: number,
  textOf: (item: T) => string,
  noun = '',
): string[] {
  const texts = items.slice(0, most).map(textOf);
  const more = items.length - texts.length;
  return more > 0 ? [...texts, `and ${more} more${noun && ` ${noun}`}`] : texts;
}
