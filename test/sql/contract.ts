import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { uniqueOf, type Resource } from '../../src/core/resource.ts';
import { RESOURCE_TYPES } from '../../src/resources/resources.ts';
import { tld } from '../../src/resources/tld.ts';
import { token } from '../../src/resources/token.ts';
import { tsigkey } from '../../src/resources/tsigkey.ts';
import { zone } from '../../src/resources/zone.ts';
import { migrate, MIGRATIONS, schemaOf } from '../../src/sql/migrate.ts';
import type { Database } from '../../src/sql/sql.ts';
import { createStore } from '../../src/database/store.ts';
import {
  another,
  everything,
  insert,
  MADE_HERE,
  NOW,
  sampleOf,
  tldNamed,
  keyedRows,
} from './samples.ts';
import { keyed } from '../../src/core/query.ts';

/** A new, empty database for one test. */
export interface TestDatabase {
  readonly database: Database;
  /** Removes the files of the closed database. */
  remove(): Promise<void>;
}

/**
 * Defines the tests of a store that must pass with every database. `open` creates an empty database
 * for each test.
 */
export function storeContract(engine: string, open: () => Promise<TestDatabase>): void {
  let opened: TestDatabase;
  let store: Store;
  beforeEach(async () => {
    opened = await open();
    await migrate(opened.database, NOW);
    store = createStore(opened.database);
  });
  afterEach(async () => {
    await store.close();
    await opened.remove();
  });

  describe.each(RESOURCE_TYPES.map((type) => ({ type, collection: type.collection })))(
    `$collection on ${engine}`,
    ({ type }) => {
      test('returns an inserted row unchanged, by id and by its unique field', async () => {
        const row = sampleOf(type);
        await insert(store, type, row);
        expect(await store.get(type, row.id)).toEqual(row);
        expect(
          await store.find(type, 'name', [uniqueOf(type).comparisonForm(row.name as string)]),
        ).toEqual([row]);
        expect(await store.list(type, everything({ conditions: MADE_HERE }))).toEqual([row]);
        expect(await store.count(type, MADE_HERE)).toBe(1);
      });

      test('refuses a second row with the same unique field as a duplicate, and does not change the first row', async () => {
        const first = sampleOf(type);
        await insert(store, type, first);
        const second = another(type);
        await expect(insert(store, type, second)).rejects.toMatchObject({
          code: 'duplicate',
          type: `duplicate_${type.noun}`,
        });
        expect(await store.list(type, everything({ conditions: MADE_HERE }))).toEqual([first]);
      });

      test('replaces a row, and refuses the name of another row as a duplicate', async () => {
        const [one, two] = [sampleOf(type, { name: 'one' }), another(type, { name: 'two' })];
        await insert(store, type, one, two);
        const changed = { ...one, updated_at: NOW };
        await store.write((writer) => writer.replace(type, keyed(type, changed)));
        await expect(
          store.write((writer) => writer.replace(type, keyed(type, { ...one, name: 'two' }))),
        ).rejects.toMatchObject({ code: 'duplicate' });
        expect(await store.get(type, one.id)).toEqual(changed);
        expect(await store.get(type, two.id)).toEqual(two);
      });

      test('removes a row so that its name is free again, and reports that a second removal found no row', async () => {
        const row = sampleOf(type);
        await insert(store, type, row);
        expect(await store.write((writer) => writer.remove(type, row.id))).toBe(true);
        expect(await store.get(type, row.id)).toBeUndefined();
        expect(await store.write((writer) => writer.remove(type, row.id))).toBe(false);
        await insert(store, type, sampleOf(type));
        expect(await store.count(type, MADE_HERE)).toBe(1);
      });

      test('inserts, replaces and removes many rows in one call, or changes nothing if one row is a duplicate', async () => {
        // More rows than one statement can contain, and not a multiple of this number.
        const numbered = (index: number, name = `name-${index}`) =>
          another(type, {
            name,
            ...(type === token ? { hash: String(index).padStart(64, '0') } : {}),
          });
        const rows = Array.from({ length: 600 }, (_, index) => numbered(index));
        await store.write((writer) => writer.putAll(type, keyedRows(type, rows)));
        const ids = rows.map(({ id }) => id);
        const found = () =>
          store.find(type, 'id', ids).then((kept) => new Map(kept.map((row) => [row.id, row])));
        expect(await found()).toEqual(new Map(rows.map((row) => [row.id, row])));

        const changed = rows.slice(100, 400).map((row) => ({ ...row, updated_at: NOW }));
        const more = numbered(600);
        await store.write((writer) => writer.putAll(type, keyedRows(type, [...changed, more])));
        expect(await found()).toEqual(
          new Map([...rows, ...changed].map((row: Resource) => [row.id, row])),
        );
        expect(await store.get(type, more.id)).toEqual(more);

        const good = numbered(601);
        const bad = numbered(602, 'name-599');
        await expect(
          store.write((writer) => writer.putAll(type, keyedRows(type, [good, ...changed, bad]))),
        ).rejects.toMatchObject({ code: 'duplicate' });
        expect(await store.get(type, good.id)).toBeUndefined();

        await store.write((writer) => writer.removeAll(type, ids.slice(1)));
        expect([...(await found()).keys()]).toEqual(ids.slice(0, 1));
        await store.write(async (writer) => {
          await writer.putAll(type, []);
          await writer.removeAll(type, []);
        });
        expect(await store.count(type, MADE_HERE)).toBe(2);
      });
    },
  );

  test(`rights of keys in zones go with the key and with the zone on ${engine}`, async () => {
    const keys = [sampleOf(tsigkey, { name: 'one' }), another(tsigkey, { name: 'two' })] as const;
    const zones = Array.from({ length: 600 }, (_, index) =>
      another(zone, { name: `zone-${index}.example.` }),
    );
    await insert(store, tsigkey, ...keys);
    await store.write((writer) => writer.putAll(zone, keyedRows(zone, zones)));
    const rights = new Map(zones.map(({ id }) => [id, 'transfer update']));
    for (const { id } of keys) {
      await store.write((writer) => writer.setZoneRights(id, rights));
      expect(await store.zoneRights(id)).toEqual(rights);
    }
    const [gone, ...others] = zones.map(({ id }) => id);
    await store.write((writer) => writer.remove(zone, gone ?? ''));
    rights.delete(gone ?? '');
    for (const { id } of keys) expect(await store.zoneRights(id)).toEqual(rights);
    await store.write((writer) => writer.remove(tsigkey, keys[0].id));
    expect(await store.zoneRights(keys[0].id)).toEqual(new Map());
    await store.write((writer) => writer.removeAll(zone, others));
    expect(await store.zoneRights(keys[1].id)).toEqual(new Map());
    await store.write((writer) => writer.putAll(zone, keyedRows(zone, zones)));
    expect(await store.zoneRights(keys[1].id)).toEqual(new Map());
  });

  describe(`comparison forms on ${engine}`, () => {
    test('compares names of tokens exactly', async () => {
      await insert(store, token, sampleOf(token, { name: 'ci' }), another(token, { name: 'CI' }));
      expect(await store.count(token, [])).toBe(2);
    });
  });

  transactionContract(engine, () => store);

  describe(`migrations on ${engine}`, () => {
    test('change nothing when they run again', async () => {
      await insert(store, tld, tldNamed('com'));
      await migrate(opened.database, '2027-01-01T00:00:00.000000');
      const applied = await opened.database.reads.all(
        'SELECT number, applied_at FROM schema_migrations ORDER BY number',
        [],
      );
      expect(applied).toEqual(MIGRATIONS.map(({ number }) => ({ number, applied_at: NOW })));
      expect(await store.count(tld, [])).toBe(1);
    });

    const first = MIGRATIONS[0]?.number ?? 0;

    test('are numbered without gaps', () => {
      expect(MIGRATIONS.map(({ number }) => number)).toEqual(
        MIGRATIONS.map((_, index) => index + first),
      );
    });

    test('refuse a database of a development version, and change nothing', async () => {
      await opened.database.write((sql) =>
        sql.run('UPDATE schema_migrations SET number = number - ?', [MIGRATIONS.length]),
      );
      await expect(migrate(opened.database, NOW)).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(
          `made by a development version (schema ${first - 1})`,
        ) as string,
      });
      const { dialect, reads } = opened.database;
      expect(await schemaOf({ dialect, reads })).toBe(first - 1);
    });

    test('refuse a database that a newer version has used', async () => {
      const newer = (MIGRATIONS.at(-1)?.number ?? 0) + 1;
      await opened.database.write((sql) =>
        sql.run('INSERT INTO schema_migrations (number, applied_at) VALUES (?, ?)', [newer, NOW]),
      );
      await expect(migrate(opened.database, NOW)).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(`schema ${newer}.*Start the newer version`) as string,
      });
    });
  });
}

