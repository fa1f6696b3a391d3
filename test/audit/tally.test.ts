import { expect, test } from 'vitest';
import type { AuditEntry } from '../../src/domain/audit/record.ts';
import { createTally } from '../../src/domain/audit/tally.ts';
import { auditEntry, SERVICE } from '../../src/domain/operations/audit-entry.ts';

const MINUTE = '2026-11-22T10:00';
const NEXT = '2026-11-22T10:01';

function start(maxLines?: number) {
  let number = 0;
  const tally = createTally(() => `line-${(number += 1)}`, maxLines);
  tally.changes(MINUTE);
  const create = (isCoarse: boolean): AuditEntry =>
    auditEntry(SERVICE, { at: `${MINUTE}:01.000000`, action: isCoarse ? 'coarse' : 'fine' });
  return {
    tally,
    count: (key: string) => tally.count(key, 'coarse', { reads: 1, secrets: 2 }, create),
  };
}

test('events with the same key become one line with the sums of their counts', () => {
  const { tally, count } = start();
  for (const key of ['a', 'b', 'a']) count(key);
  expect(tally.changes(MINUTE).current).toMatchObject([
    { id: 'line-1', isStored: false, entry: { detail: { reads: 2, secrets: 4 } } },
    { id: 'line-2', isStored: false, entry: { detail: { reads: 1, secrets: 2 } } },
  ]);
});

test('writes a line again only after another event', () => {
  const { tally, count } = start();
  count('a');
  const first = tally.changes(MINUTE);
  count('a'); // while the first state is written
  first.written();
  expect(tally.changes(MINUTE).current).toMatchObject([
    { isStored: true, entry: { detail: { reads: 2 } } },
  ]);
  tally.changes(MINUTE).written();
  expect(tally.changes(MINUTE).current).toEqual([]);
});

test('returns the lines of an ended minute until they are written', () => {
  const { tally, count } = start();
  count('a');
  const changes = tally.changes(NEXT);
  expect(changes.current).toEqual([]);
  expect(changes.finished).toHaveLength(1);
  expect(tally.changes(NEXT).finished).toHaveLength(1); // nothing was written yet
  changes.written();
  expect(tally.changes(NEXT).finished).toEqual([]);
});

test('counts every event of a minute, but combines events after the first 10 lines', () => {
  const { tally, count } = start(10);
  for (let index = 0; index < 1000; index += 1) count(`key-${index}`);
  const { current } = tally.changes(MINUTE);
  expect(current).toHaveLength(11);
  const reads = current.map(({ entry }) => Number(entry.detail.reads));
  expect(reads.reduce((sum, each) => sum + each)).toBe(1000);
  expect(current.filter(({ entry }) => entry.action === 'coarse')).toHaveLength(1);
});

test('stores at most 20,000 lines in memory while the database cannot be written', () => {
  const { tally, count } = start(100_000);
  for (let minute = 0; minute < 30; minute += 1) {
    for (let index = 0; index < 1000; index += 1) count(`key-${index}`);
    tally.changes(`2026-11-22T11:${minute}`);
  }
  const { finished } = tally.changes('2026-11-22T12:00');
  expect(finished.length).toBe(20_000);
  expect(tally.dropped()).toBe(10_000);
});
