import { inspect } from 'node:util';
import { Argument, Command, CommanderError } from 'commander';
import { systemFault } from '../net/faults.ts';
import { completionScript, SHELLS, type Shell } from './completion.ts';
import { CommandError, EXIT } from './output/errors.ts';
import { addExamples } from './flags/help.ts';
import { RESOURCE_COMMANDS } from './flags/resource-table.ts';
import { reportUsageErrors } from './flags/usage-errors.ts';
import { addHelpCommand, COMMAND_GROUPS, formatHelp, optionDescription } from './root-help.ts';
import { addAuditCommands } from './commands/audit/audit-commands.ts';
import { addDeliveryCommands } from './commands/delivery-commands.ts';
import { addEncryptionCommands } from './commands/encryption-commands.ts';
import { addLocalCommands, type LocalCommands } from './commands/local-commands.ts';
import { addNameList } from './commands/name-list.ts';
import { plainLines } from './output/plain-text.ts';
import { addResourceCommands } from './commands/resource-commands.ts';
import { bold, textStyleOf, red, type Stream, type Terminal } from './output/terminal.ts';
import { acceptConnectionFlagsFirst } from './flags/flags.ts';
import { addSessionCommands } from './commands/session-commands.ts';
import { addTldImport } from './commands/tld-import.ts';
import { addTokenRevoke } from './commands/token-revoke.ts';
import { addKeyCommands } from './commands/tsigkey/tsigkey-commands.ts';

/**
 * Runs the command line `argv`, which excludes the program's name, and returns the exit code.
 * Prints errors instead of throwing them. Without arguments, prints help.
 */
export async function runCommand(
  argv: readonly string[],
  version: string,
  local: LocalCommands,
  terminal: Terminal,
): Promise<number> {
  const program = createProgram(version, local, terminal);
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const { sentence, hint } =
      error instanceof CommandError
        ? { sentence: error.message, hint: error.hint }
        : sentenceOf(error);
    printError(terminal, `${sentence}\n${hint === undefined ? '' : `${hint}\n`}`);
    if (program.opts<{ debug?: boolean }>().debug === true)
      terminal.err.write(`${plainLines(inspect(error))}\n`);
    return error instanceof CommandError ? error.exitCode : EXIT.refused;
  }
}

/** Creates the program with all commands and flags. */
export function createProgram(version: string, local: LocalCommands, terminal: Terminal): Command {
  const { environment, out, err } = terminal;
  const coloursOf = (stream: Stream) => textStyleOf(stream, environment).colours;
  const program = new Command('tsigil')
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
  program.commandsGroup(COMMAND_GROUPS.resources);
  addResourceCommands(program, terminal);
  addKeyCommands(program, terminal);
  const commandOf = (noun: string) =>
    program.commands.find((command) => command.name() === noun) ?? program;
  addTldImport(commandOf('tld'), terminal);
  addTokenRevoke(commandOf('token'), terminal);
  for (const { type, plural } of RESOURCE_COMMANDS) describeVerbs(commandOf(type.noun), plural);
  addDeliveryCommands(program, terminal);
  program.commandsGroup(COMMAND_GROUPS.client);
  addSessionCommands(program, terminal);
  addCompletion(program, out);
  addNameList(program, terminal);
  addHelpCommand(program);
  program.commandsGroup(COMMAND_GROUPS.service);
  addLocalCommands(program, local);
  addEncryptionCommands(program, local, terminal);
  addAuditCommands(program, terminal);
  acceptConnectionFlagsFirst(program);
  reportUsageErrors(program);
  return program;
}

/** Sets the summary of a command for resources: the names of its subcommands. */
function describeVerbs(command: Command, plural: string): void {
  const verbs = command.commands.map((each) => each.name());
  command.summary(`${verbs.slice(0, -1).join(', ')} and ${verbs.at(-1)} ${plural}`);
}

/** Adds the command that prints a completion script. */
function addCompletion(program: Command, out: Stream): void {
  const completion = program
    .command('completion')
    .description('print a shell script that completes commands, flags and their values')
    .summary('print a script that completes commands in a shell')
    .addArgument(new Argument('<shell>', 'shell that runs the script').choices(SHELLS))
    .action((shell: Shell) => void out.write(completionScript(program, shell)));
  addExamples(completion, [
    'tsigil completion bash > ~/.local/share/bash-completion/completions/tsigil',
    {
      command: 'tsigil completion zsh > /usr/local/share/zsh/site-functions/_tsigil',
      purpose: 'any folder in $fpath works',
    },
    'tsigil completion fish > ~/.config/fish/completions/tsigil.fish',
  ]);
}

/** Returns the message and the hint for an error that no command expected. */
function sentenceOf(error: unknown): {
  readonly sentence: string;
  readonly hint: string | undefined;
} {
  return (
    systemFault(error) ?? {
      sentence: error instanceof Error ? error.message : String(error),
      hint: undefined,
    }
  );
}

/**
 * Prints an error. Escapes unprintable characters, because messages may quote servers and files.
 */
function printError({ err, environment }: Terminal, text: string): void {
  err.write(`${red('tsigil:', textStyleOf(err, environment))} ${plainLines(text)}`);
}
