import { createHmac } from 'node:crypto';
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TrailProblem } from '../../src/domain/audit/trail.ts';
import { verifyTrail } from '../../src/store/audit/verify.ts';
import type { Database } from '../../src/store/sql/sql.ts';
import { temporaryFolder } from '../harness/service.ts';
import { addRecords, entry, seed, withDatabase, type TestKey } from '../harness/trail.ts';

const KEY: TestKey = {
  number: 2,
  hmac: (text) => createHmac('sha256', 'audit key').update(text).digest('base64url'),
};

/** Verifies the whole trail of a database with these keys. */
async function verify(
  { reads: sql }: Database,
  keys: readonly TestKey[],
  now = '2026-11-21T09:30:10.000000',
) {
  const problems: TrailProblem[] = [];
  const counts = { withoutMac: 0, unchecked: 0 };
  const auditKey = (number: number) => keys.find((key) => key.number === number);
  let step: Parameters<typeof verifyTrail>[1] | undefined = {
    part: 'batches',
    after: 0,
    macSeen: false,
  };
  while (step !== undefined) {
    const result = await verifyTrail({ sql, auditKey, now: () => now }, step);
    problems.push(...result.problems);
    counts.withoutMac += result.withoutMac;
    counts.unchecked += result.unchecked;
    step = result.next;
  }
  return { problems, ...counts };
}

const RIGHT = { problems: [], withoutMac: 0, unchecked: 0 };

async function onSeeded(work: (database: Database) => Promise<void>): Promise<void> {
  const folder = temporaryFolder();
  await withDatabase(`sqlite:${folder}/tsigil.db`, async (database) => {
    await seed(database, 12, 4, { key: KEY });
    await work(database);
  });
  rmSync(folder, { recursive: true, force: true });
}

test('verifies MACs under two audit keys', () =>
  onSeeded(async (database) => {
    expect(await verify(database, [KEY])).toEqual(RIGHT);
    await seed(database, 4, 4, { key: { ...KEY, number: 5 } });
    expect(await verify(database, [KEY, { ...KEY, number: 5 }])).toEqual(RIGHT);
  }));

test('reports a MAC under another key as wrong', () =>
  onSeeded(async (database) => {
    const { problems } = await verify(database, [{ number: 2, hmac: () => 'other' }]);
    expect(problems[0]).toEqual({ batch: 1, problem: 'The MAC is wrong.' });
  }));

test('reports the MACs of a lost key as unchecked', () =>
  onSeeded(async (database) => {
    expect(await verify(database, [])).toEqual({ ...RIGHT, unchecked: 3 });
  }));

test('reports a batch without a MAC after a batch with a MAC', () =>
  onSeeded(async (database) => {
    await database.write((sql) =>
      sql.run('UPDATE audit_batches SET mac = NULL WHERE number = 2', []),
    );
    const { problems } = await verify(database, [KEY]);
    expect(problems).toEqual([
      { batch: 2, problem: 'The batch has no MAC, although earlier batches have a MAC.' },
    ]);
  }));

test('reports unsealed records that are older than 60 s', () =>
  onSeeded(async (database) => {
    await addRecords(database, [entry('late')]);
    expect(await verify(database, [KEY], '2026-11-21T09:30:59.000000')).toEqual(RIGHT);
    const { problems } = await verify(database, [KEY], '2026-11-21T09:31:01.000000');
    expect(problems).toEqual([
      {
        batch: null,
        problem:
          'Unsealed records: 1, the oldest from 2026-11-21T09:30:00.000000. The service seals records within 60 s.',
      },
    ]);
  }));
