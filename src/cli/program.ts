import { inspect } from 'node:util';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { findConnection, type ConnectionFlags } from './client.ts';
import { CommandError, EXIT } from './errors.ts';
import { withConnectionFlags } from './flags.ts';
import { FORMATS, formatItem, formatList, type OutputFlags } from './output.ts';
import type { Terminal } from './terminal.ts';
import { addTldImport } from './tld-import.ts';
import { createToken, listTokens, revokeToken, TOKEN_COLUMNS, type TokenRequest } from './token.ts';

/** The commands that work on this machine rather than over HTTP; the main program brings them. */
export interface LocalCommands {
  serve(config: string | undefined): Promise<void>;
  checkConfig(config: string | undefined): void;
  backUp(config: string | undefined, target: string): Promise<void>;
  migrate(config: string | undefined, from: string, to: string): Promise<void>;
}

/** Runs the command line `argv`, without the program's name, and returns the exit code. Errors are printed, not thrown. Without arguments, prints help. */
export async function runCommand(argv: readonly string[], version: string, local: LocalCommands, terminal: Terminal): Promise<number> {
  const program = createProgram(version, local, terminal);
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const hint = error instanceof CommandError ? error.hint : undefined;
    terminal.err.write(`tsigil: ${(error as Error).message}\n${hint === undefined ? '' : `${hint}\n`}`);
    if (program.opts<{ debug?: boolean }>().debug === true) terminal.err.write(`${inspect(error)}\n`);
    return error instanceof CommandError ? error.exitCode : EXIT.refused;
  }
}

function createProgram(version: string, local: LocalCommands, terminal: Terminal): Command {
  const program = new Command('tsigil')
    .description('DNS management service for TSIG keys and top-level domains')
    .version(version)
    .option('--debug', 'show where an error came from')
    .exitOverride()
    .configureOutput({ writeOut: (text) => void terminal.out.write(text), writeErr: (text) => void terminal.err.write(text) });
  const config = () => new Option('--config <file>', 'the configuration file').env('TSIGIL_CONFIG');
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .addOption(config())
    .action((flags: { config?: string }) => local.serve(flags.config));
  program
    .command('check-config')
    .description('check the configuration and print it as it takes effect, with secrets hidden')
    .addOption(config())
    .action((flags: { config?: string }) => {
      local.checkConfig(flags.config);
    });
  program
    .command('backup')
    .description('copy the embedded database into a new file while the service runs')
    .requiredOption('--to <file>', 'the file to write; it must not exist')
    .addOption(config())
    .action((flags: { config?: string; to: string }) => local.backUp(flags.config, flags.to));
  program
    .command('migrate')
    .description('copy everything from one database into another, and compare; stop the services on both first')
    .requiredOption('--from <database>', 'where to read, such as sqlite:var/tsigil.db')
    .requiredOption('--to <database>', 'where to write, such as postgres://tsigil@db.example/tsigil; a password comes from PGPASSWORD or ~/.pgpass')
    .addOption(config())
    .action((flags: { config?: string; from: string; to: string }) => local.migrate(flags.config, flags.from, flags.to));
  addTokenCommands(program.command('token').description('make, list and revoke the tokens by which callers identify themselves'), terminal);
  addTldImport(program.command('tld').description('fill the table of top-level domains'), terminal);
  return program;
}

type Flags = ConnectionFlags & OutputFlags;

function addTokenCommands(token: Command, { environment, now, out }: Terminal): void {
  const decorated = out.isTTY === true;
  token.addHelpText(
    'after',
    `
Examples:
  $ tsigil token create --name terraform --role reader --expires 90d
  $ TOKEN=$(tsigil token create --name ci --role admin -f value)
  $ tsigil token revoke terraform`,
  );
  withFlags(token.command('create'))
    .description('make a token and show it, this once; with -f value, print the token alone')
    .requiredOption('--name <name>', 'who or what the token is for; shown in the log')
    .requiredOption('--role <role>', 'a role of the holder; may be given several times', collect)
    .option('--project <id>', 'the project that the holder acts for')
    .option('--expires <time>', 'when the token ends: 2030-01-31T12:00:00 (UTC), or from now: 90d, 12h, 30m')
    .action(async (flags: Flags & TokenRequest) => {
      const columns = [...TOKEN_COLUMNS, 'token'];
      checkColumns(flags, columns);
      const created = await createToken(findConnection(flags, environment), flags, now());
      out.write(formatItem(created, flags.format === 'value' ? ['token'] : columns, flags, decorated));
    });
  withFlags(token.command('list'))
    .description('list all tokens; the tokens themselves are never shown again')
    .action(async (flags: Flags) => {
      checkColumns(flags, TOKEN_COLUMNS);
      out.write(formatList(await listTokens(findConnection(flags, environment)), TOKEN_COLUMNS, flags, decorated));
    });
  withConnectionFlags(token.command('revoke'))
    .description('revoke tokens; requests with them are refused from then on')
    .argument('<token...>', 'ids or names')
    .action(async (tokens: string[], flags: Flags) => {
      const connection = findConnection(flags, environment);
      for (const idOrName of tokens) await revokeToken(connection, idOrName);
    });
}

function withFlags(command: Command): Command {
  return withConnectionFlags(command)
    .addOption(new Option('-f, --format <format>', 'how to print').choices(FORMATS).default('table'))
    .option('-c, --column <column>', 'print only this column; may be given several times', collect);
}

/** Before anything is done: a misspelt column must not cost a token that is shown once. */
function checkColumns({ column = [] }: OutputFlags, columns: readonly string[]): void {
  const unknown = column.filter((name) => !columns.includes(name));
  if (unknown.length > 0) throw new CommandError(EXIT.usage, `There is no column ${unknown.join(', ')}; there are ${columns.join(', ')}`);
}

function collect(value: string, earlier: string[] | undefined): string[] {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return [...(earlier ?? []), value];
}
