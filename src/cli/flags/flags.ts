import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Connection } from '../service/client.ts';
import { findConnection, type ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { FORMATS, type OutputFlags } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';

/** For which project a request is made, as asked on the command line. */
export interface ProjectFlags {
  readonly allProjects?: boolean;
  readonly sudoProjectId?: string;
}

/** Adds the flags that say which service is meant. */
export function withConnectionFlags(command: Command): Command {
  return command
    .optionsGroup('Connection:')
    .option('--url <url>', 'the service (default: TSIGIL_URL, else http://127.0.0.1:9001)')
    .option('--token-file <file>', 'a file that holds the token (default: TSIGIL_TOKEN, else var/admin.token)')
    .option('--os-cloud <name>', 'a cloud in clouds.yaml, for the service and the token (default: OS_CLOUD)')
    .option('--cacert <file>', "the certificates that the service's must lead to, in PEM (default: OS_CACERT)");
}

/** Adds the flags for which project a request is made. */
export function withProjectFlags(command: Command): Command {
  return command
    .optionsGroup('Project:')
    .option('--all-projects', 'ask about the resources of all projects')
    .option('--sudo-project-id <id>', 'act for the project with this id');
}

/** Adds the flags that say how results are printed. */
export function withOutputFlags(command: Command): Command {
  return command
    .optionsGroup('Output:')
    .addOption(new Option('-f, --format <format>', 'how to print').choices(FORMATS).default('table'))
    .option('-c, --column <column>', 'print only this column; may be given several times', collect);
}

/** The connection that the flags ask for, on behalf of the project that they name. Throws `CommandError`. */
export async function connect(flags: ConnectionFlags & ProjectFlags, { environment }: Terminal): Promise<Connection> {
  const { allProjects, sudoProjectId } = flags;
  if (sudoProjectId !== undefined && !/^[\x21-\x7e]+$/.test(sudoProjectId)) {
    throw new CommandError(EXIT.usage, '--sudo-project-id must be printable ASCII characters without blanks');
  }
  return {
    ...(await findConnection(flags, environment)),
    headers: {
      ...(allProjects === true ? { 'x-auth-all-projects': 'true' } : {}),
      ...(sudoProjectId === undefined ? {} : { 'x-auth-sudo-project-id': sudoProjectId }),
    },
  };
}

/** Before anything is done: a misspelt column must not cost what is shown once. Throws `CommandError`. */
export function checkColumns({ column = [] }: OutputFlags, columns: readonly string[]): void {
  const unknown = column.filter((name) => !columns.includes(name));
  if (unknown.length > 0) throw new CommandError(EXIT.usage, `There is no column ${unknown.join(', ')}; there are ${columns.join(', ')}`);
}

/** Collects the values of a flag that may be given several times. */
export function collect(value: string, earlier: string[] | undefined): string[] {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return [...(earlier ?? []), value];
}
