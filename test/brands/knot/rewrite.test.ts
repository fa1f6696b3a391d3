import { expect, test } from 'vitest';
import type { Right } from '../../../src/access/rights.ts';
import { rewriteKnot } from '../../../src/brands/knot/rewrite.ts';
import { knot } from '../../harness/brands/knot.ts';
import { OWN, rewritten } from '../../harness/rewrites.ts';
import { SECRET } from '../../harness/samples.ts';

const keyOf = (name: string) => ({ name, algorithm: 'hmac-sha256', secret: SECRET });
const keyText = (...names: readonly string[]) =>
  names
    .map((name) => `  - id: ${name}\n    algorithm: hmac-sha256\n    secret: ${SECRET}\n`)
    .join('');

/** Rights such as `k1 transfer a b`: a key, a right and zones. */
const rowsOf = (...rights: readonly string[]) =>
  rights.map((each) => {
    const [key = '', right, ...zones] = each.split(' ');
    return { key, right: right as Right, zones };
  });

/** Returns the files that change when the keys move with these rights. */
const moved = (
  files: string | Readonly<Record<string, string>>,
  keys: readonly string[],
  ...rights: readonly string[]
) => {
  const changed = rewritten(
    knot,
    rewriteKnot,
    typeof files === 'string' ? { 'knot.conf': files } : files,
    { keys: keys.map(keyOf), rows: rowsOf(...rights) },
  );
  return typeof files === 'string' ? changed['knot.conf'] : changed;
};

test('takes keys and rules away, and keeps what grants cannot say, with its comments', () => {
  expect(
    moved(
      `# Our server.
server:
    listen: 127.0.0.1 # only here

key:
${keyText('K1.')}
  # Not for Tsigil.
${keyText('other')}
acl:
  - id: give
    key: "k1"   # the secondary
    action: [transfer]

  - id: addresses
    address: 192.0.2.1
    action: transfer
zone:
  - domain: Example.ORG.
    acl: [give, addresses]  # who
    file: x
  - domain: example.net
    acl: addresses
`,
      ['k1'],
      'k1 transfer example.org',
    ),
  ).toBe(`# Our server.
server:
    listen: 127.0.0.1 # only here

include: "${OWN}"
key:

  # Not for Tsigil.
${keyText('other')}
acl:

  - id: addresses
    address: 192.0.2.1
    action: transfer
zone:
  - domain: Example.ORG.
    acl: [tsigil-transfer, tsigil-transfer-example.org, addresses]  # who
    file: x
  - domain: example.net
    acl: addresses
`);
});

test('gives a zone that inherits its list a list of its own, and changes the template if all do', () => {
  const text = (zones: string) => `key:
${keyText('k1')}acl:
  - id: give
    key: k1
    action: [transfer, update]
  - id: addresses
    address: 192.0.2.1
    action: transfer
template:
  - id: default
    acl: give
    acl: addresses
  - id: other
    acl: addresses
zone:
${zones}`;
  const rules = `  - id: addresses
    address: 192.0.2.1
    action: transfer
`;
  expect(
    moved(
      text('  - domain: a\n  - domain: b\n    file: x\n  - domain: c\n    template: other'),
      ['k1'],
      'k1 transfer a b',
      'k1 update a b',
    ),
  ).toBe(`include: "${OWN}"
acl:
${rules}template:
  - id: default
    acl: [tsigil-transfer, tsigil-update, addresses]
  - id: other
    acl: addresses
zone:
  - domain: a
    acl: [tsigil-transfer, tsigil-update, tsigil-transfer-a, tsigil-update-a, addresses]
  - domain: b
    file: x
    acl: [tsigil-transfer, tsigil-update, tsigil-transfer-b, tsigil-update-b, addresses]
  - domain: c
    template: other`);
  // The zone b still inherits the list, so the template and the rule stay.
  expect(moved(text('  - domain: a\n  - domain: b'), ['k1'], 'k1 transfer a', 'k1 update a'))
    .toBe(`include: "${OWN}"
${text(`  - domain: a
    acl: [tsigil-transfer, tsigil-update, tsigil-transfer-a, tsigil-update-a, addresses]
  - domain: b`).replace(/key:\n.*\n.*\n.*\n/, '')}`);
});

