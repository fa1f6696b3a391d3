import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type PageQuery, keyed } from '../../src/core/query.ts';
import { DEFAULT_POOL_ID } from '../../src/resources/pool.ts';
import { tld } from '../../src/resources/tld.ts';
import { zone } from '../../src/resources/zone.ts';
import { migrate } from '../../src/sql/migrate.ts';
import { readPage } from '../../src/sql/reader.ts';
import { tablesIn } from '../../src/sql/table.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { rowsOf, scanOn } from '../../src/sql/sqlite/scans/scan.ts';
import { createStore } from '../../src/database/store.ts';
import { temporaryFolder } from '../harness/service.ts';
import { NOW, sampleOf, keyedRows } from './samples.ts';

async function open() {
  const folder = temporaryFolder();
  const path = join(folder, 'tsigil.db');
  const database = await openSqlite(path, { committed: () => undefined });
  await migrate(database, NOW);
  const store = createStore(database);
  onTestFinished(() => store.close());
  return { path, database, store };
}

test('a page omits a resource that moves to a later page during the scan, and does not replace the resource', async () => {
  const { path, store } = await open();
  const entries = Array.from({ length: 300 }, (_, index) =>
    sampleOf(tld, {
      name: `n${index}`,
      updated_at: `2026-01-02T03:04:05.${String(index).padStart(6, '0')}`,
    }),
  );
  await store.write((writer) => writer.putAll(tld, keyedRows(tld, entries)));
  const connection = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => connection.close());
  const query: PageQuery = {
    limit: 100,
    sortField: 'updated_at',
    descending: false,
    conditions: [{ field: 'name', test: 'matches', value: 'n*' }],
    count: true,
  };
  let isMoved = false;
  const moved = keyed(tld, {
    ...(entries[50] ?? sampleOf(tld)),
    updated_at: '2030-01-01T00:00:00.000000',
  });
  const { columns, texts, more, total } = await scanOn(connection, path)(tld, query, async () => {
    if (isMoved) return;
    isMoved = true;
    await store.write((writer) => writer.replace(tld, moved));
  });
  const names = texts.flatMap((text) => rowsOf(columns, text).map(({ name }) => name));
  expect(isMoved).toBe(true);
  expect([more, total]).toEqual([true, 300]);
  const stayed = entries.slice(0, 100).filter((_, index) => index !== 50);
  expect(names).toEqual(stayed.map(({ name }) => name));
});

test('a page of large resources contains at most 32 resources more than its maximum length allows', async () => {
  const { database, store } = await open();
  const attributes = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`a${index}`, 'x'.repeat(200)]),
  );
  const zones = Array.from({ length: 260 }, (_, index) =>
    sampleOf(zone, { name: `n${index}.org.`, pool_id: DEFAULT_POOL_ID, attributes }),
  );
  await store.write((writer) => writer.putAll(zone, keyedRows(zone, zones)));
  const query: PageQuery = {
    limit: 1000,
    sortField: 'id',
    descending: false,
    conditions: [],
    maxBytes: 1_048_576,
  };
  const { resources, more } = await readPage(
    database.reads,
    tablesIn(database.dialect)(zone),
    query,
  );
  expect(more).toBe(true);
  const bytes = (count: number) => Buffer.byteLength(JSON.stringify(resources.slice(0, count)));
  expect(bytes(resources.length)).toBeGreaterThan(1_048_576);
  expect(bytes(resources.length - 32)).toBeLessThan(1_048_576);
});
