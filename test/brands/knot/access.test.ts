import { describe, expect, test } from 'vitest';
import { matrixOf, saysUses } from '../../../src/access/access.ts';
import { readKnotAccess } from '../../../src/brands/knot/access.ts';
import { KeyFileError } from '../../../src/formats/reader.ts';

const SECRET = 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=';
const KEYS = `key:
  - id: K1
    algorithm: hmac-sha256
    secret: ${SECRET}
  - id: "k2."
    algorithm: hmac-sha256
    secret: ${SECRET}
`;

/** Returns the lines of a matrix: grants, what is left in the configuration, and what is open. */
function linesOf(text: string): string[] {
  const configuration = readKnotAccess(KEYS + text);
  const { rows, kept, open } = matrixOf(configuration);
  return [
    ...rows.map(({ key, right, zones }) => `${key} ${right} ${zones.join()}`),
    ...kept.map(
      ({ key, right, zones, reason, place }) =>
        `left: ${key} ${right} ${zones.join()} (${reason}; ${place})`,
    ),
    ...open.map(
      ({ right, zones, addresses }) => `open: ${right} ${zones.join()} ${String(addresses)}`,
    ),
    ...configuration.findings.map(({ kind, place, text: said }) => `${kind} (${place}): ${said}`),
  ];
}

const ZONE = 'zone:\n  - domain: Example.ORG\n    acl: [a, b]\n';
const rules = (a: string, b = 'deny: on') =>
  `acl:\n  - id: a\n    ${a.replaceAll('; ', '\n    ')}\n  - id: b\n    ${b.replaceAll('; ', '\n    ')}\n${ZONE}`;
const ADDRESS = 'the list permits this key only from certain addresses';
const left = (right: string, reason = ADDRESS, line = 15, key = 'k1') =>
  `left: ${key} ${right} example.org (${reason}; knot.conf:${line})`;

describe('the rules of a zone', () => {
  test.each([
    ['key: k1; action: transfer', undefined, ['k1 transfer example.org']],
    [
      'key: [K1., "k2"]; action: [transfer, update]',
      undefined,
      ['k1', 'k2']
        .map((key) => `${key} transfer example.org`)
        .concat(['k1', 'k2'].map((key) => `${key} update example.org`)),
    ],
    [
      'key: k1; address: 192.0.2.0/24; action: transfer',
      undefined,
      [left('transfer', ADDRESS, 17)],
    ],
    [
      'key: k1; address: [0.0.0.0/0, "::/0"]; action: transfer',
      undefined,
      ['k1 transfer example.org'],
    ],
    ['key: k1; address: 0.0.0.0/0; action: transfer', undefined, [left('transfer', ADDRESS, 17)]],
    // A rule without actions refuses what it matches, even if a later rule permits it.
    ['key: k1', 'key: k1; action: transfer', []],
    ['key: k1; deny: on', 'key: k1; action: transfer', []],
    ['key: k1; deny: on; action: update', 'key: k1; action: transfer', ['k1 transfer example.org']],
    // As in Tsigil's rules without keys, because no request comes from this address.
    [
      'address: 0.0.0.0/32; deny: on; action: transfer',
      'key: k1; action: transfer',
      ['k1 transfer example.org'],
    ],
    // A rule with only `deny` refuses signed requests too.
    ['deny: on', 'key: k1; action: transfer', []],
    [
      'address: 192.0.2.1-192.0.2.2; deny: on',
      'key: k1; action: transfer',
      [left('transfer', ADDRESS, 17)],
    ],
    [
      'address: 192.0.2.0/25; action: transfer',
      'key: k1; action: transfer',
      ['k1 transfer example.org', 'open: transfer example.org 192.0.2.0/25'],
    ],
    ['action: transfer', undefined, ['open: transfer example.org everyone']],
    [
      'key: k1; action: [transfer, update]; update-type: [TXT]',
      'key: k2; action: update',
      [
        'k1 transfer example.org',
        'k2 update example.org',
        left('update', "a rule for this key has 'update-type'", 18),
      ],
    ],
    [
      'key: k1; action: transfer; protocol: tls',
      undefined,
      [left('transfer', "a rule for this key has 'protocol'", 17)],
    ],
    [
      'key: k3; action: transfer',
      undefined,
      ["undefined_key (knot.conf:9): the key 'k3' is defined nowhere"],
    ],
  ])('%s, then %s', (a, b, expected) => {
    expect(linesOf(rules(a, b))).toEqual(expected);
  });
});

