import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCache } from '../../src/tokens/cache.ts';

const KEYS = ['a', 'b', 'c', 'd'];

describe('a cache', () => {
  test('returns a value until it expires', () => {
    let now = 0;
    const cache = createCache<object>(10, () => now);
    const value = {};
    cache.set('a', value, 5);
    now = 4.9;
    expect(cache.get('a')).toBe(value);
    now = 5;
    expect(cache.get('a')).toBeUndefined();
  });

  test('retains the most recently used entries, and returns the last value set', () => {
    const step = fc.record({ key: fc.constantFrom(...KEYS), set: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        (steps, entries) => {
          const cache = createCache<{ index: number }>(entries, () => 0);
          // the expected content: the most recently used first, at most `entries`
          let used: { key: string; index: number }[] = [];
          for (const [index, { key, set }] of steps.entries()) {
            const known = used.find((entry) => entry.key === key);
            if (!set) expect(cache.get(key)?.index).toBe(known?.index);
            else cache.set(key, { index }, 1);
            const current = set ? { key, index } : known;
            if (current !== undefined)
              used = [current, ...used.filter((entry) => entry.key !== key)].slice(0, entries);
          }
        },
      ),
    );
  });
});
