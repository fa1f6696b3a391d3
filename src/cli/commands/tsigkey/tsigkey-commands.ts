import type { Command } from 'commander';
import { tsigkey } from '../../../domain/resources/tsigkey.ts';
import type { Terminal } from '../../output/terminal.ts';
import { addExport } from './tsigkey-export.ts';
import { addImport } from './tsigkey-import.ts';
import { addVerify } from './tsigkey-verify.ts';

/** Adds the commands that only TSIG keys have. Call `addResourceCommands` before. */
export function addKeyCommands(program: Command, terminal: Terminal): void {
  const parent = program.commands.find((command) => command.name() === tsigkey.noun);
  if (parent === undefined) throw new Error('addResourceCommands must be called first');
  addExport(parent, terminal);
  addImport(parent, terminal);
  addVerify(parent, terminal);
}
