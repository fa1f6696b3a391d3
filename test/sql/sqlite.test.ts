import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/sql/migrate.ts';
import type { Database } from '../../src/sql/sql.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { canMount, mountMemory, type SmallFileSystem } from '../harness/file-systems.ts';
import { temporaryFolder } from '../harness/service.ts';
import { storeContract } from './contract.ts';

const observer = { committed: () => undefined };

storeContract('SQLite', async () => {
  const folder = temporaryFolder();
  const database = await openSqlite(join(folder, 'contract.db'), observer);
  return { database, remove: async () => rmSync(folder, { recursive: true, force: true }) };
});

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, 'new/folder/tsigil.db');
});

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openSqlite(path, observer);
  try {
    await migrate(database, 'now');
    return await work(database);
  } finally {
    await database.close();
  }
}

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe('opening a SQLite file', () => {
  test('uses a WAL, and each commit waits for the disk', async () => {
    await withDatabase(async (database) => {
      const pragma = (name: string) =>
        database.write(
          async (sql) => Object.values((await sql.all(`PRAGMA ${name}`, []))[0] ?? {})[0],
        );
      expect(await pragma('journal_mode')).toBe('wal');
      expect(await pragma('synchronous')).toBe(2); // FULL
      // A wait inside SQLite would block the event loop.
      expect(await pragma('busy_timeout')).toBe(0);
      expect(await pragma('foreign_keys')).toBe(1);
    });
  });

  test('opens a read connection that cannot write', async () => {
    await withDatabase((database) =>
      expect(database.reads.run('DELETE FROM tlds', [])).rejects.toMatchObject({
        code: 'unavailable',
      }),
    );
  });

  test('creates files with mode 0600 and folders with mode 0700', async () => {
    await withDatabase(async () => {
      const files = readdirSync(join(folder, 'new/folder'));
      expect(files.toSorted()).toEqual([
        'tsigil.db',
        'tsigil.db-lock',
        'tsigil.db-lock-journal',
        'tsigil.db-shm',
        'tsigil.db-wal',
      ]);
      for (const file of files)
        expect([file, modeOf(join(folder, 'new/folder', file))]).toEqual([file, '600']);
      expect(modeOf(join(folder, 'new'))).toBe('700');
    });
  });

  test('removes the permissions of other users from an existing file, and does not make a read-only file writable', async () => {
    mkdirSync(join(folder, 'new/folder'), { recursive: true });
    writeFileSync(path, '');
    chmodSync(path, 0o444);
    await openSqlite(path, observer).then(
      (database) => database.close(),
      () => undefined, // only root can write to the file
    );
    expect(modeOf(path)).toBe('400');
  });

  test('a close checkpoints the WAL, so that the database file alone is complete', async () => {
    await withDatabase((database) =>
      database.write((sql) => sql.run(`INSERT INTO schema_migrations VALUES (0, 'x')`, [])),
    );
    const log = `${path}-wal`;
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
    const alone = join(folder, 'alone.db');
    copyFileSync(path, alone);
    path = alone;
    expect(
      await withDatabase((database) =>
        database.reads.all('SELECT min(number) AS least FROM schema_migrations', []),
      ),
    ).toEqual([{ least: 0 }]);
  });
});

describe.skipIf(!canMount((parent) => mountMemory(parent, '1m'), 'A tmpfs'))(
  'WAL on a small disk',
  () => {
    let disk: SmallFileSystem | undefined;
    afterEach(() => disk?.remove());

    test.each([
      ['a database on a disk that is small from the beginning', '10m', 0],
      ['a database on a disk that other files fill later', '160m', 150 * 2 ** 20],
    ])('checkpoints %s before the WAL fills the disk', async (_what, size, others) => {
      disk = mountMemory(folder, size);
      const location = join(disk?.folder ?? '', 'small.db');
      const database = await openSqlite(location, observer);
      const put = (id: number, text: string) =>
        database.write((sql) =>
          sql.run(
            'INSERT INTO texts VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text',
            [id, text],
          ),
        );
      await database.migrate(async (sql) => {
        await sql.run('CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL)', []);
      });
      await put(0, 'first');
      writeFileSync(join(disk?.folder ?? '', 'others'), Buffer.alloc(others));
      for (let change = 0; change < 4000; change += 1)
        await put(change % 200, String(change).padEnd(3000));
      await database.close();
      expect(statSync(location).size).toBeLessThan(2 ** 20);
    });
  },
);
