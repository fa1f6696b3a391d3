import { describe, expect, test } from 'vitest';
import { startProgress } from '../../src/cli/output/progress.ts';

/** Starts a progress bar on a terminal. Returns the output, and a clock that the test sets. */
function startBar(total: number, columns = 80) {
  const clock = { now: 1000 };
  const drawn: string[] = [];
  const progress = startProgress(
    { isTTY: true, columns, write: (text) => drawn.push(text) },
    'Importing',
    total,
    () => clock.now,
  );
  return { clock, drawn, progress };
}

describe('the progress bar', () => {
  test('shows the share, the counts, the rate and the remaining time', () => {
    const { clock, drawn, progress } = startBar(10_000);
    clock.now += 2000;
    progress.advance(4300);
    expect(drawn.at(-1)).toBe(
      '\rImporting [===========>              ]  43% 4,300 of 10,000, 2,150/s, 0:03 left\x1b[K',
    );
    clock.now += 2000;
    progress.advance(5700);
    expect(drawn.at(-1)).toMatch(/^\rImporting \[=+\] 100% 10,000 of 10,000\x1b\[K$/);
    progress.stop();
    expect(drawn.at(-1)).toBe('\r\x1b[K');
  });

  test('draws at most ten times per second, and once at the end', () => {
    const { clock, drawn, progress } = startBar(1000);
    for (let step = 0; step < 1000; step += 1) {
      clock.now += 1;
      progress.advance(1);
    }
    expect(drawn.length).toBeGreaterThan(9);
    expect(drawn.length).toBeLessThan(13);
    expect(drawn.at(-1)).toContain('1,000 of 1,000');
  });
});
