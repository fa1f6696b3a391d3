import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matrixOf, saysUses } from '../../../src/access/access.ts';
import { readBindAccess } from '../../../src/brands/bind/access.ts';
import { KeyFileError } from '../../../src/formats/reader.ts';
import { randomCases } from '../../harness/sizes.ts';

const K = '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=';
const OTHER = 'bm90IHRoZSBzYW1lIGtleSBhcyBiZWZvcmUgYXQgYWxs';
const keys = ['k', 'l']
  .map((name) => `key ${name} { algorithm hmac-sha256; secret "${K}"; };\n`)
  .join('');
const zone = (statements: string, name = 'z') =>
  `zone "${name}" { type primary; file "x"; ${statements} };\n`;
const view = (name: string, statements: string) => `view ${name} { ${statements} };\n`;
const closed = 'options { allow-transfer { none; }; };\n';

/** Returns the rows, kept rows and open rows as lines of text. */
function linesOf(text: string): string[] {
  const { rows, kept, open } = matrixOf(readBindAccess(text));
  return [
    ...rows.map((row) => `${row.key} ${row.right} ${row.zones.join()}`),
    ...kept.map((row) => `${row.key} ${row.right} ${row.zones.join()}: ${row.reason}`),
    ...open.map(
      (row) => `open ${row.right} ${row.zones.join()} to ${[row.addresses].flat().join()}`,
    ),
  ];
}

const ADDRESS = 'the list permits this key only from certain addresses';
const VIEWS = 'the zone is in several views, which do not agree on this key';
const LIMITED = '`update-policy` limits this key to certain names or types';
const EVERY = '`update-policy` grants this to every key with a matching name';

