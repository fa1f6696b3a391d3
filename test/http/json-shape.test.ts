import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkShape, LONG_BODY, ORDINARY_BODY } from '../../src/http/request/json-shape.ts';

const check = (text: string) => [...checkShape(Buffer.from(text), LONG_BODY)].length;
const members = (count: number) =>
  `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(',')}}`;

test('refuses more than 50,000 arrays and objects, at any depth', () => {
  const least = '[],'.repeat(49_998);
  check(`[${least}{}]`);
  for (const text of [`[${least}{},[]]`, '['.repeat(50_001), '{"a":'.repeat(50_001)]) {
    expect(() => check(text)).toThrow('The request body has more than 50000 arrays and objects');
  }
});

test('refuses an object with more than 10,000 members, counted for each object separately', () => {
  check(`[${members(10_000)},${members(10_000)}]`);
  check(`{"a":${members(10_000)},"b":${members(10_000)}}`);
  for (const text of [
    members(10_001),
    `[{},${members(10_001)}]`,
    `{"a":[{}],${members(10_000).slice(1)}`,
  ]) {
    expect(() => check(text)).toThrow(
      'The request body has an object with more than 10000 members',
    );
  }
});

test('refuses more than 50,000 members in total, and more than 100,000 items', () => {
  check(
    `[${members(10_000)},${members(10_000)},${members(10_000)},${members(10_000)},${members(10_000)}]`,
  );
  const objects = Array.from({ length: 1000 }, () => members(51)).join(',');
  expect(() => check(`[${objects}]`)).toThrow('The request body has more than 50000 members');
  check(`[0${',0'.repeat(100_000)}]`);
  expect(() => check(`[0${',0'.repeat(100_001)}]`)).toThrow(
    'The request body has more than 100000 items and members',
  );
});

test('accepts a list with the maximum number of entries', () => {
  const entries = Array.from({ length: 20_000 }, (_, index) => ({
    name: `n${index}`,
    description: null,
  }));
  check(JSON.stringify({ tlds: entries, mode: 'partial', replace: false, dry_run: true }));
});

test('refuses an object with more than 1,000 members in the body of one resource', () => {
  expect(() => [...checkShape(Buffer.from(members(1001)), ORDINARY_BODY)]).toThrow(
    'an object with more than 1000 members',
  );
});

test('ignores the content of strings', () => {
  const text = '[{:'.repeat(60_000);
  check(JSON.stringify({ tlds: [{ name: `"${text}\\` }, { [`\\"${text}`]: text }] }));
});

test('accepts ordinary lists and text that is not JSON', () => {
  fc.assert(fc.property(fc.json(), (text) => void check(text)));
  fc.assert(fc.property(fc.string(), (text) => void check(text)));
  check(']]]}}}"');
});
