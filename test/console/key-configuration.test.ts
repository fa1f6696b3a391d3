import * as net from 'node:net';
import { expect, test } from 'vitest';
import { readConfiguration } from '../../src/console/keys/configuration.ts';
import * as shim from '../../src/console/node-net.ts';
import { fileMatcher } from '../../src/core/text/name-patterns.ts';

const KEY = 'key "k" { algorithm hmac-sha256; secret "a2tra2tra2tra2tra2tra2tra2s="; };';
const ZONE = 'zone "z.test" { type primary; file "z"; allow-transfer { key k; }; };';

test('a pasted text says what its keys open, and a file that it includes stops it', async () => {
  const read = await readConfiguration(`${KEY}\n${ZONE}`);
  expect(read.matrix?.rows).toMatchObject([{ key: 'k', right: 'transfer', zones: ['z.test'] }]);
  expect(read.missing).toEqual([]);
  const parts = `${KEY}\ninclude "/etc/bind/a.conf";\n${ZONE} include "b/*";`;
  expect(await readConfiguration(parts)).toMatchObject({
    keys: [{ name: 'k' }],
    missing: ['/etc/bind/a.conf (line 2)', 'b/* (line 3)'],
  });
  expect((await readConfiguration(parts)).matrix).toBeUndefined();
});

test('names such as __proto__ are names', async () => {
  const text = `key "__proto__" { algorithm hmac-sha256; secret "a2tra2tra2tra2tra2tra2tra2s="; };
    acl "constructor" { key __proto__; };
    zone "__proto__" { type primary; file "z"; allow-transfer { constructor; }; };`;
  expect((await readConfiguration(text)).matrix?.rows).toMatchObject([{ zones: ['__proto__'] }]);
});

test.each([
  ['a*b*c', 'aXbXc', true],
  ['a*b*c', 'acb', false],
  ['*ab', 'aab', true],
  ['*a*a', 'a', false],
  ['a*a', 'a', false],
  ['**', 'x', true],
  ['*', '.x', false],
  ['.*', '.x', true],
  ['?.[a-c]', '1.b', true],
  ['[^a]', 'b', true],
  ['[]a]', ']', true],
  ['[', '[', true],
  ['[z-a]', 'b', false],
  [String.raw`\*`, '*', true],
  [String.raw`\*`, 'x', false],
])('the pattern %s and the name %s: %s', (pattern, name, matches) => {
  expect(fileMatcher(pattern)(name)).toBe(matches);
});

test('browsers recognise the same addresses as Node.js', () => {
  const parts = ['', '0', '1', 'ffff', '00001', '01', '255', '256', '1.2.3.4', 'g', ' ', '%1'];
  const joined = parts.flatMap((one) =>
    parts.flatMap((two) =>
      ['.', ':', '::'].flatMap((sign) => [
        [one, two].join(sign),
        [one, two, '1', '1'].join(sign),
        ['::', one, sign, two].join(''),
        ['1:2:3:4:5:6:', one, sign, two].join(''),
      ]),
    ),
  );
  const differing = joined.filter(
    (text) => !text.includes('%') && net.isIP(text) !== shim.isIP(text),
  );
  expect(differing).toEqual([]);
});