test.each([
  ['a key', zone('allow-transfer { key K.; };'), ['k transfer z']],
  ['nothing', zone(''), ['open transfer z to everyone']],
  ['none', zone('allow-transfer { none; };'), []],
  [
    'a key, and an address',
    zone('allow-transfer { 192.0.2.1; key k; };'),
    ['k transfer z', 'open transfer z to 192.0.2.1'],
  ],
  [
    'networks, some without their last zeros',
    zone('allow-transfer { 10/8; 172.16/12; 2001:db8::/32; key k; };'),
    ['k transfer z', 'open transfer z to 10.0.0.0/8,172.16.0.0/12,2001:db8::/32'],
  ],
  [
    'an address and a key, by negation',
    zone('allow-transfer { !{ !192.0.2.1; any; }; key k; };'),
    [`k transfer z: ${ADDRESS}`],
  ],
  [
    'a key, after a refused address',
    zone('allow-transfer { !192.0.2.1; key k; };'),
    [`k transfer z: ${ADDRESS}`],
  ],
  ['a key after none, which ends the list', zone('allow-transfer { none; key k; };'), []],
  [
    'a nested list that refuses a key, and so decides nothing',
    zone('allow-transfer { { !key k; }; key k; };'),
    ['k transfer z'],
  ],
  [
    'an acl that is defined later',
    `${zone('allow-transfer { Later; };')}acl later { key k; };`,
    ['k transfer z'],
  ],
  [
    'an acl that is missing',
    zone('allow-transfer { key k; missing; };'),
    [
      "k transfer z: the list contains the acl 'missing', which is missing, which grants cannot express",
    ],
  ],
  [
    'a network that one list permits and another refuses',
    `acl a { 10/8; }; ${zone('allow-transfer { { a; !{ 10/8; }; key k; }; };')}`,
    [
      'k transfer z: the list permits a network in one place, and refuses it in another',
      'open transfer z to 10.0.0.0/8',
    ],
  ],
  [
    'a key over one transport',
    zone('allow-transfer port 853 transport tls { key k; };'),
    ["k transfer z: the list permits requests only over 'port 853 transport tls'"],
  ],
  [
    'the list of the options, which the list of a zone replaces',
    `options { allow-transfer { key k; }; allow-update { key k; }; };${zone('', 'a')}${zone('allow-transfer { key l; }; allow-update { none; };', 'b')}`,
    ['k transfer a', 'l transfer b', 'k update a'],
  ],
  [
    'the list of the view before that of the options',
    `options { allow-transfer { key k; }; };${view('v', `allow-transfer { key l; };${zone('')}`)}`,
    ['l transfer z'],
  ],
  [
    'update-policy instead of a list of the options',
    `options { allow-transfer { none; }; allow-update { key l; }; };${zone('update-policy { grant k zonesub ANY; };')}`,
    ['k update z'],
  ],
  [
    'the whole zone below its apex',
    `${closed}${zone('update-policy { grant k subdomain Z. ANY; };')}`,
    ['k update z'],
  ],
  [
    'rules by name, by type, and after a refusal',
    `${closed}${zone('update-policy { grant k name a.z ANY; };', 'a')}${zone('update-policy { grant k zonesub; };', 'b')}${zone('update-policy { deny k name x.z; grant k zonesub ANY; };', 'c')}`,
    ['a', 'b', 'c'].map((name) => `k update ${name}: ${LIMITED}`),
  ],
  [
    'a rule for every key',
    `${closed}${zone('update-policy { grant * zonesub ANY; };')}`,
    [`k update z: ${EVERY}`, `l update z: ${EVERY}`],
  ],
  ['the session key', `${closed}${zone('update-policy local;')}`, []],
  [
    'a mirror zone, which inherits no list and is closed without one',
    `options { allow-transfer { key k; any; }; };view v { allow-transfer { key k; }; zone z { type mirror; }; zone y { type mirror; allow-transfer { key l; }; }; zone x { type secondary; primaries { 192.0.2.1; }; }; };`,
    ['l transfer y', 'k transfer x'],
  ],
  [
    'a mirror zone with a template',
    `${closed}template t { type mirror; allow-transfer { key k; }; };zone z { template t; };zone y { type mirror; };`,
    ['k transfer z'],
  ],
  [
    'updates that a secondary forwards',
    `${closed}zone z { type secondary; primaries { 192.0.2.1; }; allow-update-forwarding { key k; }; };`,
    ['k update z: the server forwards updates of this zone to its primary'],
  ],
  ['zones without data', 'zone "." { type hint; file "x"; }; zone f { type forward; };', []],
  [
    'zones of another class',
    `${view('c ch', `zone "bind" ch { type primary; file "x"; allow-transfer { key k; }; };`)}${view('v', zone('allow-transfer { key k; };'))}`,
    ['k transfer z'],
  ],
  [
    'two views that agree on a key',
    `${view('a', `match-clients { 10/8; }; ${zone('allow-transfer { key k; };')}`)}${view('b', zone('allow-transfer { key k; };'))}`,
    ['k transfer z'],
  ],
  [
    'two views that disagree on a key',
    `${view('a', `match-clients { 10/8; }; ${zone('allow-transfer { key k; };')}`)}${view('b', zone('allow-transfer { none; };'))}`,
    [`k transfer z: ${VIEWS}`],
  ],
  [
    'a view for certain addresses',
    view('a', `match-clients { 10/8; }; ${zone('allow-transfer { key k; };')}`),
    [`k transfer z: ${ADDRESS}`],
  ],
  [
    'a view that a key selects',
    `${view('a', `match-clients { key k; }; ${zone('allow-transfer { any; };')}`)}${view('b', '')}`,
    ['k transfer z'],
  ],
  [
    'a view that a key does not reach',
    `${view('a', `match-clients { !key k; any; }; ${zone('allow-transfer { key k; key l; };')}`)}${view('b', '')}`,
    ['l transfer z'],
  ],
  [
    'a zone of another view',
    `${view('a', `match-clients { 10/8; }; ${zone('allow-transfer { key k; };')}`)}${view('b', 'allow-transfer { none; }; zone "z" { in-view a; };')}`,
    ['k transfer z'],
  ],
  [
    'a view that the destination selects',
    view('a', `match-destinations { 192.0.2.1; }; ${zone('allow-transfer { key k; };')}`),
    ['k transfer z: `match-destinations` selects the view, which grants cannot express'],
  ],
])('the matrix of %s', (_, text, wanted) => {
  expect(linesOf(`${keys}${text}`)).toEqual(wanted);
});

