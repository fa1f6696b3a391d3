import type { Command } from 'commander';
import { addAuditCommands } from './commands/audit/audit-commands.ts';
import { addConsole } from './commands/console.ts';
import {
  addDeliveryCommands,
  addKeyRemoval,
  addKeyStatus,
  addReconcile,
  addServerCheck,
} from './commands/delivery-commands.ts';
import { addEncryptionCommands } from './commands/encryption-commands.ts';
import { addLocalCommands, type LoadLocalCommands } from './commands/local-commands.ts';
import { addAdoption } from './commands/nameserver/adopt.ts';
import { addRelease } from './commands/nameserver/release.ts';
import { addOnboarding } from './commands/nameserver/onboard.ts';
import { addResourceCommands } from './commands/resource-commands.ts';
import { addSessionCommands } from './commands/session-commands.ts';
import { addTldImport } from './commands/tld-import.ts';
import { addTokenRevoke } from './commands/token-revoke.ts';
import { addKeyExport } from './commands/tsigkey/tsigkey-export.ts';
import { addKeyGrants } from './commands/key-grants.ts';
import { addKeyImport } from './commands/tsigkey/tsigkey-import.ts';
import { addLifecycle } from './commands/key-lifecycle.ts';
import { addKeyRotation } from './commands/key-rotation.ts';
import { addKeyUses } from './commands/tsigkey/tsigkey-uses.ts';
import { addKeyVerify } from './commands/tsigkey/tsigkey-verify.ts';
import { addCompletion } from './completion.ts';
import { acceptConnectionFlagsFirst } from './flags/flags.ts';
import { RESOURCE_COMMANDS } from './flags/resource-table.ts';
import type { Terminal } from './output/terminal.ts';
import { addHelpCommand, childNamed, COMMAND_GROUPS } from './root-help.ts';

/** Adds all commands to the program, in the order of its help. */
export function addAllCommands(
  program: Command,
  local: LoadLocalCommands,
  terminal: Terminal,
): void {
  program.commandsGroup(COMMAND_GROUPS.resources);
  addResourceCommands(program, terminal);
  const commandOf = (noun: string) => childNamed(program, noun) ?? program;
  const [key, server] = [commandOf('tsigkey'), commandOf('nameserver')];
  addKeyExport(key, terminal);
  addKeyImport(key, async (...of) => (await local()).readNameServer(...of), terminal);
  addKeyVerify(key, terminal);
  addTldImport(commandOf('tld'), terminal);
  addTokenRevoke(commandOf('token'), terminal);
  for (const { type, plural } of RESOURCE_COMMANDS) describeVerbs(commandOf(type.noun), plural);
  addKeyGrants(key, terminal);
  addKeyStatus(key, terminal);
  addKeyUses(key, terminal);
  addKeyRotation(key, terminal);
  addLifecycle(key, terminal);
  addServerCheck(server, terminal);
  addReconcile(server, terminal);
  addKeyRemoval(server, terminal);
  addOnboarding(server, terminal);
  addAdoption(server, local, terminal);
  addRelease(server, local, terminal);
  key.summary('keys: create, set, export, import, verify, rotate, grants, uses');
  program.commandsGroup(COMMAND_GROUPS.client);
  addSessionCommands(program, async (config) => (await local()).formerFiles(config), terminal);
  addConsole(program, terminal);
  addDeliveryCommands(program, terminal);
  addCompletion(program, terminal);
  addHelpCommand(program);
  program.commandsGroup(COMMAND_GROUPS.service);
  addLocalCommands(program, local, terminal);
  addEncryptionCommands(program, local, terminal);
  addAuditCommands(program, terminal);
  acceptConnectionFlagsFirst(program);
}

/** Sets a resource command's summary to the names of its subcommands. */
function describeVerbs(command: Command, plural: string): void {
  const verbs = command.commands.map((each) => each.name());
  command.summary(`${verbs.slice(0, -1).join(', ')} and ${verbs.at(-1)} ${plural}`);
}
