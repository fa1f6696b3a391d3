import * as net from 'node:net';
import { describe, expect, test } from 'vitest';
import { readConfiguration, type ChosenFile } from '../../src/console/keys/configuration.ts';
import * as shim from '../../src/console/node-net.ts';
import { fileMatcher } from '../../src/domain/text/name-patterns.ts';

const KEY = 'key "k" { algorithm hmac-sha256; secret "a2tra2tra2tra2tra2tra2tra2s="; };';
const opening = (zone: string) =>
  `zone "${zone}" { type primary; file "z"; allow-transfer { key k; }; };`;

function filesFrom(texts: Readonly<Record<string, string | undefined>>): ChosenFile[] {
  return Object.entries(texts).map(([path, text]) => ({ path, text }));
}

/** Returns the zones in which the key gets a right, and the number of uncertain statements. */
async function rightsOf(texts: Readonly<Record<string, string | undefined>>) {
  const [main, ...others] = filesFrom(texts);
  if (main === undefined) throw new Error('no file');
  const read = await readConfiguration(main, [main, ...others]);
  const zones = read.matrix?.rows.flatMap((row) => row.zones).sort() ?? [];
  return [zones, read.missing.length];
}

describe('a configuration in the browser', () => {
  test.each<[string, Readonly<Record<string, string | undefined>>, string[], number]>([
    [
      'a relative path is that in the folder',
      {
        'bind/named.conf': `${KEY} include "zones/*.conf";`,
        'bind/zones/a.conf': opening('in.test'),
        'bind/old/zones/b.conf': opening('old.test'),
      },
      ['in.test'],
      0,
    ],
    [
      'a file of another folder is not the missing one',
      { 'bind/named.conf': `${KEY} include "x.conf";`, 'bind/old/x.conf': opening('old.test') },
      [],
      1,
    ],
    [
      'an absolute path begins with the folder',
      {
        'bind/named.conf': `${KEY} include "/etc/bind/x.conf"; include "/etc/bind/z/../y.conf";`,
        'bind/x.conf': opening('x.test'),
        'bind/y.conf': opening('y.test'),
        'bind/backup/etc/bind/x.conf': opening('old.test'),
      },
      ['x.test', 'y.test'],
      0,
    ],
    [
      'a copy of the whole server has no second one below it',
      {
        'copy/etc/bind/named.conf': `${KEY} include "/etc/bind/z/*";`,
        'copy/etc/bind/z/a': opening('a.test'),
        'copy/backup/etc/bind/z/b': opening('old.test'),
      },
      ['a.test'],
      0,
    ],
    [
      'a folder with another name has no absolute path',
      {
        'mine/named.conf': `${KEY} include "/etc/bind/x.conf";`,
        'mine/x.conf': opening('x.test'),
      },
      [],
      1,
    ],
    [
      'one folder is in one place',
      {
        'bind/named.conf': `${KEY} include "/etc/bind/a.conf"; include "/var/lib/bind/z/*";`,
        'bind/a.conf': opening('a.test'),
        'bind/z/old': opening('old.test'),
      },
      [],
      1,
    ],
    [
      'the option directory moves relative paths',
      {
        'bind/named.conf': `${KEY} options { directory "/var/cache/named"; }; include "z/*";`,
        'bind/z/a': opening('old.test'),
      },
      [],
      1,
    ],
    [
      'a star matches no hidden file',
      {
        'bind/named.conf': `${KEY} include "/etc/bind/z/*";`,
        'bind/z/a': opening('a.test'),
        'bind/z/.b': opening('old.test'),
      },
      ['a.test'],
      0,
    ],
    [
      'a set may be negated',
      {
        'bind/named.conf': `${KEY} include "/etc/bind/[!o]*.conf";`,
        'bind/a.conf': opening('a.test'),
        'bind/old.conf': opening('old.test'),
      },
      [],
      1, // named.conf would include itself
    ],
    [
      'a negated set in a folder',
      {
        'bind/named.conf': `${KEY} include "/etc/bind/z/[!o]*.conf";`,
        'bind/z/a.conf': opening('a.test'),
        'bind/z/old.conf': opening('old.test'),
        'bind/z/!.conf': opening('other.test'),
      },
      ['a.test', 'other.test'],
      0,
    ],
    [
      'a pattern of folders may match folders that nobody chose',
      {
        'bind/named.conf': `${KEY} include "/etc/bind*/a.conf";`,
        'bind/a.conf': opening('a.test'),
      },
      [],
      1,
    ],
    [
      'a file that could not be read may refuse the key',
      {
        'bind/named.conf': `${KEY} include "/etc/bind/z/*";`,
        'bind/z/a': opening('a.test'),
        'bind/z/b': undefined,
      },
      [],
      1,
    ],
    [
      'a file without a folder is the file of one path',
      {
        'named.conf': `${KEY} include "/a/x.conf"; include "x.conf";`,
        'x.conf': opening('x.test'),
      },
      [],
      1,
    ],
  ])('%s', async (_, files, zones, missing) => {
    expect(await rightsOf(files)).toEqual([zones, missing]);
  });

  test('relative paths of Knot DNS begin at the file with the statement', async () => {
    const acl = (zone: string) => `zone:\n  - domain: ${zone}\n    acl: t\n`;
    const main = `include: a/main.conf\ninclude: b/main.conf\nkey:\n  - id: k\n    algorithm: hmac-sha256\n    secret: a2tra2tra2tra2tra2tra2tra2s=\nacl:\n  - id: t\n    key: k\n    action: transfer\n`;
    const part = 'include: zones.conf\n';
    const folder = {
      'knot/knot.conf': main,
      'knot/a/main.conf': part,
      'knot/a/zones.conf': acl('a.test'),
      'knot/b/main.conf': part,
      'knot/b/zones.conf': acl('b.test'),
      'knot/zones.conf': acl('old.test'),
    };
    expect(await rightsOf(folder)).toEqual([['a.test', 'b.test'], 0]);
    const loose = {
      'knot.conf': main.replace('b/main', 'b/other'),
      'main.conf': part,
      'other.conf': part,
      'zones.conf': acl('a.test'),
    };
    expect((await rightsOf(loose))[0]).toEqual([]);
  });

  test('many statements, files and stars end, although quadratic work would take minutes', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`bind/${'a'.repeat(200)}${index}`, '']),
    );
    const stars = `include "/etc/bind/${'*a'.repeat(100)}b";\n`;
    const main = KEY + stars.repeat(20) + 'include "/etc/bind/none";\n'.repeat(20_000);
    const [zones, missing] = await rightsOf({ 'bind/named.conf': main + opening('z'), ...files });
    expect([zones, missing]).toEqual([[], 20_020]);
  });

  test('names such as __proto__ are names', async () => {
    const text = `key "__proto__" { algorithm hmac-sha256; secret "a2tra2tra2tra2tra2tra2tra2s="; };
      acl "constructor" { key __proto__; };
      zone "__proto__" { type primary; file "z"; allow-transfer { constructor; }; };`;
    expect(await rightsOf({ 'bind/constructor': text })).toEqual([['__proto__'], 0]);
  });
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
