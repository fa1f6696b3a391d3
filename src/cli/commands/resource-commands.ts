import type { Command } from 'commander';
import { addCommand, type CommandDefinition, type Tools } from '../flags/command.ts';
import { acceptConnectionFlagsFirst } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { VERBS, type ResourceCommand, type Verb } from '../flags/resource-command.ts';
import { createCommand } from './resource-create.ts';
import { deleteCommand } from './resource-delete.ts';
import { listCommand, showCommand } from './resource-read.ts';
import { setCommand } from './resource-set.ts';
import { RESOURCE_COMMANDS } from './resource-table.ts';
import { VERB_ALIASES } from './resource-verb.ts';

const COMMANDS: Readonly<Record<Verb, (resource: ResourceCommand) => CommandDefinition>> = {
  create: createCommand,
  list: listCommand,
  show: showCommand,
  set: setCommand,
  delete: deleteCommand,
};

/** Adds a command for each resource type, with its verbs as subcommands. */
export function addResourceCommands(program: Command, tools: Tools): void {
  for (const resource of RESOURCE_COMMANDS) {
    const { type, examples } = resource;
    const parent = program.command(type.noun).description(type.description);
    for (const verb of VERBS.filter((each) => examples[each] !== undefined))
      addCommand(parent, COMMANDS[verb](resource), tools);
    addExamples(parent, [
      ...(examples.create ?? []).slice(0, 1),
      ...(examples.list ?? []).slice(0, 1),
      ...(examples.delete ?? []),
    ]);
  }
}

/**
 * Adds only the command of one verb, such as `tsigkey list`. Returns false if there is no such
 * command.
 */
export function addResourceVerb(
  program: Command,
  [noun, word = '']: readonly string[],
  tools: Tools,
): boolean {
  const resource = RESOURCE_COMMANDS.find(({ type }) => type.noun === noun);
  const verb = VERBS.find((each) => each === word || VERB_ALIASES[each] === word);
  if (verb === undefined || resource?.examples[verb] === undefined) return false;
  addCommand(program.command(resource.type.noun), COMMANDS[verb](resource), tools);
  acceptConnectionFlagsFirst(program);
  return true;
}
