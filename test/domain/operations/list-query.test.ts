import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/domain/model/errors.ts';
import { readListRequest, type Parameter } from '../../../src/domain/operations/list-query.ts';
import { tld } from '../../../src/domain/resources/tld.ts';
import { tsigkey } from '../../../src/domain/resources/tsigkey.ts';

const ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const PLAIN = {
  limit: 20,
  marker: undefined,
  sortField: 'created_at',
  descending: false,
  conditions: [],
  computed: [],
};
const read = (...parameters: Parameter[]) => readListRequest(tld, parameters, 20);
const codeOf = (...parameters: Parameter[]) => {
  try {
    return read(...parameters);
  } catch (error) {
    return error instanceof ServiceError ? error.code : error;
  }
};

test('a list request without parameters returns the first page in order of creation', () =>
  expect(read()).toEqual(PLAIN));

test.each([
  [['limit', '3'], { limit: 3 }],
  [['limit', '1000'], { limit: 1000 }],
  [['limit', '1001'], { limit: 1000 }],
  [['limit', '9223372036854775807'], { limit: 1000 }],
  [['limit', 'Max'], { limit: 1000 }],
  [['marker', ID.toUpperCase()], { marker: ID }],
  [['sort_key', 'updated_at'], { sortField: 'updated_at' }],
  [['sort_key', ''], {}],
  [['sort_dir', 'desc'], { descending: true }],
  [['sort_dir', ''], {}],
  [['name', 'CO.uk'], { conditions: [{ lookup: 'name', test: '=', value: 'co.uk' }] }],
  [['name', 'CO*'], { conditions: [{ lookup: 'name', test: 'matches', value: 'co*' }] }],
  [['description', 'A*'], { conditions: [{ field: 'description', test: 'matches', value: 'A*' }] }],
  [['description', 'A_%?'], { conditions: [{ field: 'description', test: '=', value: 'A_%?' }] }],
] as [Parameter, object][])('%j is parsed as %j', (parameter, asked) =>
  expect(read(parameter)).toEqual({ ...PLAIN, ...asked }),
);

test('filters of keys ignore case, and the name filter ignores the trailing dot', () => {
  const { conditions } = readListRequest(
    tsigkey,
    [
      ['scope', 'Pool'],
      ['algorithm', 'HMAC-*'],
      ['name', 'Key.'],
    ],
    20,
  );
  expect(conditions).toEqual([
    { field: 'scope', test: '=', value: 'POOL' },
    { field: 'algorithm', test: 'matches', value: 'hmac-*' },
    { lookup: 'name', test: '=', value: 'key' },
  ]);
});

describe('invalid parameters', () => {
  test.each([
    ['invalid_limit', [['limit', '0']]],
    ['invalid_limit', [['limit', '']]],
    ['invalid_limit', [['limit', '9223372036854775808']]],
    [
      'invalid_limit',
      [
        ['limit', '3'],
        ['limit', '3'],
      ],
    ],
    ['invalid_marker', [['marker', '']]],
    [
      'invalid_marker',
      [
        ['marker', ID],
        ['marker', ID],
      ],
    ],
    ['invalid_sort_key', [['sort_key', 'description']]],
    [
      'invalid_sort_key',
      [
        ['sort_key', 'id'],
        ['sort_key', 'id'],
      ],
    ],
    ['invalid_sort_dir', [['sort_dir', 'DESC']]],
    [
      'invalid_sort_dir',
      [
        ['sort_dir', ''],
        ['sort_dir', ''],
      ],
    ],
    ['bad_request', [['scope', 'POOL']]],
    ['bad_request', [['', '']]],
    ['bad_request', [['hasOwnProperty', 'x']]],
    [
      'bad_request',
      [
        ['name', 'a'],
        ['name', 'b'],
      ],
    ],
    ['bad_request', [['name', 'a\0']]],
    ['bad_request', [['name', '\ud800']]],
    ['bad_request', [['name', `*${'a'.repeat(1000)}`]]],
  ] as [string, Parameter[]][])('throws %s for %j', (code, parameters) =>
    expect(codeOf(...parameters)).toBe(code),
  );
});
