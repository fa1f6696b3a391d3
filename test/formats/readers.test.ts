import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exportKey } from '../../src/keys/export/export-formats.ts';
import { canonicalKey } from '../../src/formats/key.ts';
import { KeyFileError, type Entry } from '../../src/formats/reader.ts';
import { detectFormat } from '../../src/formats/detect.ts';
import { IMPORT_FORMATS } from '../../src/formats/readers.ts';
import { ALGORITHMS } from '../../src/dns/algorithms.ts';
import { keysWith } from '../harness/keys.ts';
import { randomCases, sized } from '../harness/sizes.ts';

const K = '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=';
const MD5 = 'MDEyMzQ1Njc4OWFiY2RlZg==';

const NAMED_CONF = `// the main file; key "commented-out" { algorithm hmac-md5; secret "AAAA"; };
/* key "also-out" {
   algorithm hmac-md5; secret "AAAA"; }; */
# key "out-too" { algorithm hmac-md5; secret "AAAA"; };
include "/etc/bind/named.conf.options";
key one.example. { algorithm hmac-sha256; secret ${K}; };
options { version "key \\"not\\" { algorithm"; listen-on port 5300 { any; }; allow-transfer { key "one.example."; }; };
zone "key" in { type primary; file "db.key"; allow-update { key "one.example."; key two; }; };
server 192.0.2.1 { keys { "one.example."; }; };
primaries "p" { 192.0.2.2 key "two"; };
view "inside" {
  key "two" { # the other
    secret "${MD5.slice(0, 6)} ${MD5.slice(6)}"; // base64 may have blanks
    algorithm HMAC-MD5.SIG-ALG.REG.INT;
  };
};
`;

const KNOT_CONF = `# hmac-sha256:commented-out:AAAA
server:
    listen: 127.0.0.1@5300
key:
  - id: one.example.
    algorithm: hmac-sha256
    secret: ${K}   # as keymgr made it

# keys may have any order of their items after the id
  - id: "two"
    secret: '${MD5}'
    algorithm: hmac-md5
acl:
  - id: transfer
    key: [one.example., two]
    action: transfer
zone:
  - domain: key.
    acl: transfer
`;

const NSD_CONF = `# key:
server:
  port: 5300
key:
  name: "one.example."
  algorithm: hmac-sha256
  secret: "${K}" # unchanged
key: name: two secret: '${MD5}' algorithm: md5
pattern:
  name: "out"
  provide-xfr: 0.0.0.0/0 two
zone:
  name: key
  include-pattern: "out"
`;

const PDNSUTIL = `one.example. hmac-sha256. ${K}\ntwo. hmac-md5.sig-alg.reg.int. ${MD5}\n`;
const LINES = `# for kdig\nhmac-sha256:one.example.:${K}\r\n\n  hmac-md5:two:${MD5}\n`;

const DHCPD_CONF = `# key commented-out { algorithm hmac-md5; secret AAAA; }
ddns-update-style standard;
option domain-name "key out { }";
key one.example. {
  algorithm HMAC-SHA256;
  secret ${K};
}
key "two" { secret "${MD5}"; algorithm hmac-md5; };
key omapi { algorithm hmac-md5; secret ${MD5}; } omapi-key omapi;
zone example.org. { primary 127.0.0.1; key one.example.; }
subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.10 192.0.2.20; }
`;

/** For each format, a text with the keys one.example. and two, and the lines of both keys. */
const TEXTS: Readonly<Record<string, readonly [text: string, lines: readonly [number, number]]>> = {
  bind: [NAMED_CONF, [6, 12]],
  knot: [KNOT_CONF, [5, 10]],
  nsd: [NSD_CONF, [4, 8]],
  pdnsutil: [PDNSUTIL, [1, 2]],
  lines: [LINES, [2, 4]],
  dhcpd: [DHCPD_CONF, [4, 8]],
};

