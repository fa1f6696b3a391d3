import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { TrailProblem } from '../../src/audit/responses.ts';
import type { AuditKey } from '../../src/core/keyring.ts';
import { adoptKey, noteRestore } from '../../src/audit/store/head.ts';
import { verifyTrail } from '../../src/audit/store/verify-trail.ts';
import type { Database } from '../../src/sql/sql.ts';
import { temporaryFolder } from '../harness/service.ts';
import { addRecords, entry, seed, withDatabase } from '../harness/trail.ts';

const keyOf = (number: number, secret: string): AuditKey => ({
  number,
  hmac: (text) => createHmac('sha256', secret).update(text).digest('base64url'),
});
const KEY = keyOf(2, 'audit key');
const AT = '2026-11-21T09:30:10.000000';

/** Verifies the whole trail of a database with this key. */
async function verify({ reads: sql }: Database, key: AuditKey | undefined, now = AT) {
  const problems: TrailProblem[] = [];
  const counts = { without_mac: 0, unchecked: 0 };
  for await (const part of verifyTrail({ sql, key: () => key, now: () => now })) {
    problems.push(...part.problems);
    counts.without_mac += part.without_mac;
    counts.unchecked += part.unchecked;
  }
  return { problems, ...counts };
}

const RIGHT = { problems: [], without_mac: 0, unchecked: 0 };

async function onSeeded(work: (database: Database) => Promise<void>, key = true): Promise<void> {
  await withDatabase(`sqlite:${temporaryFolder()}/tsigil.db`, async (database) => {
    await seed(database, 12, 4, key ? { key: KEY } : {});
    await work(database);
  });
}

test('reports the batches under a lost key as unchecked, and later batches without a MAC', () =>
  onSeeded(async (database) => {
    const other = keyOf(5, 'other');
    await database.write((sql) => adoptKey(sql, other, true, AT));
    await seed(database, 4, 4, { key: other });
    expect(await verify(database, other)).toEqual({ ...RIGHT, unchecked: 4 });
    await database.write((sql) => sql.run('UPDATE audit_batches SET mac = NULL', []));
    expect(await verify(database, other)).toEqual({
      problems: [{ batch: 4, problem: 'The batch has no MAC.' }],
      without_mac: 3,
      unchecked: 1,
    });
  }));

test('batches from before the first key need no MAC', () =>
  onSeeded(async (database) => {
    await database.write((sql) => adoptKey(sql, KEY, true, AT));
    await seed(database, 4, 4, { key: KEY });
    expect(await verify(database, KEY)).toEqual({ ...RIGHT, without_mac: 3 });
  }, false));

test('a restore changes no result', () =>
  onSeeded(async (database) => {
    const replaced = { number: 9, hash: 'f'.repeat(64) };
    await database.write((sql) => noteRestore(sql, KEY, AT, replaced));
    expect(await verify(database, KEY)).toEqual(RIGHT);
  }));

test('a restore of a backup whose head was changed does not hide the change', () =>
  onSeeded(async (database) => {
    await database.write(async (sql) => {
      await sql.run('UPDATE audit_head SET purged = 2', []);
      await noteRestore(sql, KEY, AT, { number: 9, hash: 'f'.repeat(64) });
    });
    const { problems } = await verify(database, KEY);
    expect(problems[0]?.problem).toContain('deleted or changed the head');
  }));

test('reports unsealed records that are older than 60 s', () =>
  onSeeded(async (database) => {
    await addRecords(database, [entry('late')]);
    expect(await verify(database, KEY, '2026-11-21T09:30:59.000000')).toEqual(RIGHT);
    const { problems } = await verify(database, KEY, '2026-11-21T09:31:01.000000');
    expect(problems).toEqual([
      {
        batch: null,
        problem:
          'Unsealed records: 1, the oldest from 2026-11-21T09:30:00.000000. The service seals records within 60 s.',
      },
    ]);
  }));
