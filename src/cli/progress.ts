import type { Stream } from './terminal.ts';

/** Tells how far a piece of work has come. */
export interface Progress {
  advance(count: number): void;
  /** Removes what was shown. */
  stop(): void;
}

const WIDTH = 24;

/** Shows on a terminal how much of `total` is done, how fast, and how long the rest will take; elsewhere nothing. */
export function startProgress(out: Stream, label: string, total: number, now: () => number): Progress {
  if (out.isTTY !== true) return { advance: () => undefined, stop: () => undefined };
  const began = now();
  let done = 0;
  const draw = () => {
    const filled = Math.round((WIDTH * done) / Math.max(total, 1));
    const rate = done / Math.max((now() - began) / 1000, 0.001);
    const rest = done === 0 ? '' : `, ${Math.round(rate)}/s, ${Math.ceil((total - done) / rate)} s left`;
    out.write(`\r\x1b[K${label} [${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${done}/${total}${rest}`);
  };
  draw();
  return {
    advance(count) {
      done += count;
      draw();
    },
    stop: () => void out.write('\r\x1b[K'),
  };
}