const read = (format: string, text: string): Entry[] => IMPORT_FORMATS[format]?.read(text) ?? [];
const problemsOf = (format: string, text: string): string[] =>
  read(format, text).map((entry) =>
    'problem' in entry ? `${entry.line}: ${entry.problem}` : `${entry.line}: fine`,
  );

test('every import format has a sample text in this file', () => {
  expect(Object.keys(TEXTS)).toEqual(Object.keys(IMPORT_FORMATS));
});

describe.each(Object.entries(TEXTS))('%s', (format, [text, [first, second]]) => {
  test('reads the keys and their lines between comments and other statements', () => {
    const [one, two, ...others] = read(format, text);
    expect(one).toEqual({
      line: first,
      key: { name: 'one.example.', algorithm: 'hmac-sha256', secret: K },
    });
    expect(two).toEqual({
      line: second,
      key: {
        name: expect.stringMatching(/^two\.?$/) as string,
        algorithm: 'hmac-md5',
        secret: MD5,
      },
    });
    expect(others.filter((each) => !('leftOut' in each))).toEqual([]);
  });

  test('is detected', () => {
    expect(detectFormat(text)).toBe(format);
    expect(detectFormat(`\uFEFF${text}`)).toBe(format);
  });

  test('reads arbitrary text as keys or problems, or throws KeyFileError without quoting the text', () => {
    const pieces = fc.constantFrom(
      'key',
      'key:',
      '- id:',
      'id:',
      'name:',
      'algorithm',
      'algorithm:',
      'secret:',
      'secret',
      'hmac-sha256',
      K,
      'TOPSECRET',
      ':',
      ' ',
      '\n',
      '\t',
      '"',
      "'",
      '\\',
      '{',
      '}',
      ';',
      '#',
      '//',
      '/*',
      '*/',
      '-',
      '\r\n',
      'zone:',
      '\u0000',
      '\uFEFF',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 40 })
        .map((all) => all.join('')),
    );
    fc.assert(
      fc.property(texts, (arbitrary) => {
        try {
          for (const entry of read(format, arbitrary))
            if ('problem' in entry) expect(entry.problem).not.toMatch(/TOPSECRET|4ycKXMVM/);
        } catch (error) {
          expect(error).toBeInstanceOf(KeyFileError);
          expect((error as Error).message).toMatch(/^line \d+: /);
          expect((error as Error).message).not.toMatch(/TOPSECRET|4ycKXMVM/);
        }
      }),
      { numRuns: randomCases(1000) },
    );
  });

  test('reads or refuses a text of 250 kB or more, for which quadratic work would take minutes', () => {
    for (const piece of [
      '"',
      '\\"',
      'key ',
      'key "a" {',
      '- id: a\n',
      '/',
      '/*',
      ' ',
      '\n',
      'a',
      'a:',
      'key:\n',
      '  key: name: ',
      '#',
    ]) {
      try {
        read(format, piece.repeat(sized(250_000, 500_000) / piece.length));
        detectFormat(piece.repeat(sized(250_000, 500_000) / piece.length));
      } catch (error) {
        expect(error).toBeInstanceOf(KeyFileError);
      }
    }
  });
});

