import { expect, test } from 'vitest';
import { createTally } from '../../src/audit/tally.ts';
import { auditEntry, SERVICE } from '../../src/core/audit-record.ts';

const MINUTE = '2026-11-22T10:00';
const NEXT = '2026-11-22T10:01';

function start(share?: number, total?: number) {
  const tally = createTally(share, total);
  const take = (minute: string | undefined) => {
    const entries = tally.finished(minute).map(({ action, detail }) => [action, detail.reads]);
    tally.written();
    return entries;
  };
  take(MINUTE);
  const count = (key: string, caller = 'one', weight?: number) =>
    tally.count(
      caller,
      key,
      { reads: 1, secrets: 2 },
      () => auditEntry(SERVICE, { at: `${MINUTE}:01.000000`, action: key }),
      weight,
    );
  return { tally, count, take };
}

test('the first event has a record at once, and all further ones of a minute another', () => {
  const { count, take, tally } = start();
  for (const key of ['a', 'b', 'a', 'a']) count(key);
  expect(take(MINUTE)).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
  expect(take(MINUTE)).toEqual([]);
  expect(tally.finished(NEXT)).toMatchObject([{ action: 'a', detail: { reads: 2, secrets: 4 } }]);
});

test('returns records until they are written, and keeps counting meanwhile', () => {
  const { tally, count, take } = start();
  count('a');
  const entries = tally.finished(NEXT);
  expect(entries).toHaveLength(1);
  for (let minute = 2; minute < 9; minute += 1) {
    count('a');
    expect(tally.finished(`2026-11-22T10:0${minute}`)).toEqual(entries); // nothing was written yet
  }
  tally.written();
  expect(take('2026-11-22T10:09')).toEqual([
    ['a', 1],
    ['a', 6],
  ]);
  expect(take(undefined)).toEqual([]); // the end of the process
});

test('a caller has a share of keys, which ends with the minute and does not reduce the share of others', () => {
  const { count, take } = start(10, 15);
  const flood = (caller: string) =>
    Array.from({ length: 100 }, (_, index) => count(`key-${index}`, caller)).filter(Boolean).length;
  expect([flood('one'), flood('two'), flood('three')]).toEqual([10, 5, 0]);
  expect(take(MINUTE)).toHaveLength(15);
  expect(count('key-0')).toBe(true);
  expect(count('a few', 'three', 0)).toBe(true);
  expect(take(NEXT)).toEqual([
    ['a few', 1],
    ['key-0', 1],
  ]);
  expect(flood('three')).toBe(10);
});

test('a long record takes more of the share', () => {
  const { count } = start(10);
  expect([count('a', 'one', 8), count('b', 'one', 3), count('c', 'one', 2)]).toEqual([
    true,
    false,
    true,
  ]);
});