const keyOf = (name: string, secret = K) =>
  `key "${name}" { algorithm hmac-sha256; secret "${secret}"; };\n`;

test('a key of a view with the name of another key has no grant', () => {
  const list = zone('allow-transfer { key k; };');
  const text = `${view('a', `${keyOf('k')}match-clients { 10/8; }; ${list}`)}${view('b', `${keyOf('k', OTHER)}${list}`)}`;
  expect(linesOf(text)).toEqual([
    'k transfer z: the configuration has different keys with this name',
  ]);
});

test.each([
  ['a list that contradicts itself', 'match-clients { inside; !inside; };'],
  ['a destination', 'match-destinations { 192.0.2.1; };'],
])(
  'a zone is open to addresses that may reach it, because %s selects the first view',
  (_, list) => {
    const text = `acl inside { 10/8; };
${view('a', `${list} ${zone('allow-transfer { none; };', 'other')}`)}
${view('b', zone('allow-transfer { inside; };'))}`;
    expect(matrixOf(readBindAccess(text)).open).toEqual([
      { right: 'transfer', zones: ['z'], addresses: ['10.0.0.0/8'] },
    ]);
  },
);

test('a control key in a list has no grant', () => {
  const text = `${keyOf('c')}${keyOf('rndc-key')}controls { inet 127.0.0.1 allow { any; } keys { c; }; };${zone('allow-transfer { key c; key rndc-key; };')}`;
  expect(linesOf(text)).toEqual([
    'c transfer z: this key controls the server',
    'rndc-key transfer z: this key controls the server',
  ]);
});

test('a key has no grant if an included file could not be read', () => {
  const text = `${keys}include "lists.conf";\n${zone('allow-transfer { key k; };')}`;
  expect(linesOf(text)).toEqual([
    "k transfer z: 'lists.conf' (named.conf:3) could not be read, and may refuse this key",
  ]);
});

test('places name the file and the line, also in included files', () => {
  const include = () => [{ path: '/etc/keys.conf', text: `\n${keyOf('k')}` }];
  const text = `include "keys.conf";\nzone z {\n  type primary; allow-transfer { !192.0.2.1; key k; }; };`;
  const configuration = readBindAccess(text, include, '/etc/named.conf');
  expect([configuration.keys[0]?.place, matrixOf(configuration).kept[0]?.place]).toEqual([
    '/etc/keys.conf:2',
    '/etc/named.conf:3',
  ]);
});

test('references name each other use of a key', () => {
  const text = `${keyOf('k')}
server 192.0.2.1 { keys { k; }; };
primaries p { 192.0.2.2 key "k"; };
acl a { key k; };
options { allow-query { a; }; also-notify { 192.0.2.3 port 53 key k; }; };
zone "s" { type secondary; primaries { p; 192.0.2.4 key k; }; allow-notify { key k; }; };
`;
  const { references } = readBindAccess(text);
  expect(references.map(({ key, role, place, zone: of }) => [key, role, place, of])).toEqual([
    ['k', 'requester', 'named.conf:3', undefined],
    ['k', 'requester', 'named.conf:4', undefined],
    ['k', 'query', 'named.conf:6', undefined],
    ['k', 'requester', 'named.conf:6', undefined],
    ['k', 'requester', 'named.conf:7', 's'],
    ['k', 'notify', 'named.conf:7', 's'],
  ]);
});

test('findings name undefined keys, rules for every key, and zones that are missing', () => {
  const text = `${keyOf('k')}
options { allow-new-zones yes; };
zone z { type primary; allow-transfer { key gone; }; update-policy { grant *.z zonesub; }; };
`;
  expect(readBindAccess(text).findings.map(({ kind, place }) => [kind, place])).toEqual([
    ['undefined_key', 'named.conf:4'],
    ['every_key', 'named.conf:4'],
    ['other_zones', 'named.conf:3'],
  ]);
});

const MISSING = 'a `;` is missing before what begins here';

