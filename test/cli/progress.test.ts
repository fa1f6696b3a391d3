import { describe, expect, test } from 'vitest';
import { startProgress } from '../../src/cli/output/progress.ts';

/** Starts a line about progress on a terminal. Returns the output, and a clock that the test sets. */
function startLine(total: number, columns = 80) {
  const clock = { now: 1000 };
  const drawn: string[] = [];
  const progress = startProgress(
    { isTTY: true, columns, write: (text) => drawn.push(text) },
    total,
    () => clock.now,
  );
  return { clock, drawn, progress };
}

describe('the line about progress', () => {
  test('shows the share, the counts and the remaining time, and is removed', () => {
    const { clock, drawn, progress } = startLine(10_000);
    clock.now += 2000;
    progress.advance(4300);
    expect(drawn.at(-1)).toBe('\rVerifying: 43%, 4,300 of 10,000, 3 s left\x1b[K');
    clock.now += 2000;
    progress.advance(5700);
    expect(drawn.at(-1)).toBe('\rVerifying: 100%, 10,000 of 10,000\x1b[K');
    progress.stop();
    expect(drawn.at(-1)).toBe('\r\x1b[K');
  });

  test('draws at most ten times per second, and once at the end', () => {
    const { clock, drawn, progress } = startLine(1000);
    for (let step = 0; step < 1000; step += 1) {
      clock.now += 1;
      progress.advance(1);
    }
    expect(drawn.length).toBeGreaterThan(9);
    expect(drawn.length).toBeLessThan(13);
    expect(drawn.at(-1)).toContain('1,000 of 1,000');
  });
});
