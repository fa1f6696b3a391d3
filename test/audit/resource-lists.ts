import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readRecords } from '../../src/audit/store/read.ts';
import type { Position, RecordQuery } from '../../src/audit/trail.ts';
import { migrate } from '../../src/sql/migrate.ts';
import type { Database, Sql, SqlValue } from '../../src/sql/sql.ts';
import { addRecords, entry, seal } from '../harness/trail.ts';

const AT = '2026-11-22T10:00:00.000000';

/** More records than the service reads in one step. */
const UNSEALED = 6000;

/**
 * Defines the tests that lists of one resource's records must pass on every database. `explain` is
 * the prefix of a statement that returns the plan of a query.
 */
export function describeResourceLists(
  name: string,
  explain: string,
  open: () => Promise<Database>,
): void {
  describe(`lists of one resource's records on ${name}`, () => {
    let database: Database;
    beforeEach(async () => {
      database = await open();
      await migrate(database, AT);
    });
    afterEach(() => database.close());

    const add = (names: readonly string[]) =>
      addRecords(
        database,
        names.map((each) => entry(each, { resource_id: each.startsWith('own') ? 'own' : each })),
      );
    const others = (count: number) => Array.from({ length: count }, (_, index) => `other${index}`);

    /** Returns the names of the records of one resource, read in pages of `limit`. */
    const namesOf = async (
      first: RecordQuery['first'],
      limit: number,
      sql: Sql = database.reads,
    ): Promise<(string | null)[]> => {
      const names: (string | null)[] = [];
      for (let from: Position | undefined; ;) {
        const filters = { resource_id: 'own' };
        const { records, next } = await readRecords(sql, {
          filters,
          first,
          from,
          limit,
          maxBytes: Infinity,
        });
        names.push(...records.map((record) => record.resource_name));
        if (next === undefined) return names;
        from = next;
      }
    };

    test('lists sealed records in both orders, and unsealed records only with the newest first', async () => {
      await add(['own1', ...others(3), 'own2']);
      await seal(database);
      await add(others(2));
      await seal(database);
      await add(['own3']);
      await seal(database);
      await add(['own4', ...others(UNSEALED), 'own5', 'own6']);
      for (const limit of [1, 2, 5, 100]) {
        expect(await namesOf('oldest', limit)).toEqual(['own1', 'own2', 'own3']);
        expect(await namesOf('newest', limit)).toEqual(
          ['own1', 'own2', 'own3', 'own4', 'own5', 'own6'].toReversed(),
        );
      }
    });

    test('reads the index of sealed records by batch', async () => {
      for (let batch = 1; batch <= 5; batch += 1) {
        await add([`own${batch}`, ...others(1500)]);
        await seal(database);
      }
      const statements: (readonly [string, readonly SqlValue[]])[] = [];
      await namesOf('oldest', 100, {
        ...database.reads,
        all: (text, parameters) => {
          statements.push([text, parameters]);
          return database.reads.all(text, parameters);
        },
      });
      const lists = statements.filter(([text]) => text.includes('resource_id = ?'));
      expect(lists).toHaveLength(1);
      for (const [text, parameters] of lists) {
        const plan = await database.reads.all(explain + text, parameters, 'once');
        expect(JSON.stringify(plan)).toContain('audit_records_by_batch');
        expect(JSON.stringify(plan)).toMatch(/batch ?= ?.*resource_id ?= ?/);
      }
    });
  });
}
