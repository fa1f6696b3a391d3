import { createHash } from 'node:crypto';

/** Returns a text that stands for a content with secrets, which this process then need not keep. */
export function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64');
}
