import { Command, InvalidArgumentError, Option } from 'commander';
import type { Connection } from '../service/client.ts';
import { findConnection, type ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { FORMATS, type OutputFlags } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { collect } from './flag.ts';

export interface ProjectFlags {
  readonly allProjects?: boolean;
  readonly sudoProjectId?: string;
}

export function withConnectionFlags(command: Command): Command {
  return command
    .optionsGroup('Connection:')
    .option(
      '--url <url>',
      'connect to the service at this URL (default: TSIGIL_URL, or the service on this machine)',
    )
    .option(
      '--token-file <file>',
      'read the token from this file (default: TSIGIL_TOKEN, or the first token of the service on this machine)',
    )
    .option(
      '--profile <name>',
      'use the service and the token that "tsigil login" stored under this name (default: TSIGIL_PROFILE)',
    )
    .option(
      '--cacert <file>',
      'trust only the CA certificates in this PEM file (default: TSIGIL_CACERT, or the CAs of the system)',
    );
}

/**
 * Accepts the connection flags before the command too: `tsigil --profile staging tld list`. The
 * program throws `CommandError` for a flag that the command does not have.
 */
export function acceptConnectionFlagsFirst(program: Command): void {
  const options = withConnectionFlags(new Command()).options;
  for (const { flags, description } of options)
    program.addOption(new Option(flags, description).hideHelp());
  program.hook('preAction', (_program, command) => {
    for (const { long } of options) {
      const name = new Option(long ?? '').attributeName();
      const value: unknown = program.getOptionValue(name);
      if (value === undefined) continue;
      if (!command.options.some((option) => option.long === long))
        throw new CommandError(
          EXIT.usage,
          `The command '${command.name()}' has no flag ${long}`,
          'Run the command with --help to see its flags.',
        );
      command.setOptionValueWithSource(name, value, 'cli');
    }
  });
}

export function withProjectFlags(command: Command, allProjects: boolean): Command {
  command.optionsGroup('Project:');
  if (allProjects) command.option('--all-projects', 'include the resources of all projects');
  return command.option('--sudo-project-id <id>', 'act on behalf of the project with this id');
}

export function withOutputFlags(command: Command): Command {
  return command
    .optionsGroup('Output:')
    .addOption(
      new Option(
        '-f, --format <format>',
        'print in this format (default: table, or columns separated by tabs in a pipe)',
      ).choices(FORMATS),
    )
    .option(
      '-c, --column <column>',
      'print only this column; repeat the flag for more columns',
      collect,
    );
}

export async function connect(
  flags: ConnectionFlags & ProjectFlags & { readonly force?: true },
  { environment, err, findService }: Terminal,
): Promise<Connection> {
  const { allProjects, sudoProjectId, force } = flags;
  if (sudoProjectId !== undefined && !/^[\x21-\x7e]+$/.test(sudoProjectId)) {
    throw new CommandError(
      EXIT.usage,
      `Invalid --sudo-project-id '${sudoProjectId}'. Use printable ASCII characters without blanks.`,
    );
  }
  return {
    ...(await findConnection(flags, environment, findService)),
    warn: (message) => void err.write(`Warning: ${plainText(message)}\n`),
    headers: {
      ...(allProjects === true ? { 'x-auth-all-projects': 'true' } : {}),
      ...(sudoProjectId === undefined ? {} : { 'x-auth-sudo-project-id': sudoProjectId }),
      ...(force === true ? { 'tsigil-force': 'true' } : {}),
    },
  };
}

/** Returns whether the output is for a program that gets the whole response. */
export function isWhole({ format, column }: OutputFlags): boolean {
  return (format === 'json' || format === 'yaml') && column === undefined;
}

/**
 * Throws `CommandError` for a column that does not exist. Call it before the request: afterwards, a
 * misspelt column would lose the secret of a new resource, which the service shows only once.
 */
export function checkColumns({ column = [] }: OutputFlags, columns: readonly string[]): void {
  const unknown = column.filter((name) => !columns.includes(name));
  if (unknown.length > 0)
    throw new CommandError(
      EXIT.usage,
      `Unknown column '${unknown.join("', '")}'. Use one of: ${columns.join(', ')}.`,
    );
}

export function readLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}