describe('a refusal of some addresses or of one right', () => {
  const from = 'address: 192.0.2.1';
  test.each([
    [`key: k1; ${from}; deny: on`, ['transfer', 'update'], []],
    [`${from}; deny: on`, ['transfer', 'update'], []],
    [`key: k1; ${from}; action: update; deny: on`, ['update'], ['transfer']],
    [`${from}; action: update; deny: on`, ['update'], ['transfer']],
    ['key: k1; action: update; deny: on', [], ['transfer']],
    ['action: update; deny: on', [], ['transfer']],
  ])('before the rule that permits: %s', (refusal, limited, granted) => {
    const { kept, rows } = matrixOf(
      readKnotAccess(KEYS + rules(refusal, 'key: k1; action: [transfer, update]')),
    );
    expect(kept.map((row) => [row.right, row.reason, row.partial])).toEqual(
      limited.map((right) => [right, ADDRESS, true]),
    );
    expect(rows.map(({ right }) => right)).toEqual(granted);
  });

  test.each([
    `key: k1; ${from}; deny: on`,
    `${from}; deny: on`,
    'key: k1; action: update; deny: on',
    'action: update; update-type: [A]; deny: on',
  ])('behind the rule that permits: %s', (refusal) => {
    const { kept, rows } = matrixOf(
      readKnotAccess(KEYS + rules('key: k1; action: [transfer, update]', refusal)),
    );
    expect(kept).toEqual([]);
    expect(rows.map(({ right }) => right)).toEqual(['transfer', 'update']);
  });
});

describe('a refusal of some updates', () => {
  const limited = (item: string, line = 18) =>
    left('update', `a rule for this key has '${item}'`, line);
  test.each([
    ['key: k1; action: update; update-type: [TXT]; deny: on', 'key: k1; action: update'],
    ['key: k1; action: update; update-owner: key; deny: on', 'key: k1; action: update'],
    ['action: update; update-type: [A]; deny: on', 'key: k1; action: update'],
    ['key: k1; update-type: [A]; deny: on', 'key: k1; action: update'],
    ['key: k1; action: update; protocol: udp; deny: on', 'key: k1; action: update'],
    ['address: 192.0.2.1; update-type: [A]; deny: on', 'key: k1; action: update'],
  ])('leaves the others to the rules behind it: %s, then %s', (a, b) => {
    const { kept, rows } = matrixOf(readKnotAccess(KEYS + rules(a, b)));
    expect(rows.filter(({ key }) => key === 'k1')).toEqual([]);
    expect(kept.map((row) => [row.key, row.right, row.partial])).toEqual([['k1', 'update', true]]);
  });

  test.each([
    ['key: k1; action: update; update-type: [A]; deny: on', 'key: k2; action: transfer'],
    ['key: k1; action: update; update-type: [A]; deny: on', 'key: k1; action: update; deny: on'],
    ['key: k1; deny: on', 'key: k1; action: update; update-type: [A]'],
  ])('leaves nothing of a key that no rule permits: %s, then %s', (a, b) => {
    const { kept, rows } = matrixOf(readKnotAccess(KEYS + rules(a, b)));
    expect([...rows, ...kept].filter(({ key }) => key === 'k1')).toEqual([]);
  });

  test.each([
    [
      'key: k1; action: [update, transfer]; update-type: [TXT]; deny: on',
      'key: k1; action: [update, transfer]',
      [limited('update-type', 19)],
    ],
    // The first rule that matches decides.
    [
      'key: k1; action: update',
      'key: k1; action: update; update-type: [TXT]; deny: on',
      ['k1 update example.org'],
    ],
    [
      'key: k1; address: 192.0.2.1; action: update',
      'key: k1; action: update; update-type: [TXT]',
      [limited('update-type', 19)],
    ],
    [
      'key: k2; action: update; update-type: [TXT]; deny: on',
      'key: [k1, k2]; action: update',
      ['k1 update example.org', left('update', "a rule for this key has 'update-type'", 19, 'k2')],
    ],
  ])('%s, then %s', (a, b, expected) => {
    expect(linesOf(rules(a, b))).toEqual(expected);
  });
});

const REMOTE = `remote:
  - id: r
    address: [ 192.0.2.1@53, 2001:db8::1 ]
    key: k1
`;
const RULE = 'acl:\n  - id: a\n    key: k1\n    action: transfer\n';

