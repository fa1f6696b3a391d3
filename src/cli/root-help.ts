import { Argument, Help, type Command } from 'commander';
import { addExamples } from './flags/help.ts';

/** The groups of commands in the help of the program, in order. */
export const COMMAND_GROUPS = {
  resources: 'Resources:',
  client: 'Client:',
  service: 'Service:',
} as const;

/**
 * The commands that only the manual page and the documents list, so that the help stays short. The
 * service migrates its database itself.
 */
const UNLISTED = ['help', 'completion', 'copy-database', 'migrate'];

/** The help of the program has only a line for each command, to fit a terminal of 24 lines. */
export function formatHelp(command: Command, helper: Help): string {
  if (command.parent !== null) return new Help().formatHelp(command, helper);
  const title = (text: string) => helper.styleTitle(text);
  const commands = helper
    .visibleCommands(command)
    .filter((each) => !UNLISTED.includes(each.name()));
  const width = Math.max(...commands.map((each) => each.name().length));
  const groupOf = (each: Command) => each.helpGroup() || COMMAND_GROUPS.client;
  const flags = helper.visibleOptions(command).map(({ long, short }) => long ?? short ?? '');
  return `${[
    `${title('Usage:')} ${helper.commandUsage(command)}  (${flags.slice(0, 2).join(', ')}; tsigil help COMMAND)`,
    ...Object.values(COMMAND_GROUPS).flatMap((group) => [
      title(group),
      ...commands
        .filter((each) => groupOf(each) === group)
        .map((each) => `  ${each.name().padEnd(width)}  ${each.summary() || each.description()}`),
    ]),
  ].join('\n')}\n`;
}

export function optionDescription(option: Parameters<Help['optionDescription']>[0]): string {
  const description = new Help().optionDescription(option);
  return option.mandatory ? `${description} (required)` : description;
}

/** Adds the command that prints the help of any command: `tsigil help tsigkey verify`. */
export function addHelpCommand(program: Command): void {
  const help = program
    .command('help')
    .description('print the help of a command')
    .addArgument(new Argument('[command...]', 'command, such as tsigkey verify'))
    .action((words: string[]) => words.reduce(childOf, program).outputHelp());
  addExamples(help, ['tsigil help tsigkey verify']);
}

/** Returns the subcommand with this name or alias. */
export function childNamed(parent: Command, word: string): Command | undefined {
  return parent.commands.find((each) => each.name() === word || each.aliases().includes(word));
}

/** Reports an unknown name and ends the program. */
function childOf(parent: Command, word: string): Command {
  const child = childNamed(parent, word);
  if (child !== undefined) return child;
  parent.args = [word];
  (parent as Command & { unknownCommand(): never }).unknownCommand();
  return parent;
}
