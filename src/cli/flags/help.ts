import type { Command, Option } from 'commander';

/** A command line and, where it is not plain, what it does. */
export interface Example {
  readonly command: string;
  readonly purpose?: string;
}

const EXAMPLES = new WeakMap<Command, readonly Example[]>();

/** Shows examples at the end of a command's help, and keeps them for the manual page. */
export function addExamples(command: Command, examples: readonly (string | Example)[]): Command {
  const kept = examples.map((example) => (typeof example === 'string' ? { command: example } : example));
  EXAMPLES.set(command, kept);
  const lines = kept.map(({ command: line, purpose }) => `${purpose === undefined ? '' : `  # ${purpose}\n`}  $ ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

/** The examples of a command. */
export function examplesOf(command: Command): readonly Example[] {
  return EXAMPLES.get(command) ?? [];
}

/** Every command below `command`, with the words that lead to it, parents first. */
export function commandsBelow(command: Command, words: readonly string[] = [command.name()]): { words: string[]; command: Command }[] {
  return command.commands.flatMap((child) => {
    const path = [...words, child.name()];
    return [{ words: path, command: child }, ...commandsBelow(child, path)];
  });
}

/** The options that a command takes, `--help` included. */
export function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}
