import type { Stream } from './terminal.ts';
import { displayWidth } from './table.ts';

export interface Progress {
  advance(count: number): void;
  /** Removes the bar, so that the next output begins on an empty line. */
  stop(): void;
}

const REDRAW_MS = 100;
const MAX_BAR_WIDTH = 40;
const MIN_BAR_WIDTH = 10;

/**
 * Draws a progress bar for `total` items on `out`, with percentage, rate and remaining time. Draws
 * nothing if `out` is not a terminal. `now` returns milliseconds.
 */
export function startProgress(
  out: Stream,
  label: string,
  total: number,
  now: () => number,
): Progress {
  if (out.isTTY !== true) return { advance: () => undefined, stop: () => undefined };
  const started = now();
  let done = 0;
  let drawnAt = -Infinity;
  const draw = () => {
    drawnAt = now();
    out.write(
      `\r${progressLine(label, done, total, (drawnAt - started) / 1000, out.columns || 80)}\x1b[K`,
    );
  };
  draw();
  return {
    advance(count) {
      done += count;
      if (done >= total || now() - drawnAt >= REDRAW_MS) draw();
    },
    stop: () => void out.write('\r\x1b[K'),
  };
}

/**
 * Returns `Importing [====> ] 43% 4,300 of 10,000, 2,150/s, 0:03 left`, shortened to fit a narrow
 * terminal.
 */
export function progressLine(
  label: string,
  done: number,
  total: number,
  seconds: number,
  columns: number,
): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const rate = seconds > 0 ? done / seconds : 0;
  const counts = `${String(Math.floor(share * 100)).padStart(3)}% ${grouped(done)} of ${grouped(total)}`;
  const speed =
    rate === 0 || done >= total
      ? ''
      : `, ${grouped(Math.round(rate))}/s, ${clockTime((total - done) / rate)} left`;
  // The last column stays empty, because some terminals wrap as soon as it has a character.
  const room = columns - 1;
  const bar = Math.min(
    MAX_BAR_WIDTH,
    room - displayWidth(label) - counts.length - speed.length - 4,
  );
  if (bar >= MIN_BAR_WIDTH) return `${label} [${drawBar(share, bar)}] ${counts}${speed}`;
  return (
    [`${label} ${counts}${speed}`, `${label} ${counts}`, counts.trim()].find(
      (line) => displayWidth(line) <= room,
    ) ?? ''
  );
}

function drawBar(share: number, width: number): string {
  const filled = Math.floor(share * width);
  return `${'='.repeat(filled)}${filled < width ? '>' : ''}`.padEnd(width);
}

function grouped(count: number): string {
  return count.toLocaleString('en-GB');
}

function clockTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const padded = (count: number) => String(count).padStart(2, '0');
  const tail = padded(whole % 60);
  return hours > 0 ? `${hours}:${padded(minutes)}:${tail}` : `${minutes}:${tail}`;
}