describe('bind: an import leaves out the keys with which rndc or named itself controls the server', () => {
  const key = (name: string) => `key "${name}" { algorithm hmac-sha256; secret "${K}"; };\n`;
  const outcome = (text: string, path?: string) =>
    IMPORT_FORMATS.bind?.read(text, undefined, path).map((entry) => {
      if ('leftOut' in entry) return entry.leftOut;
      return 'key' in entry ? 'key' : 'problem';
    });
  const byControls = ': a `controls` statement lets this key control the server';
  const byRndc = ': rndc controls the server with this key';
  const ofSession = ': named replaces this key at each start, for updates from its own machine';

  test.each([
    [
      `controls { inet 127.0.0.1 port 953 allow { localhost; } keys { "Control."; other; }; };
      ${key('control')}${key('other')}${key('transfer')}`,
      [`control${byControls}`, `other${byControls}`, 'key'],
    ],
    [key('rndc-key') + key('rndc-key-2'), [`rndc-key${byRndc}`, 'key']],
    [
      `options { session-keyname "mine"; };${key('MINE')}${key('local')}`,
      [`MINE${ofSession}`, 'key'],
    ],
    [
      `options { default-server localhost; default-key "one"; }; server ns2 { key two; };${key('one')}${key('two')}`,
      [`one${byRndc}`, `two${byRndc}`],
    ],
    // Words that look like the statements above, at other places.
    [
      `server 192.0.2.1 { keys { transfer; }; }; zone "controls" { allow-transfer { key transfer; }; also-notify { 192.0.2.2 key transfer; }; };
      view controls { server 192.0.2.3 { keys { transfer; }; }; };${key('transfer')}`,
      ['key'],
    ],
    ['controls { inet * keys {', []],
  ])('%j', (text, expected) => {
    expect(outcome(text)).toEqual(expected);
  });

  test('in files of rndc and named', () => {
    expect(outcome(key('a'), '/etc/bind/rndc.key')).toEqual([`a${byRndc}`]);
    expect(outcome(key('a'), 'rndc.conf')).toEqual([`a${byRndc}`]);
    expect(outcome(key('a'), '/run/named/session.key')).toEqual([`a${ofSession}`]);
    expect(outcome(key('a'), '/etc/bind/rndc.key.d/keys.conf')).toEqual(['key']);
    const included = { path: '/etc/bind/rndc.key', text: key('a') };
    const entries = IMPORT_FORMATS.bind?.read(
      `include "/etc/bind/rndc.key";\n${key('b')}`,
      () => [included],
      '/etc/bind/named.conf',
    );
    expect(entries).toMatchObject([
      { file: included, line: 1, leftOut: `a${byRndc}` },
      { line: 2, key: { name: 'b' } },
    ]);
  });
});

test('the import formats read several exported keys from one text in order', () => {
  const forms = { bind: 'bind', knot: 'knot', nsd: 'nsd', knsupdate: 'lines' };
  fc.assert(
    fc.property(
      fc.array(keysWith(Object.keys(ALGORITHMS)), { minLength: 1, maxLength: 5 }),
      (keys) => {
        for (const [written, readAs] of Object.entries(forms)) {
          const text = keys.map((key) => exportKey(written, key).text).join('\n');
          const found = read(readAs, text).map((entry) =>
            'key' in entry ? canonicalKey(entry.key) : entry,
          );
          expect(found).toEqual(keys.map(canonicalKey));
          expect(detectFormat(text)).toBe(readAs);
        }
      },
    ),
  );
});

