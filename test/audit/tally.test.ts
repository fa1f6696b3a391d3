import { expect, test } from 'vitest';
import type { AuditEntry } from '../../src/domain/audit/record.ts';
import { createTally } from '../../src/domain/audit/tally.ts';
import { auditEntry, SERVICE } from '../../src/domain/operations/audit-entry.ts';

const MINUTE = '2026-11-22T10:00';
const NEXT = '2026-11-22T10:01';

function start(maxLines?: number) {
  const tally = createTally(maxLines);
  tally.finished(MINUTE);
  const create = (isCoarse: boolean): AuditEntry =>
    auditEntry(SERVICE, { at: `${MINUTE}:01.000000`, action: isCoarse ? 'coarse' : 'fine' });
  return {
    tally,
    count: (key: string) => tally.count(key, 'coarse', { reads: 1, secrets: 2 }, create),
  };
}

test('events with the same key become one record with the sums of their counts', () => {
  const { tally, count } = start();
  for (const key of ['a', 'b', 'a']) count(key);
  expect(tally.finished(MINUTE)).toEqual([]);
  expect(tally.finished(NEXT)).toMatchObject([
    { detail: { reads: 2, secrets: 4 } },
    { detail: { reads: 1, secrets: 2 } },
  ]);
});

test('returns the records of an ended minute until they are written', () => {
  const { tally, count } = start();
  count('a');
  const entries = tally.finished(NEXT);
  expect(entries).toHaveLength(1);
  expect(tally.finished(NEXT)).toEqual(entries); // nothing was written yet
  count('b');
  tally.written(entries);
  expect(tally.finished(NEXT)).toEqual([]);
  expect(tally.finished(undefined)).toHaveLength(1); // the end of the process
});

test('counts every event of a minute, but combines events after the first 10 lines', () => {
  const { tally, count } = start(10);
  for (let index = 0; index < 1000; index += 1) count(`key-${index}`);
  const entries = tally.finished(NEXT);
  expect(entries).toHaveLength(11);
  const reads = entries.map(({ detail }) => Number(detail.reads));
  expect(reads.reduce((sum, each) => sum + each)).toBe(1000);
  expect(entries.filter(({ action }) => action === 'coarse')).toHaveLength(1);
});

test('stores at most 20,000 records in memory while the database cannot be written', () => {
  const { tally, count } = start(100_000);
  for (let minute = 0; minute < 30; minute += 1) {
    for (let index = 0; index < 1000; index += 1) count(`key-${index}`);
    tally.finished(`2026-11-22T11:${minute}`);
  }
  expect(tally.finished('2026-11-22T12:00')).toHaveLength(20_000);
  expect(tally.dropped()).toBe(10_000);
});
