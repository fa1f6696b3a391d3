import { expect, test } from 'vitest';
import { matrixOf, saysUses } from '../../../src/access/access.ts';
import { readNsdAccess } from '../../../src/brands/nsd/access.ts';
import { KeyFileError } from '../../../src/formats/reader.ts';

const SECRET = 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=';
const KEYS = `key:
  name: "K1."
  algorithm: hmac-sha256
  secret: "${SECRET}"
key: name: k2 algorithm: sha256 secret: ${SECRET}
`;
const ADDRESS = 'the list permits this key only from certain addresses';

/** Returns the lines of a matrix: grants, what is left in the configuration, and what is open. */
function linesOf(text: string): string[] {
  const configuration = readNsdAccess(KEYS + text);
  const { rows, kept, open } = matrixOf(configuration);
  return [
    ...rows.map(({ key, right, zones }) => `${key} ${right} ${zones.join()}`),
    ...kept.map(
      ({ key, zones, reason, place }) => `left: ${key} ${zones.join()} (${reason}; ${place})`,
    ),
    ...open.map(({ zones, addresses }) => `open: ${zones.join()} ${String(addresses)}`),
    ...configuration.findings.map(({ kind, place, text: said }) => `${kind} (${place}): ${said}`),
  ];
}

const left = (key: string, reason = ADDRESS) => `left: ${key} x (${reason}; nsd.conf:8)`;

test.each([
  [['0.0.0.0/0 K1.', '::/0 K1.'], ['k1 transfer x']],
  [['0.0.0.0/0 K1.'], [left('k1')]],
  [['192.0.2.1 K1.'], [left('k1')]],
  [['192.0.2.0&255.255.255.0 K1.'], [left('k1')]],
  [['192.0.2.1-192.0.2.9 K1.', '192.0.2.10-192.0.2.20 K1.'], [left('k1')]],
  [['0.0.0.0-127.255.255.255 K1.', '128.0.0.0/1 K1.', '::/0 K1.'], ['k1 transfer x']],
  // BLOCKED refuses wherever it stands.
  [['0.0.0.0/0 K1.', '::/0 K1.', '192.0.2.1 BLOCKED'], [left('k1')]],
  [['0.0.0.0/0 BLOCKED', '::/0 BLOCKED', '0.0.0.0/0 K1.', '::/0 K1.'], []],
  // NOKEY permits only unsigned requests.
  [['0.0.0.0/0 NOKEY', '::/0 NOKEY'], ['open: x everyone']],
  [
    ['0.0.0.0/0 K1.', '::/0 K1.', '192.0.2.0/24 NOKEY'],
    ['k1 transfer x', 'open: x 192.0.2.0/24'],
  ],
  [
    ['0.0.0.0/0@53 K1.', '0.0.0.0/0 K1.', '::/0 K1.', '0.0.0.0/0 k2', '::/0 k2'],
    ['k2 transfer x', left('k1', 'a line for this key has a port')],
  ],
  [['0.0.0.0/0 K1. t', '::/0 K1.'], [left('k1', 'a line for this key has a TLS authentication')]],
  [['192.0.2.1&255.0.0.255 K1.'], [left('k1', 'a line for this key has a mask with gaps')]],
  [['2001:db8:: k3'], ["undefined_key (nsd.conf:8): the key 'k3' is defined nowhere"]],
])('%j', (lines, expected) => {
  const zone = lines.map((line) => `provide-xfr: ${line}\n`).join('');
  expect(linesOf(`zone: name: X. zonefile: x\n\n${zone}`)).toEqual(expected);
});

test('compares the names of keys with their case and final dot, as NSD does in its file', () => {
  expect(linesOf('zone: name: x\n provide-xfr: 192.0.2.1 k1\n')).toContain(
    "undefined_key (nsd.conf:7): the key 'k1' is defined nowhere",
  );
});

test.each([
  ['do-ip6: no', ['k1 transfer x']],
  ['ip-address: 192.0.2.1@53\n  ip-address: 192.0.2.2', ['k1 transfer x']],
  ['ip-address: 192.0.2.1\n  ip-address: 2001:db8::1', 1],
  ['ip-address: eth0', 1],
])('every IPv4 address is every address if the server has `%s`', (server, expected) => {
  const lines = linesOf(
    `server:\n  ${server}\nzone:\n  name: x\n  zonefile: x\n  provide-xfr: 0.0.0.0/0 K1.\n`,
  );
  if (typeof expected === 'number') expect(lines).toEqual([expect.stringContaining(ADDRESS)]);
  else expect(lines).toEqual(expected);
});