test.each([
  [
    'automatic-acl: on',
    `server:\n    automatic-acl: on\n${REMOTE}zone:\n  - domain: x\n    notify: r\n`,
    [`left: k1 transfer x (${ADDRESS}; knot.conf:16)`],
  ],
  ['automatic-acl: off', `${REMOTE}zone:\n  - domain: x\n    notify: r\n`, []],
  [
    'automatic-acl: off in the remote',
    `server:\n    automatic-acl: on\n${REMOTE}    automatic-acl: off\nzone:\n  - domain: x\n    notify: r\n`,
    [],
  ],
  [
    'a rule with a group of remotes',
    `${REMOTE}remotes:\n  - id: all\n    remote: [r]\nacl:\n  - id: a\n    remote: all\n    action: update\nzone:\n  - domain: x\n    acl: a\n`,
    [`left: k1 update x (${ADDRESS}; knot.conf:21)`],
  ],
  [
    'the default template, for a zone without a template',
    `${RULE}template:\n  - id: default\n    acl: a\n  - id: other\n    storage: /x\nzone:\n  - domain: x\n  - domain: y\n    template: other\n`,
    ['k1 transfer x'],
  ],
  [
    'a list of the zone, which replaces that of its template',
    `${RULE}  - id: none\n    deny: on\ntemplate:\n  - id: t\n    acl: a\nzone:\n  - domain: x\n    template: t\n  - domain: y\n    template: t\n    acl: none\n`,
    ['k1 transfer x'],
  ],
  [
    'every IPv4 address, if the server listens only on IPv4 addresses',
    `server:\n    listen: 0.0.0.0@53\nacl:\n  - id: a\n    address: 0.0.0.0/0\n    key: k1\n    action: transfer\nzone:\n  - domain: x\n    acl: a\n`,
    ['k1 transfer x'],
  ],
  [
    'a catalog zone',
    `${RULE}zone:\n  - domain: x\n    acl: a\n    catalog-role: interpret\n`,
    [
      'k1 transfer x',
      "catalog_zone (knot.conf:13): the members of the catalog zone 'x' are not in the configuration, so their access lists were not read",
    ],
  ],
  [
    'a rule that is defined nowhere',
    'zone:\n  - domain: x\n    acl: a\n',
    ["undefined_rule (knot.conf:9): the rule 'a' is defined nowhere"],
  ],
])('%s', (_, text, expected) => {
  expect(linesOf(text)).toEqual(expected);
});

test.each([
  ['rule', 'zone:\n  - domain: example.org\n    acl: [gone, a]\n', 13, "the rule 'gone'"],
  [
    'remote',
    '  - id: b\n    remote: gone\n    deny: on\nzone:\n  - domain: example.org\n    acl: [b, a]\n',
    12,
    "the remote 'gone'",
  ],
  [
    'remote of a group',
    '  - id: b\n    remote: all\n    deny: on\nremotes:\n  - id: all\n    remote: gone\nzone:\n  - domain: example.org\n    acl: [b, a]\n',
    12,
    "the remote 'gone'",
  ],
])('no grant follows from a list with a %s that is defined nowhere', (_, rest, line, what) => {
  const other = '  - domain: other\n    acl: a\n';
  const lines = linesOf(`${RULE}${rest}${other}`);
  expect(lines).toEqual([
    'k1 transfer other',
    expect.stringContaining(
      `left: k1 transfer example.org (${what} is defined nowhere, and may refuse this key`,
    ),
    expect.stringContaining(`(knot.conf:${line}): ${what} is defined nowhere`),
  ]);
});

test('no grant follows if an included file could not be read', () => {
  const text = `include: /x\n${rules('key: k1; action: transfer')}`;
  const reason = "'/x' (knot.conf:8) could not be read, and may refuse this key";
  expect(linesOf(text)).toEqual([left('transfer', reason, 17)]);
});

test('names the requesters, and the rules for queries and NOTIFY', () => {
  const text = `${KEYS}${REMOTE}acl:
  - id: a
    key: k2
    action: notify
  - id: "b c"
    key: [k1, k2]
zone:
  - domain: x
    master: r
    acl: a
`;
  expect(readKnotAccess(text).references).toEqual([
    { key: 'k1', role: 'requester', place: 'knot.conf:11' },
    { key: 'k2', role: 'notify', place: 'knot.conf:14' },
    { key: 'k1', role: 'query', place: 'knot.conf:17' },
    { key: 'k2', role: 'query', place: 'knot.conf:17' },
  ]);
});

test('reads sections in included files, and names their places', () => {
  const included = { path: '/etc/knot/acl.conf', text: RULE };
  const { zones, keys } = readKnotAccess(
    `${KEYS}include: acl.conf\nzone:\n  - domain: x\n    acl: a\n`,
    () => [included],
  );
  expect(keys.map(({ key, place }) => [key.name, place])).toEqual([
    ['K1', 'knot.conf:2'],
    ['k2.', 'knot.conf:5'],
  ]);
  expect(zones[0]?.lists.transfer?.keys).toEqual(['k1']);
});