test.each([
  ['an acl', `acl a { 10/8; }\n${zone('allow-transfer { key k; };')}`, 2],
  ['a key', `key m { algorithm hmac-sha256; secret "${K}"; }\n${zone('')}`, 2],
  ['a zone of a view', `view v {\nzone "a" { type primary; }\n${zone('')} };`, 3],
  ['a list of options', 'options { allow-transfer { none; }\nallow-update { key k; }; };', 2],
  ['an inner list', zone('allow-transfer { !{ 10/8; }\nkey k; };'), 2],
  ['a list before an include', zone('allow-transfer { key k; }\ninclude "x";'), 2],
  ['a key in a list', zone('allow-transfer { key k\nkey l; };'), 2],
  ['an include', `include "x"\n${zone('')}`, 2],
])('a file without the semicolon behind %s is refused with the line', (_, text, line) => {
  expect(() => readBindAccess(`${text}\n${keys}`)).toThrow(`line ${line}: ${MISSING}`);
});

test.each([
  ['the end of the file', 'options { recursion no; }', 'line 1: the statement that begins here'],
  ['a list without braces', zone('allow-transfer none;'), 'must be in braces'],
  ['a word before a list', zone('allow-update any { key k; };'), 'does not belong before the list'],
])('a file is refused that BIND refuses, too: %s', (_, text, message) => {
  expect(() => readBindAccess(text)).toThrow(message);
});

test.each([
  'controls { inet * port 953 allow { any; } keys { k; } read-only yes; unix "/run/c" perm 0600 owner 0 group 0 keys { k; }; };',
  'options { response-policy { zone "rpz"; } max-policy-ttl 3; deny-answer-addresses { 10/8; } except-from { "a"; }; response-padding { any; } block-size 4; };',
  'options { catalog-zones { zone "c" default-primaries port 53 { 192.0.2.1 key k; } in-memory yes; }; listen-on port 853 tls local-tls { any; }; };',
  'options { check-names primary warn; dns64 64:ff9b::/96 { clients { any; }; }; rrset-order { class IN type A name "x" order random; }; query-source address * port *; allow-new-zones yes; };',
  'options { dnstap-output file "x" size 5m versions 3; sortlist { { localhost; { 10/8; }; }; }; };',
  'zone type in { type primary; file "x"; };\nzone options { type primary; file type; };',
  zone('allow-transfer port 53 transport tcp { ! key l; !{ 10/8; }; key k; };'),
  zone(
    'also-notify port 53 { 192.0.2.1 port 53 key k; }; update-policy { grant k name grant A; };',
  ),
])('a file that BIND accepts is read: %s', (text) => {
  expect(() => readBindAccess(`${keys}${text}`)).not.toThrow();
});

test.each([
  ['the session key of named', zone('update-policy { grant local-ddns zonesub any; };')],
  [
    'a session key with another name',
    `options { session-keyname own; };${zone('update-policy { grant own zonesub any; };')}`,
  ],
  [
    'a key with an algorithm that Tsigil does not know',
    `key cut { algorithm hmac-sha256-128; secret "${K}"; };${zone('allow-update { key Cut.; };')}`,
  ],
  [
    'a key whose secret is hidden, in a view',
    view(
      'v',
      `key h { algorithm hmac-sha256; secret "????"; }; ${zone('allow-update { key h; };')}`,
    ),
  ],
])('is not called undefined: %s', (_, text) => {
  expect(readBindAccess(keys + text).findings).toEqual([]);
});

