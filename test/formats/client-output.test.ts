import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detectFileFormat } from '../../src/keys/commands/key-file.ts';
import { CLIENT_FORMATS } from '../../src/formats/read-client-output.ts';
import { KeyFileError, type Entry } from '../../src/formats/reader.ts';
import { randomCases, sized } from '../harness/sizes.ts';

const SECRET = '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=';
const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const ZONE = 'a86dba58-0043-4cc6-a1bb-69d5e86f3ca3';

type Row = Readonly<Record<string, string | undefined>>;

const row = (members: Row = {}): Row => ({
  id: '5d0e6b1e-2a55-4f0b-9a3c-0e9d4b3f7c11',
  name: 'one.example.',
  algorithm: 'hmac-sha256',
  secret: SECRET,
  scope: 'POOL',
  resource_id: POOL,
  ...members,
});

/** Writes rows as JSON, or as CSV with the columns of the first row. */
const WRITERS: Readonly<Record<keyof typeof CLIENT_FORMATS, (rows: readonly Row[]) => string>> = {
  json: (rows) => JSON.stringify(rows, null, 2),
  csv(rows) {
    const columns = Object.keys(rows[0] ?? {});
    const cells = rows.map((each) => columns.map((name) => each[name] ?? ''));
    return [columns, ...cells].map((line) => `${line.join(',')}\r\n`).join('');
  },
};
const problemOf = (entry: Entry | undefined) =>
  entry !== undefined && 'problem' in entry ? entry.problem : undefined;

describe.each(['json', 'csv'] as const)('%s', (format) => {
  const { read } = CLIENT_FORMATS[format];
  const readRows = (...rows: readonly Row[]) => read(WRITERS[format](rows));

  test('reads keys, each with its scope and its line', () => {
    const rows = [row(), row({ name: 'two', scope: 'ZONE', resource_id: ZONE.toUpperCase() })];
    expect(readRows(...rows)).toEqual([
      {
        line: 2,
        key: { name: 'one.example.', algorithm: 'hmac-sha256', secret: SECRET },
        appliesTo: { scope: 'POOL', resourceId: POOL },
      },
      {
        line: format === 'csv' ? 3 : 10,
        key: { name: 'two', algorithm: 'hmac-sha256', secret: SECRET },
        appliesTo: { scope: 'ZONE', resourceId: ZONE },
      },
    ]);
  });

  test('is detected with the columns in any order, and further ones', () => {
    const { name, ...others } = row({ created_at: '2026-01-31T12:00:00.000000' });
    const text = WRITERS[format]([{ ...others, name }]);
    for (const each of [text, `\uFEFF${text}`]) {
      expect(detectFileFormat(each)).toBe(format);
      expect(read(each)).toMatchObject([{ appliesTo: { scope: 'POOL', resourceId: POOL } }]);
    }
  });

  test.each(['', '(hidden)', 'None', undefined])('refuses a row with the secret %j', (secret) => {
    expect(problemOf(readRows(row({ secret }))[0])).toBe(
      'one.example.: the row has no secret; list the keys with a token that may see secrets',
    );
  });

  test.each([
    { scope: undefined },
    { scope: 'pool' },
    { scope: 'ALL' },
    { resource_id: undefined },
    { resource_id: 'default' },
  ])('refuses a row with %j, whose scope would be a guess', (members) => {
    expect(problemOf(readRows(row(members))[0])).toBe(
      'one.example.: the row needs a scope, POOL or ZONE, and the id of its pool or zone',
    );
  });

  test.each([
    [{ name: undefined }, 'the key has no name'],
    [{ algorithm: undefined }, 'one.example.: the key has no algorithm'],
    [{ name: 'bad name' }, 'the name must be a domain name'],
    [{ secret: 'not base64' }, 'the secret must be base64'],
    [{ algorithm: 'hmac-sha9' }, "not 'hmac-sha9'"],
  ])('refuses a row with %j', (members, problem) => {
    expect(problemOf(readRows(row(members))[0])).toContain(problem);
  });

  test('reads arbitrary text as keys or problems, or throws KeyFileError without quoting the text', () => {
    const pieces = fc.constantFrom(
      ...'[]{}",:\n\r\\\''.split(''),
      '"tsigkeys"',
      '"secret":"TOPSECRET"',
      'name,algorithm,secret,scope,resource_id\n',
      'a,hmac-sha256,TOPSECRET,ZONE,',
      POOL,
      'null',
      '\uFEFF',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.array(pieces, { maxLength: 40 }).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(texts, (arbitrary) => {
        detectFileFormat(arbitrary);
        try {
          for (const entry of read(arbitrary)) expect('key' in entry).toBe('appliesTo' in entry);
        } catch (error) {
          expect(error).toBeInstanceOf(KeyFileError);
          expect((error as Error).message).not.toMatch(/TOPSECRET/);
        }
      }),
      { numRuns: randomCases(1000) },
    );
  });

  test('reads or refuses a text of 250 kB or more, for which quadratic work would take minutes', () => {
    for (const piece of ['"', '[', '{}', '\n', ',', 'name,algorithm,scope,', '"name"\n', '\\"']) {
      const text = piece.repeat(sized(250_000, 500_000) / piece.length);
      detectFileFormat(text);
      try {
        read(text);
      } catch (error) {
        expect(error).toBeInstanceOf(KeyFileError);
      }
    }
  });
});

test('csv refuses a row with more or fewer fields than the header, and an open quotation mark', () => {
  const header = 'name,algorithm,secret,scope,resource_id\n';
  const problems = CLIENT_FORMATS.csv.read(`${header}a,b\n\nb,"c\n`).map(problemOf);
  expect(problems).toEqual([
    'the line has 2 fields instead of 5',
    'the closing quotation mark is missing',
  ]);
});

test('csv reads a secret that begins with a character of formulas', () => {
  const secret = '+/+/c2VjcmV0c2VjcmV0';
  const text = WRITERS.csv([row({ secret: `'${secret}` })]);
  expect(CLIENT_FORMATS.csv.read(text)).toMatchObject([{ key: { secret } }]);
});

test('json reads a response of the API, and refuses what is no list of keys', () => {
  const text = JSON.stringify({ tsigkeys: [row()], links: {} }, null, 2);
  expect(CLIENT_FORMATS.json.read(text)).toMatchObject([{ line: 3, key: { secret: SECRET } }]);
  for (const other of ['{}', '{"tlds": []}', '[', '7'])
    expect(() => CLIENT_FORMATS.json.read(other)).toThrow(KeyFileError);
});
