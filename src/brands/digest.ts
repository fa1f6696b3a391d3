import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';

/** Returns a text that stands for a content with secrets, which this process then need not keep. */
export function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64');
}

/** File systems tell changes apart that are some milliseconds apart, or 1 to 2 s on old ones. */
const SETTLED_MS = 5000;

/**
 * Returns a text that changes whenever the content, the mode or the name of a file does. A file that
 * has changed in the last 5 s is not settled: it could change again without a difference.
 */
export function versionOf({ dev, ino, size, ctimeMs, ctimeNs }: BigIntStats) {
  const isSettled = Date.now() - Number(ctimeMs) > SETTLED_MS;
  return { version: [dev, ino, size, ctimeNs].join(' '), isSettled };
}