test.each([
  [
    'a catalog',
    '  - domain: c\n    catalog-role: interpret\n    catalog-template: list\n    acl: x',
  ],
  ['no zone of the file', ''],
])('leaves a template that %s uses as it is', (_, zones) => {
  const text = (own: string) => `acl:
  - id: x
    key: k1
    action: transfer
template:
  - id: list
    acl: x
zone:
  - domain: a
    acl: ${own}
${zones}`;
  expect(
    moved(`key:\n${keyText('k1')}${text('x')}`, ['k1'], `k1 transfer a${zones && ' c'}`),
  ).toContain('template:\n  - id: list\n    acl: x\n');
});

test.each([
  // Another key, which does not move.
  ['key: [K1, "k2."]; action: transfer # two', 'key: ["k2."]; action: transfer # two'],
  // NOTIFY and queries, which no grant permits.
  ['key: [k1]; action: [transfer, notify]', 'key: [k1]; action: [notify]'],
  // A limit of updates only.
  [
    'key: k1; action: [update, transfer]; update-type: [TXT]',
    'key: k1; action: [update]; update-type: [TXT]',
  ],
  [
    'key: k1; address: 192.0.2.1; action: [transfer, update]',
    'key: k1; address: 192.0.2.1; action: [update]',
  ],
  // A repeated item adds to the values.
  ['key: k1; action: transfer; key: k2', 'key: ["k2"]; action: transfer'],
  // Keys with different actions.
  [
    'action: [transfer, notify]; key: [k1, k2]',
    'action: [notify]; key: ["k1"]\n  - id: rule-2; action: [transfer, notify]; key: ["k2"]',
    'rule, rule-2',
  ],
  // A rule without actions, and rules for unsigned requests.
  ['key: k1', 'key: k1'],
  ['address: 192.0.2.1; action: transfer', 'address: 192.0.2.1; action: transfer'],
  ['address: 192.0.2.1; deny: on', 'address: 192.0.2.1; deny: on'],
  // The keys and addresses of remotes.
  ['remote: far; action: [transfer, notify]', 'remote: far; action: [notify]'],
  ['remote: [far, near]; action: [transfer]', 'remote: [far, near]; action: [transfer]'],
])('leaves of the rule %j what grants cannot say', (rule, stays, ids = 'rule') => {
  const text = (own: string, acl: string) => `remote:
  - id: far
    address: 192.0.2.1
    key: k1
  - id: near
    address: 192.0.2.2
    key: k2
acl:
${own.replaceAll('; ', '\n    ')}
zone:
  - domain: a
    acl: [${acl}]
`;
  const first = '  - id: first\n    key: k1\n    action: transfer\n';
  expect(
    moved(
      `key:\n${keyText('k1', 'k2')}${text(`${first}  - id: rule; ${rule}`, 'first, rule')}`,
      ['k1'],
      'k1 transfer a',
    ),
  ).toBe(
    `include: "${OWN}"\nkey:\n${keyText('k2')}${text(`  - id: rule; ${stays}`, `tsigil-transfer, tsigil-transfer-a, ${ids}`)}`,
  );
});

test('leaves the rule whole for the zones from which nothing moves', () => {
  const text = (rules: string, a: string) => `acl:
  - id: give
    key: [k1, k2]
    action: transfer
${rules}zone:
  - domain: a
    acl: ${a}
  - domain: b
    acl: give
`;
  expect(moved(`key:\n${keyText('k1', 'k2')}${text('', 'give')}`, ['k1'], 'k1 transfer a')).toBe(
    `include: "${OWN}"
key:
${keyText('k2')}${text(
      '  - id: give-2\n    key: ["k2"]\n    action: transfer\n',
      '[tsigil-transfer, tsigil-transfer-a, give-2]',
    )}`,
  );
});

test('edits included files, and includes its own above them', () => {
  const zone = (acl: string) => `zone:\n  - domain: a\n    acl: ${acl}\n`;
  expect(
    moved(
      {
        'knot.conf': 'server:\n    listen: ::1\ninclude: keys\ninclude: rules\ninclude: zones\n',
        keys: `# The keys.\nkey:\n${keyText('k1')}`,
        rules: 'acl:\n  - id: give\n    key: k1\n    action: transfer',
        zones: zone('give'),
      },
      ['k1'],
      'k1 transfer a',
    ),
  ).toEqual({
    'knot.conf': `server:\n    listen: ::1\ninclude: "${OWN}"\ninclude: keys\ninclude: rules\ninclude: zones\n`,
    keys: '# The keys.\n',
    rules: '',
    zones: zone('[tsigil-transfer, tsigil-transfer-a]'),
  });
});
