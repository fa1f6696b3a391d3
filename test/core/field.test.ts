import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  enumeration,
  integer,
  list,
  map,
  normaliseUuid,
  parseTimestamp,
  text,
  timestamp,
  type Kind,
} from '../../src/core/field.ts';
import {
  described,
  object,
  optional,
  responseObject,
  sequence,
  withDefault,
} from '../../src/core/object.ts';
import { randomCases } from '../harness/sizes.ts';
/** Returns the parsed value, or the code of the rule that the value breaks. */
const outcome = (kind: Kind, value: unknown) => {
  const parsed = kind.parse(value);
  return 'value' in parsed ? { value: parsed.value } : parsed.validator;
};

describe('a text field', () => {
  test('applies the same length limits as its JSON Schema', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 10 }),
        fc.nat(4),
        fc.nat(4),
        (value, min, extra) => {
          const length = Array.from(value).length;
          const accepted = 'value' in text({ min, max: min + extra }).parse(value);
          expect(accepted).toBe(length >= min && length <= min + extra);
        },
      ),
      { numRuns: randomCases(10_000) },
    );
  });
});

describe('a UUID field', () => {
  test('parses every spelling of every UUID to the canonical form', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) =>
        [id, id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`].every(
          (spelling) => normaliseUuid(spelling) === id,
        ),
      ),
    );
  });
});

describe('a timestamp field', () => {
  test.each([
    ['2030-01-31T12:00:00', '2030-01-31T12:00:00.000000'],
    ['2030-01-31 12:00:00', '2030-01-31T12:00:00.000000'],
    ['2030-01-31T12:00:00Z', '2030-01-31T12:00:00.000000'],
    ['2030-01-31T12:00:00.5', '2030-01-31T12:00:00.500000'],
    ['2030-01-31T12:00:00.123456', '2030-01-31T12:00:00.123456'],
    ['2030-01-31T12:00:00.123456+02:00', '2030-01-31T10:00:00.123456'],
    ['2030-01-01T00:30:00+01:00', '2029-12-31T23:30:00.000000'],
    ['2028-02-29T23:59:59-00:01', '2028-03-01T00:00:59.000000'],
    ['0001-01-01T00:00:00', '0001-01-01T00:00:00.000000'],
    ['9999-12-31T23:59:59.999999', '9999-12-31T23:59:59.999999'],
  ])('parses %s to %s', (given, kept) => {
    expect(parseTimestamp(given)).toBe(kept);
    expect(outcome(timestamp(), given)).toEqual({ value: kept });
  });

  test.each([
    '',
    'tomorrow',
    '2030',
    '2030-01-31',
    '2030-01-31T12:00',
    '2030-1-31T12:00:00',
    '2030-02-29T12:00:00',
    '2030-13-01T12:00:00',
    '2030-00-10T12:00:00',
    '2030-01-31T24:00:00',
    '2030-01-31T12:60:00',
    '2030-06-30T23:59:60',
    '2030-01-31T12:00:00.',
    '2030-01-31T12:00:00.1234567',
    '2030-01-31T12:00:00z',
    '2030-01-31T12:00:00+0200',
    '2030-01-31T12:00:00+25:00',
    '2030-01-31T12:00:00+02:60',
    ' 2030-01-31T12:00:00',
    '2030-01-31T12:00:00\n',
    '-2030-01-31T12:00:00',
    '9999-12-31T23:59:59-01:00',
    '0000-01-01T00:00:00+01:00',
    '٢٠٣٠-01-31T12:00:00',
  ])('refuses %j', (given) => {
    expect(parseTimestamp(given)).toBeUndefined();
    expect(outcome(timestamp(), given)).toBe('format');
  });

  test('parses every JavaScript date exactly', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
        (date) => {
          expect(parseTimestamp(date.toISOString())).toBe(`${date.toISOString().slice(0, -1)}000`);
        },
      ),
    );
  });
});

describe('a list of objects', () => {
  const servers = list(
    object({
      host: text({ min: 1, max: 10 }),
      port: integer(1, 65_535),
      protocol: enumeration(['udp', 'tcp']),
    }),
    1,
    2,
  );
  const server = { host: 'ns1', port: 53, protocol: 'udp' };

  test('names the invalid item and member', () => {
    expect(servers.parse([server, { ...server, port: 'x' }])).toMatchObject({
      problem: "item 1 must have a 'port' that must be an integer from 1 to 65535",
    });
  });
});

describe('a map', () => {
  const kind = map(enumeration(['a', 'b']), integer(1, 9), 2);

  test('names every invalid key and every key with an invalid value, and truncates long keys', () => {
    expect(kind.parse({ c: 1, a: 0 })).toMatchObject({
      problem: "key 'c' must be one of a, b; value of 'a' must be an integer from 1 to 9",
    });
    expect(kind.parse({ ['x'.repeat(1000)]: 1 })).toMatchObject({
      problem: `key '${'x'.repeat(64)}…' must be one of a, b`,
    });
  });
});

describe('an object with optional members', () => {
  const inner = object({ port: integer(1, 9) });
  const kind = object({
    host: text({ min: 1, max: 3 }),
    port: withDefault(integer(1, 9), 5),
    note: optional(integer(1, 9)),
    inner: optional(inner),
  });

  test('reports every problem with its path', () => {
    const parsed = kind.parse({
      port: 0,
      inner: { port: 'x', more: 1 },
      constructor: 1,
      [`tsigil_${'s'.repeat(40)}`]: 1,
    });
    const problems = 'problems' in parsed ? (parsed.problems ?? []) : [];
    expect(problems.map(({ path, validator }) => [...path, validator].join(' '))).toEqual([
      'port type',
      'inner port type',
      'inner more additionalProperties',
      'constructor additionalProperties',
      '(a token) additionalProperties',
      'host required',
    ]);
    expect(problems[0]?.message).toBe("'port' must be an integer from 1 to 9");
  });

  test('has a JSON Schema with the defaults and the required members', () => {
    expect(described(kind, 'A server.').schema).toMatchObject({
      required: ['host'],
      additionalProperties: false,
      properties: { port: { type: 'integer', default: 5 } },
      description: 'A server.',
    });
  });
});

test('an object in a response may have further members, and parsing removes them', () => {
  const kind = responseObject({ items: sequence(integer(1)) });
  expect(kind.parse({ items: [1, 2], more: true })).toEqual({ value: { items: [1, 2] } });
  expect(outcome(kind, { items: [0] })).toBe('type');
  expect(kind.schema).not.toHaveProperty('additionalProperties');
});