test.each([
  ['deny k zonesub ANY; grant k zonesub ANY;', []],
  ['deny k zonesub ANY; grant * zonesub ANY;', [`l update z.example: ${EVERY}`]],
  ['deny k subdomain Z.example. ANY; grant k zonesub ANY;', []],
  ['deny k subdomain example ANY; grant k zonesub ANY;', []],
  ['deny * wildcard * ANY; grant k zonesub ANY;', []],
  ['deny k wildcard *.example ANY; grant k name z.example A;', []],
  ['deny k wildcard *.z.example ANY; grant k zonesub ANY;', [`k update z.example: ${LIMITED}`]],
  ['deny k name x.z.example A; grant k zonesub ANY;', [`k update z.example: ${LIMITED}`]],
  ['deny k name x.z.example ANY; grant k name x.z.example A;', []],
  ['deny k subdomain x.z.example ANY; grant k name y.x.z.example A;', []],
  [
    'deny k subdomain x.z.example A; grant k name y.x.z.example A TXT;',
    [`k update z.example: ${LIMITED}`],
  ],
  ['deny k zonesub A TXT; grant k zonesub TXT;', []],
  ['deny k zonesub; grant k zonesub A;', []],
  ['deny k zonesub; grant k zonesub ANY;', [`k update z.example: ${LIMITED}`]],
  ['deny k zonesub; grant k zonesub NS;', [`k update z.example: ${LIMITED}`]],
  ['deny k zonesub ANY; grant k self k; grant k selfsub k ANY;', []],
  ['deny k self . ANY; grant k self . A;', []],
  ['deny l zonesub ANY; grant k zonesub ANY;', ['k update z.example']],
  ['deny * tcp-self . ANY; grant k zonesub ANY;', [`k update z.example: ${LIMITED}`]],
  ['deny * krb5-self . ANY; grant k zonesub ANY;', ['k update z.example']],
  ['grant k zonesub ANY; deny k zonesub ANY;', ['k update z.example']],
  ['grant k zonesub ANY(5);', [`k update z.example: ${LIMITED}`]],
  ['grant k subdomain example ANY;', ['k update z.example']],
])('the rules of update-policy count in their order: %s', (rules, expected) => {
  const text = `${closed}${zone(`update-policy { ${rules} };`, 'z.example')}`;
  expect(linesOf(`${keys}${text}`)).toEqual(expected);
  const { kept } = matrixOf(readBindAccess(`${keys}${text}`));
  // What a key may do for some requests can be widened.
  expect(kept.every(({ partial }) => partial)).toBe(true);
});

test('any text is read, or refused with the line of the fault and without its text', () => {
  const words = fc.constantFrom(
    '{',
    '}',
    ';',
    '!',
    'key',
    'acl',
    'zone',
    'view',
    'k',
    '"',
    '10/8',
    'any',
    'none',
    ' ',
    '\n',
    'allow-transfer',
    'update-policy',
    'grant',
    'in-view',
    'match-clients',
    '/*',
    '::/0',
    K,
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 60 }), (parts) => {
      try {
        matrixOf(readBindAccess(parts.join(' ')));
      } catch (error) {
        expect(error).toBeInstanceOf(KeyFileError);
        expect(String(error)).not.toContain(K);
      }
    }),
    { numRuns: randomCases(2000) },
  );
});

test.each([
  ['acl a { a; };', 'a list that contains itself'],
  ['{'.repeat(100_000), 'deep blocks'],
])('%#: does not recurse without end', (text) => {
  const read = () => linesOf(`${keys}${text}${zone('allow-transfer { a; key k; };')}`);
  if (text.startsWith('{')) expect(read).toThrow(KeyFileError);
  else expect(read()).toHaveLength(1);
});

test.each([
  ['keys and comments', '// no more\n', false],
  ['an included file of keys', 'include "more.conf";', false],
  ['options', 'options { directory "/tmp"; allow-transfer { none; }; };', true],
  ['an included file with a list', 'include "acl.conf";', true],
  ['a missing file', 'include "missing.conf";', true],
])('says where its keys are used, unless it contains only keys: %s', (_, text, expected) => {
  const files: Record<string, string> = {
    'more.conf': `key m { algorithm hmac-sha256; secret "${K}"; };`,
    'acl.conf': 'acl a { any; };',
  };
  const configuration = readBindAccess(keys + text, ({ pattern }) => {
    const found = files[pattern];
    return found === undefined ? [] : [{ path: pattern, text: found }];
  });
  expect(saysUses(configuration)).toBe(expected);
});

test.each(['dlz d { database "x"; };', 'dyndb d "x" { a b };'])(
  'other zones may be where the configuration does not say it: %s',
  (text) => {
    expect(readBindAccess(keys + text).findings).toMatchObject([{ kind: 'other_zones' }]);
  },
);