function transactionContract(engine: string, current: () => Store): void {
  describe(`transactions on ${engine}`, () => {
    test('roll back a write that fails after a part of its changes', async () => {
      const store = current();
      const failing = store.write(async (writer) => {
        await writer.insert(tld, keyed(tld, tldNamed('com')));
        throw new Error('changed my mind');
      });
      await expect(failing).rejects.toThrow('changed my mind');
      expect(await store.count(tld, [])).toBe(0);
    });

    test('show a writer its own changes, and readers only committed changes', async () => {
      const store = current();
      const row = tldNamed('com');
      await store.write(async (writer) => {
        await writer.insert(tld, keyed(tld, row));
        expect(await writer.get(tld, row.id)).toEqual(row);
        expect(await store.get(tld, row.id)).toBeUndefined();
      });
      expect(await store.get(tld, row.id)).toEqual(row);
    });

    test('finish before the store closes, and fail if they begin later', async () => {
      const store = current();
      const outcomes = Array.from({ length: 20 }, (_, index) =>
        insert(store, tld, tldNamed(`n${index}`)),
      );
      const closed = store.close();
      await expect(insert(store, tld, tldNamed('late'))).rejects.toMatchObject({
        code: 'unavailable',
      });
      await Promise.all([closed, ...outcomes]);
    });
  });
}
