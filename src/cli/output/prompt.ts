import { CommandError, EXIT } from './command-error.ts';
import type { Terminal } from './terminal.ts';

/** A question that a command asks on standard error. */
interface Prompt {
  readonly text: string;
  /** True if the terminal must not show the reply. */
  readonly hidden?: boolean;
}

const [INTERRUPT, BACKSPACE, DELETE] = ['\u0003', '\b', '\u007f'];

/**
 * Asks the questions, and returns each reply without its line feed. Throws `CommandError` after
 * Ctrl-C, and if the input ends.
 */
export async function readReplies(
  prompts: readonly Prompt[],
  terminal: Terminal,
): Promise<string[]> {
  const { input, err } = terminal;
  const chunks = input[Symbol.asyncIterator]();
  const replies: string[] = [];
  try {
    for (const { text, hidden = false } of prompts) {
      err.write(text);
      if (hidden) input.setRawMode?.(true);
      try {
        replies.push(await readLine(chunks));
      } finally {
        if (hidden) {
          input.setRawMode?.(false);
          err.write('\n');
        }
      }
    }
  } finally {
    await chunks.return?.();
  }
  return replies;
}

/** Handles backspace and Ctrl-C, because the terminal is in raw mode. */
async function readLine(chunks: AsyncIterator<unknown>): Promise<string> {
  let line = '';
  for (;;) {
    const chunk = await chunks.next();
    if (chunk.done === true) throw new CommandError(EXIT.usage, 'The input ended before the reply');
    for (const character of String(chunk.value)) {
      if (character === '\n' || character === '\r') return line;
      if (character === INTERRUPT) throw new CommandError(EXIT.interrupted, 'Stopped');
      line = character === BACKSPACE || character === DELETE ? line.slice(0, -1) : line + character;
    }
  }
}
