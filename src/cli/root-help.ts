import { Help, type Command } from 'commander';

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
    `${title('Usage:')} ${helper.commandUsage(command)}  (${flags.slice(0, 2).join(', ')}; tsigil COMMAND --help)`,
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

/** Returns the subcommand with this name or alias. */
export function childNamed(parent: Command, word: string): Command | undefined {
  return parent.commands.find((each) => each.name() === word || each.aliases().includes(word));
}
