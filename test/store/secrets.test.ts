import { describe, expect, test } from 'vitest';
import { text } from '../../src/domain/model/field.ts';
import { defineResource } from '../../src/domain/model/resource.ts';
import { STORED_TYPES } from '../../src/domain/resources/resources.ts';
import { migrate } from '../../src/store/migrate.ts';
import { SECRET_PLACES } from '../../src/store/secrets/re-encrypt.ts';
import { tableOf } from '../../src/store/sql/table.ts';
import { dialect } from '../../src/store/sqlite/connection/dialect.ts';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import { temporaryFolder } from '../harness/service.ts';
import { NOW } from './samples.ts';

describe('a field with a secret', () => {
  test('has a column for its data key, with a foreign key and an index', async () => {
    const folder = temporaryFolder();
    const database = await openSqlite(`${folder}/tsigil.db`, { committed: () => undefined });
    await migrate(database, NOW);
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
    for (const { table, keyColumn } of SECRET_PLACES) {
      const definition = await database.reads.all(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?",
        [table],
      );
      expect(definition[0]?.sql).toContain(`${keyColumn} INTEGER REFERENCES data_keys (number)`);
      const indexes = await database.reads.all(
        "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?",
        [table],
      );
      expect(indexes.some(({ sql }) => String(sql).includes(`(${keyColumn}, id)`))).toBe(true);
    }
    await database.close();
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
