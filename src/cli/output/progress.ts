import type { Stream } from './terminal.ts';

interface Progress {
  advance(count: number): void;
  /** Removes the line, so that the next output begins on an empty one. */
  stop(): void;
}

const REDRAW_MS = 100;

/**
 * Shows a line about `total` items on `out`, with their share and the remaining time, such as
 * `Verifying: 43%, 4,300 of 10,000, 3 s left`. Shows nothing if `out` is not a terminal. `now`
 * returns milliseconds.
 */
export function startProgress(out: Stream, total: number, now: () => number): Progress {
  if (out.isTTY !== true) return { advance: () => undefined, stop: () => undefined };
  const started = now();
  let done = 0;
  let shownAt = -Infinity;
  const show = () => {
    shownAt = now();
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const seconds = Math.ceil(((shownAt - started) / 1000) * (1 / share - 1));
    const left = done === 0 || share === 1 ? '' : `, ${grouped(seconds)} s left`;
    const line = `Verifying: ${Math.floor(share * 100)}%, ${grouped(done)} of ${grouped(total)}${left}`;
    // The last column stays empty, because some terminals wrap as soon as it has a character.
    out.write(`\r${line.slice(0, (out.columns || 80) - 1)}\x1b[K`);
  };
  show();
  return {
    advance(count) {
      done += count;
      if (done >= total || now() - shownAt >= REDRAW_MS) show();
    },
    stop: () => void out.write('\r\x1b[K'),
  };
}

function grouped(count: number): string {
  return count.toLocaleString('en-GB');
}
