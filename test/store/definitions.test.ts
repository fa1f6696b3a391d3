import { describe, expect, test } from 'vitest';
import { columnsOf } from '../../src/cli/flags/resource-command.ts';
import { integer, text } from '../../src/domain/model/field.ts';
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
