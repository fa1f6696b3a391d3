import { CommandError, EXIT } from './command-error.ts';
import { plainText } from './plain-text.ts';
import type { Terminal } from './terminal.ts';

export interface ConfirmationFlags {
  readonly yes?: boolean;
}

/**
 * Asks for confirmation. `reason` says in sentences what happens then, also to those who cannot be
 * asked, unless the command has said it. Returns after `y` or `yes`, or with `--yes`. Throws `CommandError` after
 * any other reply, and if the command is not interactive. The caller must not change anything
 * before this call.
 */
export async function confirm(
  question: string,
  { yes }: ConfirmationFlags,
  terminal: Terminal,
  reason?: string,
): Promise<void> {
  if (yes === true) return;
  const before = reason === undefined ? '' : `${reason} `;
  const obstacle = nonInteractiveReason(terminal);
  if (obstacle !== undefined)
    throw new CommandError(
      EXIT.usage,
      `${before}Cannot ask for confirmation: ${obstacle}. Nothing was changed.`,
      'Use --yes to go ahead.',
    );
  terminal.err.write(`${plainText(before)}${question} [y/N] `);
  for await (const chunk of terminal.input) {
    if (/^y(?:es)?\s*$/i.test(String(chunk))) return;
    break;
  }
  throw new CommandError(EXIT.refused, 'Nothing was changed');
}

/** The prompt is on standard error, so standard output need not be a terminal. */
function nonInteractiveReason({ input, err }: Terminal): string | undefined {
  if (input.isTTY !== true) return 'standard input is not a terminal';
  if (input.readableEnded === true) return 'the command has read standard input to its end';
  return err.isTTY === true ? undefined : 'standard error is not a terminal';
}