test.each([
  ['bind', 'key a { algorithm hmac-sha256; };', ['1: a: the key has no secret']],
  [
    'bind',
    '\nkey "a b" { algorithm hmac-sha512-256; secret "="; };',
    ['2: a b: the name must be a domain name'],
  ],
  [
    'knot',
    'key:\n  - id: a\n  - id: b\n    secret: AA==\n',
    ['2: a: the key has no algorithm and no secret', '3: b: the key has no algorithm'],
  ],
  ['nsd', 'key:\n name: "a" algorithm: hmac-sha256 secret: ""', ['1: a: the secret is empty']],
  ['nsd', 'key:\n name: "a"', ['1: a: the key has no secret']],
  [
    'bind',
    `key a { algorithm hmac-sha384-192; secret "${K}"; };`,
    [
      "1: a: the algorithm must be one of hmac-md5, hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512, not 'hmac-sha384-192'",
    ],
  ],
  [
    'bind',
    `key a { algorithm ${K.slice(0, -1)}; secret "AA=="; };`,
    ['1: a: the algorithm must be one of'],
  ],
  [
    'bind',
    'key a { algorithm hmac-sha256; secret "????????"; };',
    ['1: a: the secret is hidden, so the text does not contain it'],
  ],
  [
    'knot',
    'key:\n  - id: a\n    algorithm: hmac-sha256\n    secret: "***"\n',
    ['2: a: the secret is hidden'],
  ],
  [
    'dhcpd',
    'default-lease-time 5;\nkey a { algorithm hmac-sha256; }',
    ['2: a: the key has no secret'],
  ],
  [
    'pdnsutil',
    'a hmac-sha256 AA== more\n\na hmac-sha256 AA=',
    ['1: the line must have', '3: the secret must be base64'],
  ],
  [
    'lines',
    `a:${K}\nhmac-sha9:a:AA==`,
    ['1: the line must be `algorithm:name:secret`', '2: the algorithm must be one of hmac-md5'],
  ],
])('%s reports each problem of a key with its line number: %j', (format, text, expected) => {
  const problems = problemsOf(format, text);
  expect(problems).toHaveLength(expected.length);
  for (const [index, problem] of expected.entries()) expect(problems[index]).toContain(problem);
});

// The service has no key with such a name, and another name would be another key.
test.each([
  ['bind', `key "a\\.b.example" { algorithm hmac-sha256; secret "${K}"; };`],
  ['bind', `key a\\.b.example { algorithm hmac-sha256; secret "${K}"; };`],
  ['knot', `key:\n  - id: "a\\.b.example"\n    algorithm: hmac-sha256\n    secret: ${K}\n`],
  ['nsd', `key:\n name: "a\\.b.example"\n secret: ${K}\n`],
])('%s keeps the backslash in a name, which is refused: %j', (format, text) => {
  expect(problemsOf(format, text)).toEqual([
    expect.stringContaining(': a\\.b.example: the name must be a domain name'),
  ]);
});

test('no problem quotes what may be a secret', () => {
  for (const [format, text] of [
    ['lines', `${K}:a:hmac-sha256`],
    ['lines', `hmac-sha256:${K}:not a secret`],
    ['pdnsutil', `a hmac-${K} AA==`],
    ['bind', `key a { algorithm "${K}"; secret hmac-sha256; };`],
  ] as const)
    expect(problemsOf(format, text).join()).not.toContain(K.slice(0, -1));
});

test('a key of NSD without an algorithm has its default, wherever the secret stands', () => {
  for (const text of [
    `key:\n name: a\n secret: "${K}"\n`,
    `key:\n secret: "${K}"\n name: a\nkey:\n name: b\n algorithm: sha512\n secret: ${K}\n`,
  ])
    expect(read('nsd', text)[0]).toEqual({
      line: 1,
      key: { name: 'a', algorithm: 'hmac-sha256', secret: K },
    });
});

test.each([
  ['bind', 'a;\nkey a { algorithm hmac-sha256', 'line 2: '],
  ['bind', 'key a {\n  algorithm;\n};', 'line 2: '],
  ['bind', 'key a {\n\n  colour red;\n};', 'line 3: '],
  ['bind', '\n/* no end', 'line 2: the comment'],
  ['bind', '\n\n"no end', 'line 3: the quotation mark'],
  ['knot', 'key:\n  - id: "a\n', 'line 2: the quotation mark'],
  ['knot', 'key:\n  - id: a\n    what is this\n', 'line 3: '],
  ['knot', 'key:\n    algorithm: hmac-sha256\n', 'line 2: the first line of a key'],
  ['nsd', 'key:\n  name: "a\n', 'line 2: the quotation mark'],
  ['nsd', 'key:\n  name: a\n  colour: red', 'line 3: '],
])('%s refuses invalid syntax and states the line: %j', (format, text, message) => {
  expect(() => read(format, text)).toThrow(KeyFileError);
  expect(() => read(format, text)).toThrow(message);
});