test.each([
  ['tls-auth-xfr-only: yes', 'left'],
  ['tls-auth-xfr-only: "yes"', 'left'],
  ['tls-auth-port: 854\n  tls-auth-xfr-only: YES', 'left'],
  ['tls-auth-port: 854', 'granted'],
  ['tls-auth-xfr-only: no', 'granted'],
])('no grant follows if every transfer needs TLS: `%s`', (server, expected) => {
  const zone = 'zone:\n  name: x\n  provide-xfr: 0.0.0.0/0 K1.\n  provide-xfr: ::/0 K1.\n';
  const kept =
    'left: k1 x (the server permits transfers only with TLS (`tls-auth-xfr-only`); nsd.conf:';
  const wanted = expected === 'left' ? expect.stringContaining(kept) : 'k1 transfer x';
  // The section `server:` counts wherever it stands.
  expect(linesOf(`server:\n  ${server}\n${zone}`)).toEqual([wanted]);
  expect(linesOf(`${zone}server:\n  ${server}\n`)).toEqual([wanted]);
});

test.each([
  ['consumer', 1],
  ['"consumer"', 1],
  ['producer', 0],
])('warns that the members of a catalogue are not in the file: catalog: %s', (role, count) => {
  const pattern = `pattern:\n  name: members\n  catalog: ${role}\n`;
  const zone = 'zone:\n  name: cat.example\n';
  const warning =
    "catalog_zone (nsd.conf:%): the members of the catalog zone 'cat.example' are not in the configuration, so no key gets rights there";
  for (const [text, line] of [
    [`${zone}  catalog: ${role}\n`, '6'],
    [`${pattern}${zone}  include-pattern: members\n`, '9'],
  ] as const)
    expect(linesOf(text)).toEqual(count === 0 ? [] : [warning.replace('%', line)]);
});

const PATTERNS = `pattern:
  name: everyone
  provide-xfr: 0.0.0.0/0 K1.
  provide-xfr: ::/0 K1.
pattern:
  NAME: both
  include-pattern: everyone
  notify: 192.0.2.1@53 k2
`;

test('expands patterns, also in patterns, and shares equal lists', () => {
  const text = `${PATTERNS}zone:\n  name: a\n  include-pattern: both\nzone:\n  name: b\n  include-pattern: everyone\nzone:\n  name: c\n`;
  expect(linesOf(text)).toEqual(['k1 transfer a,b']);
  const { zones } = readNsdAccess(KEYS + text);
  expect(new Set(zones.map(({ lists }) => lists.transfer)).size).toBe(2);
});

test.each([
  ['in the zone', '', 'gone'],
  ['in a pattern', 'pattern:\n  name: outer\n  include-pattern: gone\n', 'outer'],
])('no grant follows from a list with a missing pattern %s', (_, pattern, included) => {
  const zone = `zone:\n  name: a\n  include-pattern: everyone\n  include-pattern: ${included}\n`;
  const later = 'pattern:\n  name: gone\n  provide-xfr: 192.0.2.1 BLOCKED\n';
  const other = 'zone:\n  name: b\n  include-pattern: everyone\n';
  expect(linesOf(`${PATTERNS}${pattern}${zone}${later}${other}`)).toEqual([
    'k1 transfer b',
    "left: k1 a (the pattern 'gone' was not read, and may refuse this key; nsd.conf:8)",
    expect.stringMatching(
      /^undefined_pattern \(nsd\.conf:\d+\): the pattern 'gone' is not defined above this line$/,
    ),
  ]);
});

test('names the requesters and the keys of NOTIFY', () => {
  const zone =
    'zone:\n  name: X\n  request-xfr: AXFR 192.0.2.1@53 K1.\n  request-xfr: 192.0.2.2 K1. tls\n  allow-notify: 192.0.2.1 NOKEY\n  allow-notify: 192.0.2.1 k2\n';
  expect(readNsdAccess(KEYS + PATTERNS + zone).references).toEqual([
    { key: 'k2', role: 'requester', place: 'nsd.conf:13' },
    ...[
      ['k1', 'requester', 16],
      ['k1', 'requester', 17],
      ['k2', 'notify', 19],
    ].map(([key, role, line]) => ({ key, role, place: `nsd.conf:${line}`, zone: 'x' })),
  ]);
});

