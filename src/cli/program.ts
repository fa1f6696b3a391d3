import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { placedFault } from '../net/faults.ts';
import { addCommand, type CommandDefinition } from './flags/command.ts';
import { reportUsageErrors } from './flags/usage-errors.ts';
import { CommandError, EXIT } from './output/command-error.ts';
import { plainLines } from './output/plain-text.ts';
import { bold, textStyleOf, red, type Stream, type Terminal } from './output/terminal.ts';
import { formatHelp, optionDescription } from './root-help.ts';

/** The commands of the program. A command line loads only those that it needs. */
export interface Commands {
  /** Those that run on this machine, such as `serve`. */
  readonly local: readonly CommandDefinition[];
  loadVerb(): Promise<AddVerb>;
  loadAll(): Promise<AddAll>;
}

/** Adds only the command of one verb, such as `tsigkey list`. Returns false if there is none. */
export type AddVerb = (program: Command, argv: readonly string[], terminal: Terminal) => boolean;

export type AddAll = (program: Command, terminal: Terminal) => void;

/**
 * Runs the command line `argv`, which excludes the program's name, and returns the exit code.
 * Prints errors instead of throwing them. Without arguments, prints help.
 */
export async function runCommand(
  argv: readonly string[],
  version: string,
  commands: Commands,
  terminal: Terminal,
): Promise<number> {
  const program = await programFor(argv, version, commands, terminal);
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const { message, hint } = error instanceof CommandError ? error : placedFault(error);
    printError(terminal, `${message}\n${hint === undefined ? '' : `${hint}\n`}`);
    if (program.opts<{ debug?: boolean }>().debug === true)
      terminal.err.write(`${plainLines(inspect(error))}\n`);
    return error instanceof CommandError ? error.exitCode : EXIT.refused;
  }
}

export async function createProgram(
  version: string,
  commands: Commands,
  terminal: Terminal,
): Promise<Command> {
  const program = emptyProgram(version, terminal);
  const addAll = await commands.loadAll();
  addAll(program, terminal);
  reportUsageErrors(program);
  return program;
}

/**
 * Creates the program for the command line `argv`. For a verb of a resource and for a command that
 * runs on this machine, such as `serve`, loads only that command, because loading all commands
 * takes longer than a request.
 */
async function programFor(
  argv: readonly string[],
  version: string,
  commands: Commands,
  terminal: Terminal,
): Promise<Command> {
  const program = emptyProgram(version, terminal);
  const alone = commands.local.find(({ name }) => name === argv[0]);
  if (alone !== undefined) addCommand(program, alone, terminal);
  else if (
    (argv[1]?.startsWith('-') ?? true) ||
    !(await commands.loadVerb())(program, argv, terminal)
  )
    return createProgram(version, commands, terminal);
  reportUsageErrors(program);
  return program;
}

function emptyProgram(version: string, terminal: Terminal): Command {
  const { environment, out, err } = terminal;
  const coloursOf = (stream: Stream) => textStyleOf(stream, environment).colours;
  return new Command('tsigil')
    .description('DNS management service for TSIG keys and top-level domains')
    .version(version)
    .option('--debug', 'print the stack trace of an error')
    .exitOverride()
    .configureHelp({
      styleTitle: (title) => bold(title, { colours: true }),
      formatHelp,
      optionDescription,
    })
    .configureOutput({
      writeOut: (text) => void out.write(text),
      writeErr: (text) => void err.write(text),
      outputError: (text) => printError(terminal, text.replace(/^error: /, '')),
      getOutHelpWidth: () => out.columns ?? 80,
      getErrHelpWidth: () => err.columns ?? 80,
      getOutHasColors: () => coloursOf(out),
      getErrHasColors: () => coloursOf(err),
    })
    .showHelpAfterError('Run the command with --help to see its usage.');
}

/** Escapes unprintable characters, because messages may quote servers and files. */
function printError({ err, environment }: Terminal, text: string): void {
  err.write(`${red('tsigil:', textStyleOf(err, environment))} ${plainLines(text)}`);
}
