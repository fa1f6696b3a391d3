import { plainText } from './plain-text.ts';
import type { Stream } from './terminal.ts';

/** Writes one line of text, which may quote a server or a file. */
export function writeLine(stream: Stream, text: string): void {
  stream.write(`${plainText(text)}\n`);
}
