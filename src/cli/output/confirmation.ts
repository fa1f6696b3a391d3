import type { Command } from 'commander';
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
export type Confirm = (
  question: string,
  flags: ConfirmationFlags,
  terminal: Terminal,
  reason?: string,
) => Promise<void>;

const CONDITIONS = new WeakMap<Command, string>();

/**
 * Declares that `command` can remove, disable or open something that its arguments do not name.
 * `condition` states when the command asks for confirmation, as a clause that begins with `when` or
 * `before`. Adds the flag `--yes`. Returns the function that asks for confirmation.
 */
export function declareDestructive(command: Command, condition: string): Confirm {
  CONDITIONS.set(command, condition);
  command.option('--yes', `do not ask for confirmation ${condition}`);
  return confirm;
}

/** Returns undefined for a command that never asks for confirmation. */
export function conditionOf(command: Command): string | undefined {
  return CONDITIONS.get(command);
}

async function confirm(
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