test.each(['address: 192.0.2.300', 'address: [192.0.2.1', 'key: "k1'])(
  'refuses `%s` without quoting it',
  (item) => {
    const read = () => readKnotAccess(`${KEYS}acl:\n  - id: a\n    ${item}\n`);
    expect(read).toThrow(KeyFileError);
    expect(read).toThrow(/^line 10: (?!.*(?:192|k1))/);
  },
);

test.each([
  ['keys and comments', '# no more\n', false],
  ['an included file of keys', 'include: more.conf\n', false],
  ['a rule and a template', 'acl:\n  - id: a\n    key: k1\ntemplate:\n  - id: default\n', true],
  ['files that are missing', 'include: zones.d/*.conf\n', true],
])('says where its keys are used, unless it contains only keys: %s', (_, text, expected) => {
  const files: Record<string, string> = {
    'more.conf': `key:\n  - id: k3\n    algorithm: hmac-sha256\n    secret: ${SECRET}\n`,
    'acl.conf': 'acl:\n  - id: a\n',
  };
  const configuration = readKnotAccess(KEYS + text, ({ pattern }) => {
    const found = files[pattern];
    return found === undefined ? [] : [{ path: pattern, text: found }];
  });
  expect(saysUses(configuration)).toBe(expected);
});

test.each([
  ['a misspelt section', 'zones:\n  - domain: x\n', 8, "unknown section 'zones'"],
  ['a section without colon', 'log:\nzone\n  - domain: x\n', 9, 'belongs to no section'],
  ['a misspelt list', 'zone:\n  - domain: x\n    acll: a\n', 10, "unknown item 'acll'"],
  ['a misspelt switch', 'remote:\n  - id: r\n    automatic-acls: off\n', 10, 'unknown item'],
  ['a misspelt item of a rule', 'acl:\n  - id: a\n    actoin: transfer\n', 10, "item 'actoin'"],
  ['a misspelt action', 'acl:\n  - id: a\n    action: [query, transfr]\n', 10, '`action` must be'],
  ['an unknown template', 'zone:\n  - domain: x\n    template: t\n', 10, 'not defined above'],
  ['a tab before a section', '\tacl:\n', 8, 'a tab'],
  ['a tab before an item', 'acl:\n\t- id: a\n', 9, 'a tab'],
  ['a section within a key', '    acl:\n', 8, "unknown item 'acl'"],
  ['a zone twice', 'zone:\n  - domain: x\n  - domain: X.\n', 10, '`zone` is here already'],
  ['a zone twice by an escape', 'zone:\n  - domain: x\n  - domain: \\120\n', 10, 'is here already'],
  ['a rule that denies maybe', 'acl:\n  - id: a\n    deny: yes\n', 10, 'must be on or off'],
])('a file is refused that Knot DNS refuses, too: %s', (_, text, line, problem) => {
  const read = () => readKnotAccess(KEYS + text);
  expect(read).toThrow(`line ${line}: `);
  expect(read).toThrow(problem);
});

test.each(['  - domain: x\n', '  zone:\n', '  acl: x\n', 'include: x\n  - domain: x\n'])(
  'an entry before the first section is refused: %j',
  (text) => {
    expect(() => readKnotAccess(text + KEYS)).toThrow(KeyFileError);
  },
);

test('what Knot DNS accepts is no misspelling', () => {
  const items =
    'catalog-role: interpret; catalog-zone: c; catalog-template: t; catalog-group: g; master: r; notify: r; storage: x; file: x; dnssec-policy: p; ds-push: r; module: mod-x; default-ttl: 1';
  const text = `mod-x:\n  - id: a\nserver:\n    nsid: x\n    listen-xdp: x\n    tcp-idle-timeout: 1\nremote:\n  - id: r\n    via: 192.0.2.1\n    no-edns: on\n    pin: x\nzone:\n  - domain: x\n    ${items.replaceAll('; ', '\n    ')}\n`;
  expect(() => readKnotAccess(KEYS + text)).not.toThrow();
});

test.each([
  ['\\0751', []],
  ['\\k\\049.', []],
  ['"\\107\\049"', []],
  ['k1\\.', ['k1 transfer example.org', 'k1 update example.org']],
])('names of keys may have escapes: deny %s', (key, expected) => {
  const lines = linesOf(rules(`key: ${key}; deny: on`, 'key: k1; action: [transfer, update]'));
  expect(lines.filter((line) => !line.startsWith('undefined_key'))).toEqual(expected);
});

test('a rule with an empty `deny` refuses', () => {
  expect(linesOf(rules('key: k1; action: transfer; deny:', 'key: k1; action: transfer'))).toEqual(
    [],
  );
});