test('an included file that cannot be read leaves all keys out', () => {
  const text = `include: /x\nzone:\n  name: x\n  provide-xfr: 0.0.0.0/0 K1.\n  provide-xfr: ::/0 K1.\n`;
  const reason = "'/x' (nsd.conf:6) could not be read, and may refuse this key";
  expect(linesOf(text)).toEqual([`left: k1 x (${reason}; nsd.conf:9)`]);
});

test('refuses an address without quoting it', () => {
  const read = () => readNsdAccess(`${KEYS}zone:\n  name: x\n  provide-xfr: 192.0.2.300 K1.\n`);
  expect(read).toThrow(KeyFileError);
  expect(read).toThrow(/^line 8: (?!.*192)/);
});

test.each([
  ['keys and comments', '# no more\n', false],
  ['an included file of keys', 'include: more.conf\n', false],
  ['a server, and a pattern', `server:\n${PATTERNS}`, true],
  ['files that are missing', 'include: zones.d/*.conf\n', true],
])('says where its keys are used, unless it contains only keys: %s', (_, text, expected) => {
  const files: Record<string, string> = {
    'more.conf': `key: name: k3 secret: ${SECRET}\n`,
    'server.conf': 'server:\n',
  };
  const configuration = readNsdAccess(KEYS + text, ({ pattern }) => {
    const found = files[pattern];
    return found === undefined ? [] : [{ path: pattern, text: found }];
  });
  expect(saysUses(configuration)).toBe(expected);
});

test.each([
  ['a misspelt section', 'server:\nzones:\n  name: x\n', 7, "unknown attribute 'zones:'"],
  ['a misspelt line', 'zone:\n  name: x\n  provid-xfr: ::/0 k2\n', 8, 'unknown attribute'],
  ['a misspelt refusal', 'zone:\n  name: x\n  provide-xfr: ::/0 BLOKED\n', 8, '`BLOCKED`'],
  ['a line without a key', 'zone:\n  name: x\n  provide-xfr: ::/0\n', 8, 'lacks the name of a key'],
  ['a zone without name', 'zone:\n  zonefile: x\n', 6, 'has no name'],
  ['a line without blank', 'zone:\n  name: x\n  provide-xfr:::/0 k2\n', 8, 'is missing'],
  ['a section without colon', 'zone:\n  name: x\nzone\n  name: y\n', 8, 'is missing'],
  ['a zone twice', 'zone:\n  name: x\nzone:\n  name: X.\n', 8, '`zone:` with this name'],
  ['a switch', 'server:\n  tls-auth-xfr-only: on\n', 7, 'must be yes or no'],
])('a file is refused that NSD refuses, too: %s', (_, text, line, problem) => {
  const read = () => readNsdAccess(KEYS + text);
  expect(read).toThrow(`line ${line}: `);
  expect(read).toThrow(problem);
});

test('what stands before the first section is refused', () => {
  expect(() => readNsdAccess(`zones:\n  name: x\n${KEYS}`)).toThrow('line 1: ');
});

test('what NSD accepts is no misspelling', () => {
  const text = `key: name: nokey secret: ${SECRET}
verify: verifier: command zone pattern verify-zones: yes
server: zonesdir: "zone" do-ip4: yes do-ip6: no ip-address: 192.0.2.1 servers="1" port: 53
zone: name: x zonefile: zone:x provide-xfr: ::/0 nokey verify-zone: no
zone: name: y zonefile: "x" zonestats: "zone"
`;
  expect(() => readNsdAccess(KEYS + text)).not.toThrow();
});

test('names of keys may have escapes', () => {
  const key = `key: name: "\\1073." secret: ${SECRET}\n`;
  const lines = ['0.0.0.0/0', '::/0'].map((each) => `  provide-xfr: ${each} "\\1073."\n`).join('');
  expect(linesOf(`${key}zone:\n  name: "\\120"\n${lines}`)).toEqual(['k3 transfer x']);
});
