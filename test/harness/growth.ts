import { expect } from 'vitest';

/** The maximum number of measurements. The fastest measurement counts. */
const TRIES = 6;

/** The CPU time in milliseconds below which a large input passes without a comparison. */
const HARMLESS_MS = 40;

/** The CPU time in milliseconds above which measurements are not repeated. */
const HOPELESS_MS = 2000;

/**
 * The limit for the ratio of CPU times when the input is four times as large. The ratio is 4 for
 * linear growth and 16 for quadratic growth.
 */
const MAX_RATIO = 10;

/**
 * Expects the CPU time of `work` to grow about linearly with the input that `make` creates. `work`
 * may throw.
 */
export async function expectLinear<T>(
  label: string,
  make: (size: number) => T,
  size: number,
  work: (input: T) => unknown,
): Promise<void> {
  const large = make(size);
  const first = await milliseconds(work, large);
  if (first < HARMLESS_MS) return;
  const small = make(Math.floor(size / 4));
  let [smallMs, largeMs] = [await milliseconds(work, small), first];
  for (
    let tries = 1;
    tries < TRIES && largeMs / smallMs >= MAX_RATIO && first < HOPELESS_MS;
    tries += 1
  ) {
    smallMs = Math.min(smallMs, await milliseconds(work, small));
    largeMs = Math.min(largeMs, await milliseconds(work, large));
    if (largeMs < HARMLESS_MS) return;
  }
  expect(
    largeMs / smallMs,
    `${label}: ${smallMs.toFixed(1)} ms, and ${largeMs.toFixed(1)} ms for four times as much`,
  ).toBeLessThan(MAX_RATIO);
}

/** Returns the CPU time of `work` in milliseconds. Other programs hardly affect CPU time. */
async function milliseconds<T>(work: (input: T) => unknown, input: T): Promise<number> {
  const began = process.cpuUsage();
  try {
    await work(input);
  } catch {
    // The CPU time counts even if `work` throws.
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
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
    'arrays in arrays': (size) => nested(size, (inner) => [inner]),
    'objects in objects': (size) => nested(size / 5, (inner) => ({ a: inner })),
  };
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level += 1) value = wrap(value);
  return value;
}
