import { describe, expect, test } from 'vitest';
import { columnsOf } from '../../src/cli/flags/resource-table.ts';
import { integer, text, uuid } from '../../src/domain/model/field.ts';
import {
  defineResource,
  newMembers,
  sortFields,
  uniqueOf,
} from '../../src/domain/model/resource.ts';
import { readListRequest } from '../../src/domain/operations/list-query.ts';
import { resourceSchemas } from '../../src/http/openapi/schemas.ts';
import { listParameters } from '../../src/http/openapi/parameters.ts';
import { isLookup } from '../../src/store/sql/indexes.ts';
import { tableOf } from '../../src/store/sql/table.ts';
import { dialect } from '../../src/store/sqlite/connection/dialect.ts';
import { keyed } from '../../src/domain/model/query.ts';

const ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const NOW = '2026-01-02T03:04:05.000006';

/** A type without a unique field, a name and updated_at. Its resources never change. */
const event = defineResource({
  collection: 'events',
  noun: 'event',
  title: 'Event',
  words: { one: 'Event', many: 'Events' },
  description: 'Something that happened.',
  operations: ['list', 'get'],
  fields: {
    kind: {
      ...text({ min: 1, max: 50 }),
      description: 'What happened.',
      example: 'started',
      onCreate: 'required',
    },
    size: {
      ...integer(0, 10),
      description: 'How much of it.',
      example: 1,
      onCreate: { default: 0 },
    },
  },
  withoutUpdatedAt: true,
  filters: { kind: 'exact', size: 'integer' },
});

/** A type whose names are unique only within a zone. */
const record = defineResource({
  collection: 'records',
  noun: 'record',
  title: 'Record',
  words: { one: 'Record', many: 'Records' },
  description: 'Data of a name.',
  operations: ['list', 'get'],
  fields: {
    zone_id: { ...uuid(), description: 'The zone.', example: ID, onCreate: 'required' },
    name: {
      ...text({ min: 1, max: 50 }),
      description: 'The name.',
      example: 'www',
      onCreate: 'required',
    },
  },
  unique: { field: 'name', per: 'zone_id', comparisonForm: (name) => name.toLowerCase() },
  lookups: {
    zone: { field: 'zone_id' },
    reversed: { valueOf: ({ name }) => Array.from(name).toReversed().join('') },
  },
  filters: { name: 'unique' },
});

describe('a type without a unique field, a name and updated_at', () => {
  const table = tableOf(event, dialect);

  test('has a table with only its fields and created_at', () => {
    expect(table.columns).toEqual(['id', 'kind', 'size', 'created_at']);
    expect(table.insert).toBe(
      'INSERT INTO events (id, kind, size, created_at) VALUES (?, ?, ?, ?)',
    );
    expect(
      table.encode(keyed(event, { ...newMembers(event, ID, NOW), kind: 'started', size: 3 })),
    ).toEqual([ID, 'started', 3, NOW]);
    expect(table.decode({ id: ID, kind: 'started', size: 3, created_at: NOW })).toEqual({
      id: ID,
      kind: 'started',
      size: 3,
      created_at: NOW,
    });
  });

  test('has only the sort keys and filters of its fields', () => {
    expect(sortFields(event)).toEqual({ created_at: 'created_at', id: 'id' });
    const request = readListRequest(event, [['kind', 'started']], 20);
    expect(table.list(request)).toMatchObject({
      text: 'SELECT id, kind, size, created_at FROM events WHERE kind = ? ORDER BY created_at ASC, id ASC LIMIT ?',
      parameters: ['started', 20],
    });
    for (const key of ['name', 'updated_at']) {
      expect(() => readListRequest(event, [['sort_key', key]], 20)).toThrow(
        'sort_key should be one of created_at, id',
      );
    }
  });

  test('can be queried only by id', () => {
    expect(table.find('id', ['x']).text).toBe(
      'SELECT id, kind, size, created_at FROM events WHERE id IN (?)',
    );
    expect(() => table.find('name', ['x'])).toThrow("The collection events has no lookup 'name'");
    expect(() => uniqueOf(event)).toThrow('The collection events has no unique field');
    expect(isLookup(event, { field: 'kind', test: '=', value: 'x' })).toBe(false);
  });

  test('has no name and no updated_at in the OpenAPI document and in responses', () => {
    expect(resourceSchemas(event).Event).toMatchObject({
      required: ['id', 'kind', 'size', 'created_at', 'links'],
    });
    expect(listParameters(event)).toContainEqual(
      expect.objectContaining({
        name: 'sort_key',
        schema: expect.objectContaining({ enum: ['created_at', 'id'] }),
      }),
    );
    expect(columnsOf(event)).toEqual(['id', 'kind', 'size', 'created_at']);
  });
});

describe('a type whose names are unique within a zone', () => {
  const table = tableOf(record, dialect);

  test('has columns for its computed values', () => {
    expect(table.insert).toBe(
      'INSERT INTO records (id, zone_id, name, created_at, updated_at, name_key, reversed_key) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    expect(
      table.encode(keyed(record, { ...newMembers(record, ID, NOW), zone_id: ID, name: 'WWW.a' })),
    ).toEqual([ID, ID, 'WWW.a', NOW, null, 'www.a', 'a.WWW']);
  });

  test('can be queried by every lookup in its definition', () => {
    const whereOf = (lookup: string) => / WHERE (.*)$/.exec(table.find(lookup, ['x']).text)?.[1];
    expect(['id', 'name', 'zone', 'reversed'].map(whereOf)).toEqual([
      'id IN (?)',
      'name_key IN (?)',
      'zone_id IN (?)',
      'reversed_key IN (?)',
    ]);
    const { conditions } = readListRequest(record, [['name', 'WWW']], 20);
    expect(conditions).toEqual([{ lookup: 'name', test: '=', value: 'www' }]);
    expect(table.count(conditions).text).toBe(
      'SELECT count(*) AS count FROM records WHERE name_key = ?',
    );
  });

  test('needs a scan for a filter by name, because any number of resources can have one name', () => {
    expect(isLookup(record, { lookup: 'name', test: '=', value: 'www' })).toBe(false);
    expect(isLookup(record, { field: 'id', test: '=', value: ID })).toBe(true);
  });
});
