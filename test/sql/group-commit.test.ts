import { DatabaseSync } from '@photostructure/sqlite';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/core/errors.ts';
import type { Database, Sql } from '../../src/sql/sql.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { DISK, temporaryFolder } from '../harness/service.ts';

let folder: string;
let database: Database;
let commits: number[];
let events: string[];

beforeEach(async () => {
  folder = temporaryFolder(DISK);
  commits = [];
  events = [];
  const committed = (writes: number) => {
    commits.push(writes);
    events.push('commit');
  };
  database = await openSqlite(join(folder, 'group.db'), { committed });
  await database.migrate(async (sql) => {
    await sql.run('CREATE TABLE words (word TEXT PRIMARY KEY)', []);
  });
  commits.length = 0;
  events.length = 0;
});
afterEach(() => database.close());

const add = (word: string) => (sql: Sql) => sql.run('INSERT INTO words VALUES (?)', [word]);
const words = async () =>
  (await database.reads.all('SELECT word FROM words ORDER BY word', [])).map(({ word }) => word);

describe('group commit', () => {
  test('concurrent writes share one commit', async () => {
    await Promise.all(['a', 'b', 'c', 'd'].map((word) => database.write(add(word))));
    expect(commits).toEqual([4]);
    expect(await words()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('writes that arrive during a commit share the next commit', async () => {
    const first = database.write(async (sql) => {
      later = ['b', 'c', 'd'].map((word) => database.write(add(word)));
      return add('a')(sql);
    });
    let later: Promise<number>[] = [];
    await first;
    await Promise.all(later);
    expect(commits).toEqual([1, 3]);
  });

  test('more writes than the maximum of one transaction use several transactions', async () => {
    await Promise.all(Array.from({ length: 1201 }, () => database.write(add(randomUUID()))));
    expect(commits).toEqual([500, 500, 201]);
    expect(await words()).toHaveLength(1201);
  });

  test('a write resolves only after the commit', async () => {
    const writes = ['a', 'b', 'c'].map((word) =>
      database.write(add(word)).then(() => events.push(word)),
    );
    await Promise.all(writes);
    expect(events).toEqual(['commit', 'a', 'b', 'c']);
  });

  test('a failed write is rolled back and does not affect the other writes', async () => {
    const results = await Promise.allSettled([
      database.write(add('a')),
      database.write(async (sql) => {
        await add('half done')(sql);
        throw new Error('no');
      }),
      database.write(add('a')), // a duplicate
      database.write(add('b')),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(await words()).toEqual(['a', 'b']);
    expect(commits).toEqual([4]);
  });

  test('a failed schema change is rolled back', async () => {
    const half = database.migrate(async (sql) => {
      await sql.run('CREATE TABLE half_done (word TEXT)', []);
      throw new Error('no');
    });
    await Promise.all([expect(half).rejects.toThrow('no'), database.write(add('a'))]);
    const [tables] = await database.reads.all(
      `SELECT count(*) AS count FROM sqlite_schema WHERE name = 'half_done'`,
      [],
    );
    expect(tables).toEqual({ count: 0 });
    expect(await words()).toEqual(['a']);
  });

  test('a read returns all changes that were committed before the read, and no other changes', async () => {
    await database.write(async (sql) => {
      await add('a')(sql);
      expect(await words()).toEqual([]);
    });
    expect(await words()).toEqual(['a']);
    await expect(
      database.write(async (sql) => {
        await add('b')(sql);
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await words()).toEqual(['a']);
  });

  test('the WAL is checkpointed while reads and writes alternate', async () => {
    const long = 'x'.repeat(2000);
    for (let round = 0; round < 40; round += 1) {
      await Promise.all(
        Array.from({ length: 400 }, (_, number) =>
          database.write(add(`${round}-${number}-${long}`)),
        ),
      );
      await database.reads.one('SELECT word FROM words LIMIT 1', []);
    }
    expect(statSync(join(folder, 'group.db')).size).toBeGreaterThan(20_000_000);
    expect(statSync(join(folder, 'group.db-wal')).size).toBeLessThan(40_000_000);
  });

  test('a failed write rejects only after the commit of earlier writes', async () => {
    const first = database.write(add('a'));
    const second = database.write(add('a')).catch(() => events.push('duplicate'));
    await Promise.all([first, second]);
    expect(events).toEqual(['commit', 'duplicate']);
  });

  test('a disk fault fails every write of the transaction, and the next transaction succeeds', async () => {
    const fault = new ServiceError('unavailable', 'the disk is full');
    const results = await Promise.allSettled([
      database.write(add('a')),
      database.write(() => Promise.reject(fault)),
      database.write(add('b')),
    ]);
    expect(results.map((result) => (result as PromiseRejectedResult).reason as unknown)).toEqual([
      fault,
      fault,
      fault,
    ]);
    expect(await words()).toEqual([]);
    await database.write(add('c'));
    expect(await words()).toEqual(['c']);
  });

  test('a write while 2,000 other writes wait fails at once with Retry-After, and the other writes succeed', async () => {
    const other = new DatabaseSync(join(folder, 'group.db'));
    other.exec('BEGIN IMMEDIATE');
    const waiting = Array.from({ length: 2000 }, () => database.write(add(randomUUID())));
    await expect(database.write(add('one too many'))).rejects.toMatchObject({
      code: 'unavailable',
      message: 'More than 2000 changes wait for the database. Repeat the request',
      details: { retryAfterSeconds: 5 },
    });
    other.close();
    await Promise.all(waiting);
    expect(await words()).toHaveLength(2000);
  });

  test('a close completes the writes in progress, and later writes fail with Retry-After', async () => {
    const underWay = ['a', 'b'].map((word) => database.write(add(word)));
    const closed = database.close();
    await expect(database.write(add('late'))).rejects.toMatchObject({
      code: 'unavailable',
      details: { retryAfterSeconds: 5 },
    });
    await closed;
    await Promise.all(underWay);
    database = await openSqlite(join(folder, 'group.db'), { committed: () => undefined });
    expect(await words()).toEqual(['a', 'b']);
  });
});
