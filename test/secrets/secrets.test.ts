import { describe, expect, test } from 'vitest';
import { text } from '../../src/core/field.ts';
import { defineResource } from '../../src/core/resource.ts';
import { STORED_TYPES } from '../../src/resources/resources.ts';
import { SECRET_PLACES } from '../../src/secrets/store/re-encrypt.ts';
import { tableOf } from '../../src/sql/table.ts';
import { dialect } from '../../src/sql/sqlite/connection/dialect.ts';

describe('a field with a secret', () => {
  test('is encrypted again with each new data key', () => {
    expect(SECRET_PLACES).toMatchObject(
      STORED_TYPES.flatMap((type) =>
        Object.entries(type.fields).flatMap(([column, field]) =>
          field.secret === true
            ? [{ table: type.collection, column, keyColumn: `${column}_key` }]
            : [],
        ),
      ),
    );
    expect(SECRET_PLACES.length).toBeGreaterThan(0);
  });

  test.each([
    { filters: { secret: 'exact' as const } },
    { filters: {}, sortKeys: { secret: 'secret' } },
    { filters: {}, lookups: { secret: { field: 'secret' as const } } },
    { filters: {}, unique: { field: 'secret' as const, comparisonForm: (value: string) => value } },
  ])('cannot be a filter, a sort key or a lookup: %j', (compared) => {
    const hook = defineResource({
      collection: 'hooks',
      noun: 'hook',
      title: 'Hook',
      words: { one: 'Hook', many: 'Hooks' },
      description: 'A hook.',
      operations: ['list'],
      fields: {
        secret: {
          ...text({ min: 1, max: 50 }),
          description: 'A secret.',
          example: 'x',
          onCreate: 'required',
          secret: true,
        },
      },
      ...compared,
    });
    expect(() => tableOf(hook, dialect)).toThrow("The secret 'secret' of hooks cannot be a filter");
  });
});
