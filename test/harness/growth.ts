/**
 * Passes a large input to `work`, which may throw. Quadratic work on an input that is large enough
 * takes longer than a test may take; linear work takes milliseconds.
 */
export async function runOnLarge<T>(input: T, work: (input: T) => unknown): Promise<void> {
  try {
    await work(input);
  } catch {
    // A refused input has ended too.
  }
}

/** Returns text of `size` characters outside ASCII, with at most 20,000 different characters. */
function differentCharacters(size: number): string {
  return Array.from({ length: size }, (_, index) =>
    String.fromCharCode(
      index % 20_000 < 10_000 ? 0x4e00 + (index % 10_000) : 0xac00 + (index % 10_000),
    ),
  ).join('');
}

/** Returns `make` with a cache, so that `make` runs once for each size. */
function once<T>(make: (size: number) => T): (size: number) => T {
  const made = new Map<number, T>();
  return (size) => {
    const value = made.get(size) ?? make(size);
    made.set(size, value);
    return value;
  };
}

/**
 * Functions that return text of a given length. The text may be slow to match, convert or compare.
 */
export const HARD_TEXTS: Readonly<Record<string, (size: number) => string>> = Object.fromEntries(
  Object.entries(hardTexts()).map(([kind, make]) => [kind, once(make)]),
);

function hardTexts(): Record<string, (size: number) => string> {
  return {
    ...Object.fromEntries(
      [
        'a',
        'A',
        '0',
        '.',
        '-',
        ' ',
        ':',
        '@',
        '"',
        '\\',
        '[',
        ']',
        '%',
        '#',
        '/',
        '?',
        '*',
        '\n',
        '\0',
        'é',
        '\u0301',
        '\ud800',
        '\u00ad',
        '😀',
      ].map((character) => [
        JSON.stringify(character),
        (size: number) => character.repeat(size / character.length),
      ]),
    ),
    ...Object.fromEntries(
      [
        'a.',
        'a-',
        '-a',
        'é.',
        '1.',
        '::',
        'a:',
        'a@',
        '\u0301\u0316',
        'xn--',
        '%41',
        '\\"',
        '/*',
        'key "',
        ' #',
        '\r\n',
      ].map((pair) => [JSON.stringify(pair), (size: number) => pair.repeat(size / pair.length)]),
    ),
    'different characters': differentCharacters,
    'a label of different characters behind a good one': (size) =>
      `www.${differentCharacters(size)}`,
    'labels of different characters': (size) =>
      (differentCharacters(size).match(/.{1,60}/gu) ?? []).join('.'),
    'blanks around a letter': (size) => `${' '.repeat(size / 2)}a${' '.repeat(size / 2)}`,
    'a bearer of blanks': (size) => `bearer ${' '.repeat(size)}`,
    'slashes before a letter': (size) => `${'/'.repeat(size)}a`,
    'an address without an end': (size) => `[${'0:'.repeat(size / 2)}`,
    'different words': (size) =>
      Array.from({ length: size / 8 }, (_, index) => `word${index}`).join(' '),
  };
}

/**
 * Functions that return an array or an object of a given size. The value may be slow to parse.
 */
export const HARD_VALUES: Readonly<Record<string, (size: number) => unknown>> = Object.fromEntries(
  Object.entries(hardValues()).map(([kind, make]) => [kind, once(make)]),
);

function hardValues(): Record<string, (size: number) => unknown> {
  return {
    'different numbers': (size) => Array.from({ length: size / 6 }, (_, index) => index),
    'different texts': (size) => Array.from({ length: size / 8 }, (_, index) => `t-${index}`),
    'equal texts': (size) => Array.from({ length: size / 8 }, () => 'ns1.example.'),
    'different objects': (size) =>
      Array.from({ length: size / 40 }, (_, index) => ({
        priority: 1,
        hostname: `ns${index}.example.`,
      })),
    'different members': (size) =>
      Object.fromEntries(
        Array.from({ length: size / 12 }, (_, index) => [`member-${index}`, 'value']),
      ),
  };
}
