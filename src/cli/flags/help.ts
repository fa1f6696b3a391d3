import type { Command, Option } from 'commander';

interface Example {
  readonly command: string;
  readonly purpose: string | undefined;
}

const EXAMPLES = new WeakMap<Command, readonly Example[]>();

/**
 * Adds examples to the end of a command's help, and to the manual page. An example may end with a
 * comment that states its purpose.
 */
export function addExamples(command: Command, examples: readonly string[]): Command {
  const parts = examples.map((example): Example => {
    const [line = '', purpose] = example.split('  # ');
    return { command: line, purpose };
  });
  EXAMPLES.set(command, parts);
  const lines = parts.map(
    ({ command: line, purpose }) => `${purpose === undefined ? '' : `  # ${purpose}\n`}  $ ${line}`,
  );
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

export function examplesOf(command: Command): readonly Example[] {
  return EXAMPLES.get(command) ?? [];
}

/** Returns all visible subcommands, each after its parent, with the words of its full name. */
export function commandsBelow(
  command: Command,
  words: readonly string[] = [command.name()],
): { words: string[]; command: Command }[] {
  const visible = command.createHelp().visibleCommands(command);
  return command.commands
    .filter((child) => visible.includes(child))
    .flatMap((child) => {
      const path = [...words, child.name()];
      return [{ words: path, command: child }, ...commandsBelow(child, path)];
    });
}

export function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}
