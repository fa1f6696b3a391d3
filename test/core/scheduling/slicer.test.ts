import { expect, test } from 'vitest';
import type { Reader } from '../../../src/core/ports.ts';
import type { Settings } from '../../../src/core/settings.ts';
import { createSlicer, noteConnection, type Slicer } from '../../../src/core/scheduling/slicer.ts';
import { checkZoneNames } from '../../../src/resources/actions/zone-name-check.ts';

/** Returns a slicer whose slices end at once. `turns` returns the number of yields. */
function impatient(): { slicer: Slicer; turns: () => number } {
  let turns = 0;
  const slicer: Slicer = {
    isOver: () => true,
    next: async () => void (turns += 1),
    forTransaction: () => slicer,
  };
  return { slicer, turns: () => turns };
}

test('a slice is over after 5 ms, or after 15 ms in a transaction', async () => {
  let now = 100;
  const slicer = createSlicer(() => now);
  now = 104.9;
  expect(slicer.isOver()).toBe(false);
  now = 105;
  expect(slicer.isOver()).toBe(true);
  await slicer.next();
  expect(slicer.isOver()).toBe(false);
  const longer = slicer.forTransaction();
  now = 119.9;
  expect([slicer.isOver(), longer.isOver()]).toEqual([true, false]);
  now = 120;
  expect(longer.isOver()).toBe(true);
});

test('the event loop runs waiting work between two slices', async () => {
  const events: string[] = [];
  const slicer = createSlicer(() => 0);
  setImmediate(() => events.push('another request'));
  await slicer.next();
  events.push('the next slice');
  expect(events).toEqual(['another request', 'the next slice']);
});

test('a slice waits for connections that arrive, for at most 100 ms', async () => {
  let [now, arriving, turns] = [0, 3, 0];
  const arrive = () => {
    if (turns === arriving) return;
    [now, turns] = [now + 1, turns + 1];
    noteConnection();
    setImmediate(arrive);
  };
  const slicer = createSlicer(() => now);
  setImmediate(arrive);
  await slicer.next();
  expect(turns).toBe(3);
  [arriving, turns] = [1000, 0];
  setImmediate(arrive);
  await slicer.next();
  expect(turns).toBe(100);
  arriving = turns;
});

test('checks zone names one at a time, and yields between slow conversions to ASCII', async () => {
  const { slicer, turns } = impatient();
  const reader = {
    exists: async () => true,
    present: async () => new Set(['com']),
  } as unknown as Reader;
  const names = ['a.com', 'not good', 'b.org'];
  const checks = await checkZoneNames(reader, { tldRule: 'last-label' } as Settings, names, slicer);
  expect(checks.map(({ rule }) => rule)).toEqual([null, 'domain_name', 'tld_entry']);
  expect(turns()).toBe(2 * names.length);
});
