import { addCompletion } from './completion.ts';
import {
  addCommand,
  addGroup,
  type CommandDefinition,
  type CommandGroup,
} from './flags/command.ts';
import { acceptConnectionFlagsFirst } from './flags/flags.ts';
import type { AddAll } from './program.ts';
import { addHelpCommand, COMMAND_GROUPS } from './root-help.ts';

/** The commands and groups under each heading of the help, in order. */
type CommandTable = Readonly<
  Record<keyof typeof COMMAND_GROUPS, readonly (CommandDefinition | CommandGroup)[]>
>;

/** Returns what adds the commands of a table and those of the program itself. */
export function tableAdder(table: CommandTable): AddAll {
  return (program, terminal) => {
    const add = (heading: keyof CommandTable) => {
      program.commandsGroup(COMMAND_GROUPS[heading]);
      for (const each of table[heading])
        if ('commands' in each) addGroup(program, each, terminal);
        else addCommand(program, each, terminal);
    };
    add('resources');
    add('client');
    addCompletion(program, terminal);
    addHelpCommand(program);
    add('service');
    acceptConnectionFlagsFirst(program);
  };
}