test.each([
  ['a misspelt zone', 'zonee "z" { type primary; };', "unknown option 'zonee'"],
  ['a secret', `"${K}" { };`, 'unknown option'],
  ['a misspelt list', zone('alow-transfer { none; };'), "unknown option 'alow-transfer'"],
  ['a zone twice', `${zone('', 'a.')}${zone('', 'A')}`, '`zone` is here already'],
  ['a zone twice by an escape', `${zone('', 'a')}${zone('', '\\097')}`, '`zone` is here already'],
  ['a view twice', view('v', '') + view('v', ''), '`view` is here already'],
  ['an acl of BIND', 'acl any { none; };', '`acl` is here already'],
  [
    'a list twice',
    zone('allow-transfer { none; }; allow-transfer { any; };'),
    '`allow-transfer` is here already',
  ],
  [
    'a list and a policy',
    zone('allow-update { key k; }; update-policy { deny k zonesub ANY; };'),
    '`allow-update` must not stand beside `update-policy`',
  ],
  ['a key without block before a zone', `key ${zone('')}`, '`key` does not stand'],
  ['an include of two files', 'include "a" "b";', 'an include statement'],
  ['a key above 255', zone('allow-transfer { key "\\999"; };'), 'an escape in this name'],
  ['a clause', `key "\\999" { algorithm hmac-sha256; secret "${K}"; };`, 'an escape in this name'],
  ['a policy', zone('update-policy { grant \\999 zonesub ANY; };'), 'an escape in this name'],
])('a file is refused that BIND refuses, too, with the line: %s', (_, text, problem) => {
  const read = () => readBindAccess(`\n${text.replaceAll('\n', ' ')}`);
  expect(read).toThrow(`line 2: `);
  expect(read).toThrow(problem);
  expect(read).not.toThrow(K);
});

test.each([
  'options { allow-update { key k; }; }; zone "z" { type primary; file "x"; update-policy { grant k zonesub ANY; }; };',
  'view v { zone "z" { type primary; file "x"; }; }; view v CH { zone "z" CH { type primary; file "x"; }; };',
  'view v { zone "z" { type primary; file "x"; }; }; view w { zone "z" { type primary; file "x"; }; };',
  'ACL x { any; }; OPTIONS { }; Zone "z" { Type primary; file "x"; Allow-Transfer { none; }; };',
  'template t { type primary; }; template u { type primary; }; zone "z" { template t; file "x"; };',
  'acl a { key "\\255"; key "a\\000\\.b\\\\"; }; options { version "\\999"; directory "\\999"; };',
])('what BIND accepts is no misspelling and no repetition: %s', (text) => {
  expect(() => readBindAccess(text)).not.toThrow();
});

test.each([
  ['a refused key', 'allow-transfer { !key "\\107"; key "k"; };', []],
  ['a refused key in upper case', 'allow-transfer { !key "\\075."; key k; };', []],
  ['a refused key, with an escape that is not needed', 'allow-transfer { !key \\k; key k; };', []],
  [
    'a refused key whose final dot is escaped, which is another one',
    'allow-transfer { !key "k\\."; key k; };',
    ['k transfer z'],
  ],
  ['a permitted key', 'allow-transfer { key "\\107"; };', ['k transfer z']],
  [
    'a policy that refuses a key',
    'allow-transfer { none; }; update-policy { deny "\\107" zonesub ANY; grant k zonesub ANY; };',
    [],
  ],
  [
    'a policy that refuses every key',
    'allow-transfer { none; }; update-policy { deny "\\042" zonesub ANY; grant k name z ANY; };',
    [],
  ],
  [
    'a policy about an escaped name',
    'allow-transfer { none; }; update-policy { deny k subdomain "\\122" ANY; grant k zonesub ANY; };',
    [],
  ],
])('names may have escapes: %s', (_, statements, expected) => {
  expect(linesOf(keys + zone(statements))).toEqual(expected);
  const other = `key "\\107" { algorithm hmac-sha256; secret "${K}"; };\n`;
  expect(linesOf(other + zone(statements))).toEqual(expected);
});

test('a key that controls the server has no grant, however it is spelt', () => {
  const text = `controls { inet * allow { any; } keys { "\\107"; }; };${zone('allow-transfer { key k; };')}`;
  expect(linesOf(keys + text)).toEqual(['k transfer z: this key controls the server']);
});
