import { expect, test } from 'vitest';
import { KeyFileError } from '../../../src/formats/reader.ts';
import { rewriteNsd } from '../../../src/brands/nsd/rewrite.ts';
import { nsd } from '../../harness/brands/nsd.ts';
import { OWN, rewritten } from '../../harness/rewrites.ts';
import { SECRET } from '../../harness/samples.ts';

const keyOf = (name: string) => ({ name, algorithm: 'hmac-sha256', secret: SECRET });
const keyText = (name: string) =>
  `key:\n    name: "${name}"\n    algorithm: hmac-sha256\n    secret: "${SECRET}"\n`;

/** Returns the files that change when the keys move with transfers such as `k1 a b`: of a and b. */
const moved = (
  files: string | Readonly<Record<string, string>>,
  keys: readonly string[],
  ...transfers: readonly string[]
) => {
  const rows = transfers.map((each) => {
    const [key = '', ...zones] = each.split(' ');
    return { key, right: 'transfer', zones } as const;
  });
  const changed = rewritten(
    nsd,
    rewriteNsd,
    typeof files === 'string' ? { 'nsd.conf': files } : files,
    { keys: keys.map(keyOf), rows },
  );
  return typeof files === 'string' ? changed['nsd.conf'] : changed;
};

const give = (key: string, indentation = '    ') =>
  `${indentation}provide-xfr: 0.0.0.0/0 ${key}\n${indentation}provide-xfr: ::/0 ${key} # all\n`;
const include = (zone: string, indentation = '    ') =>
  `${indentation}include-pattern: "tsigil-transfer"\n${indentation}include-pattern: "tsigil-transfer-${zone}"\n`;

test('takes keys and lines away, and keeps what grants cannot say, with its comments', () => {
  expect(
    moved(
      `# Our server.
server:
    ip-address: 127.0.0.1
    ip-address: ::1

${keyText('K1.')}
# Not for Tsigil.
${keyText('k2')}
zone:
  name: Example.ORG. # first
  zonefile: x
${give('K1.', '  ')}
  # from one address
  provide-xfr: 192.0.2.1 k2
  notify: 192.0.2.1 K1.
zone: name: b zonefile: b provide-xfr: 0.0.0.0/0 K1. provide-xfr: ::/0 K1. notify: 192.0.2.1 k2
`,
      ['k1'],
      'k1 example.org b',
    ),
  ).toBe(`# Our server.
server:
    ip-address: 127.0.0.1
    ip-address: ::1

include: "${OWN}"

# Not for Tsigil.
${keyText('k2')}
zone:
  name: Example.ORG. # first
${include('example.org', '  ')}  zonefile: x

  # from one address
  provide-xfr: 192.0.2.1 k2
  notify: 192.0.2.1 "k1"
zone: name: b include-pattern: "tsigil-transfer" include-pattern: "tsigil-transfer-b" zonefile: b notify: 192.0.2.1 k2
`);
});

test('takes a line out of a pattern, and gives it to the zones from which it does not move', () => {
  const text = (lines: string, a: string, b: string) => `pattern:
    name: p
${lines}pattern:
    name: q
    include-pattern: p
zone:
    name: a
${a}    include-pattern: q
zone:
    name: b
${b}    include-pattern: p
    provide-xfr: 192.0.2.1 BLOCKED
`;
  expect(moved(keyText('K1') + text(give('K1'), '', ''), ['k1'], 'k1 a')).toBe(
    `include: "${OWN}"\n${text('', include('a'), '    provide-xfr: 0.0.0.0/0 "k1"\n    provide-xfr: ::/0 "k1"\n')}`,
  );
});

test('leaves a pattern that no zone of the file uses, because other zones may use it', () => {
  const pattern = `pattern:\n    name: p\n${give('k1')}`;
  const zone = (lines: string) => `zone:\n    name: a\n${lines}`;
  expect(moved(keyText('k1') + pattern + zone(give('k1')), ['k1'], 'k1 a')).toBe(
    `include: "${OWN}"\n${pattern}${zone(include('a'))}`,
  );
});

test('edits included files, and includes its own at the top', () => {
  const zones = (...lines: string[]) =>
    ['a', 'b']
      .map((zone, index) => `zone:\n    name: ${zone}\n${lines[index] ?? ''}    include: lines\n`)
      .join('');
  expect(
    moved(
      {
        'nsd.conf': '# Our server.\nserver:\n    ip-address: ::1\ninclude: keys\ninclude: zones\n',
        keys: keyText('k1'),
        zones: zones(),
        lines: give('k1'),
      },
      ['k1'],
      'k1 a b',
    ),
  ).toEqual({
    'nsd.conf': `# Our server.\ninclude: "${OWN}"\nserver:\n    ip-address: ::1\ninclude: keys\ninclude: zones\n`,
    keys: '',
    zones: zones(include('a'), include('b')),
    lines: '',
  });
});

test('names the place of a key that is in two files', () => {
  const text = `zone:\n    name: a\nkey:\n    name: k1\n    algorithm: hmac-sha256\n    include: secret\n`;
  const files = { 'nsd.conf': text, secret: `secret: "${SECRET}"\n` };
  expect(() => moved(files, ['k1'])).toThrow(
    new KeyFileError('nsd.conf:3', 'what begins here ends in another file; write it in one file'),
  );
});
