import type { Command } from 'commander';
import { CommandError, EXIT } from './errors.ts';
import type { Terminal } from './terminal.ts';

/** The flag that answers the question of a destructive command in advance. */
export interface ConfirmationFlags {
  readonly yes?: boolean;
}

/**
 * Asks for confirmation. Returns after `y`, `yes` or with `--yes`. Throws `CommandError` after any other answer, and where nobody can
 * be asked. The caller has changed nothing before.
 */
export type Confirm = (question: string, flags: ConfirmationFlags, terminal: Terminal) => Promise<void>;

const CONDITIONS = new WeakMap<Command, string>();

/**
 * Declares that `command` can remove or disable something that its arguments do not name. `condition` says when it asks, as a clause
 * that begins with `when`. Adds the flag `--yes`. Returns the only way to ask.
 */
export function declareDestructive(command: Command, condition: string): Confirm {
  CONDITIONS.set(command, condition);
  command.option('--yes', `do not ask for confirmation ${condition}`);
  return confirm;
}

/** When a command asks for confirmation; undefined for one that never does. */
export function conditionOf(command: Command): string | undefined {
  return CONDITIONS.get(command);
}

async function confirm(question: string, { yes }: ConfirmationFlags, terminal: Terminal): Promise<void> {
  if (yes === true) return;
  const obstacle = obstacleTo(terminal);
  if (obstacle !== undefined) {
    throw new CommandError(EXIT.usage, `Cannot ask for confirmation: ${obstacle}. Nothing was changed.`, 'Use --yes to go ahead.');
  }
  terminal.err.write(`${question} [y/N] `);
  for await (const chunk of terminal.input) {
    if (/^y(?:es)?\s*$/i.test(String(chunk))) return;
    break;
  }
  throw new CommandError(EXIT.refused, 'Nothing was changed');
}

/** Why no question can be asked. It goes to standard error, so standard output may be anything. */
function obstacleTo({ input, err }: Terminal): string | undefined {
  if (input.isTTY !== true) return 'standard input is not a terminal';
  if (input.readableEnded === true) return 'the command has read standard input to its end';
  return err.isTTY === true ? undefined : 'standard error is not a terminal';
}
