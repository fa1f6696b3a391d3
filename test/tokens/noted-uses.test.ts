import { expect, test, vi } from 'vitest';
import { createTokenUses } from '../../src/tokens/job/token-uses.ts';
import { CONFIGURED_ADMIN } from '../../src/tokens/own-tokens.ts';
import type { Caller } from '../../src/core/caller.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-01-01T00:01:00.000Z');
const caller = (id: string): Caller => ({ ...CONFIGURED_ADMIN, id });

/**
 * Creates `TokenUses` with a store that collects the writes, and fails while `isBroken` returns
 * true.
 */
function usesOf(isBroken: () => boolean = () => false) {
  const written: [uses: [id: string, at: string][], before: string][] = [];
  const warn = vi.fn();
  let now = START;
  const uses = createTokenUses({
    store: {
      async noteUses(given, before) {
        if (isBroken()) throw new Error('The disk is full');
        written.push([[...given], before]);
      },
    },
    log: { warn },
    now: () => now,
    intervalMs: HOUR_MS,
  });
  return { uses, written, warn, later: (ms: number) => (now += ms) };
}

test('on close, writes the latest use of each stored token, and no use of other callers', async () => {
  const { uses, written, later } = usesOf();
  uses.note(caller('one'));
  uses.note(CONFIGURED_ADMIN);
  uses.note({ ...caller('ada'), scope: 'project' });
  later(500);
  uses.note(caller('two'));
  uses.note(caller('one'));
  expect(written).toEqual([]);
  await uses.close();
  const at = '2026-01-01T00:01:00.500000';
  expect(written).toEqual([
    [
      [
        ['one', at],
        ['two', at],
      ],
      '2025-12-31T23:01:00.500000',
    ],
  ]);
});

test('stores the uses of at most 10,000 tokens in memory', async () => {
  const { uses, written } = usesOf();
  for (let count = 0; count < 10_001; count += 1) uses.note(caller(String(count)));
  await uses.close();
  expect(written[0]?.[0]).toHaveLength(10_000);
});

test('logs a warning and closes even if the write fails', async () => {
  const { uses, written, warn } = usesOf(() => true);
  uses.note(caller('one'));
  await uses.close();
  expect(written).toEqual([]);
  expect(warn).toHaveBeenCalledExactlyOnceWith(
    { err: new Error('The disk is full') },
    'Cannot store when tokens were last used. The service tries again with the next write.',
  );
});
