import type { Command } from 'commander';
import { DELIVERY, SERVER_ACTIONS } from './delivery/commands/name-servers.ts';
import { keyUses } from './uses/commands.ts';
import { consoleLink } from './tokens/commands/console-link.ts';
import { AUDIT } from './audit/commands/audit-commands.ts';
import { ENCRYPTION } from './secrets/commands.ts';
import { keyGrants } from './keys/commands/grants.ts';
import { LIFECYCLE_COMMANDS } from './rotation/commands/lifecycle.ts';
import { keyRotation } from './rotation/commands/rotation.ts';
import { keyStatus } from './delivery/commands/deliveries.ts';
import { LOCAL_COMMANDS } from './cli/commands/local-commands.ts';
import { adoption } from './adoption/commands/adopt.ts';
import { release } from './adoption/commands/release.ts';
import { addResourceCommands } from './cli/commands/resource-commands.ts';
import { RESOURCE_COMMANDS } from './resource-table.ts';
import { login, logout, PROFILE, whoami } from './tokens/commands/sign-in.ts';
import { status } from './status/commands.ts';
import { tldImport } from './tlds/commands.ts';
import { tokenRevoke } from './tokens/commands/revoke.ts';
import { keyExport } from './keys/commands/export.ts';
import { keyImport } from './keys/commands/import.ts';
import { keyVerify } from './keys/commands/verify.ts';
import { addCompletion } from './cli/completion.ts';
import { addCommand, addGroup, type CommandDefinition, type Tools } from './cli/flags/command.ts';
import { acceptConnectionFlagsFirst } from './cli/flags/flags.ts';
import { addHelpCommand, childNamed, COMMAND_GROUPS } from './cli/root-help.ts';

/** Adds all commands to the program, in the order of its help. */
export function addAllCommands(program: Command, tools: Tools): void {
  const add = (parent: Command, definitions: readonly CommandDefinition[]) => {
    for (const definition of definitions) addCommand(parent, definition, tools);
  };
  program.commandsGroup(COMMAND_GROUPS.resources);
  addResourceCommands(program, tools);
  const commandOf = (noun: string) => childNamed(program, noun) ?? program;
  const key = commandOf('tsigkey');
  add(key, [keyExport, keyImport, keyVerify]);
  add(commandOf('tld'), [tldImport]);
  add(commandOf('token'), [tokenRevoke]);
  for (const { type, plural } of RESOURCE_COMMANDS) describeVerbs(commandOf(type.noun), plural);
  add(key, [keyGrants, keyStatus, keyUses, keyRotation, ...LIFECYCLE_COMMANDS]);
  key.summary('keys: create, set, export, import, verify, rotate, grants, uses');
  add(commandOf('nameserver'), [...SERVER_ACTIONS, adoption, release]);
  program.commandsGroup(COMMAND_GROUPS.client);
  add(program, [login, logout, whoami, status]);
  addGroup(program, PROFILE, tools);
  add(program, [consoleLink]);
  addGroup(program, DELIVERY, tools);
  addCompletion(program, tools.terminal);
  addHelpCommand(program);
  program.commandsGroup(COMMAND_GROUPS.service);
  add(program, LOCAL_COMMANDS);
  addGroup(program, ENCRYPTION, tools);
  addGroup(program, AUDIT, tools);
  acceptConnectionFlagsFirst(program);
}

function describeVerbs(command: Command, plural: string): void {
  const verbs = command.commands.map((each) => each.name());
  command.summary(`${verbs.slice(0, -1).join(', ')} and ${verbs.at(-1)} ${plural}`);
}
