import { inspect } from 'node:util';
import { Argument, Command, CommanderError } from 'commander';
import { systemFault } from '../net/faults.ts';
import { completionScript, SHELLS, type Shell } from './completion.ts';
import { CommandError, EXIT } from './output/errors.ts';
import { addExamples } from './flags/help.ts';
import { addLocalCommands, type LocalCommands } from './commands/local-commands.ts';
import { plainLines } from './output/plain-text.ts';
import { addResourceCommands } from './commands/resource-commands.ts';
import { bold, textStyleOf, red, type Stream, type Terminal } from './output/terminal.ts';
import { addTldImport } from './commands/tld-import.ts';
import { addTokenRevoke } from './commands/token-revoke.ts';
import { addKeyCommands } from './commands/tsigkey-commands.ts';

/** Runs the command line `argv`, without the program's name, and returns the exit code. Errors are printed, not thrown. Without arguments, prints help. */
export async function runCommand(argv: readonly string[], version: string, local: LocalCommands, terminal: Terminal): Promise<number> {
  const program = createProgram(version, local, terminal);
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const { sentence, hint } = error instanceof CommandError ? { sentence: error.message, hint: error.hint } : sentenceOf(error);
    printError(terminal, `${sentence}\n${hint === undefined ? '' : `${hint}\n`}`);
    if (program.opts<{ debug?: boolean }>().debug === true) terminal.err.write(`${plainLines(inspect(error))}\n`);
    return error instanceof CommandError ? error.exitCode : EXIT.refused;
  }
}

/** The commands, with their flags and what they do. */
export function createProgram(version: string, local: LocalCommands, terminal: Terminal): Command {
  const { environment, out, err } = terminal;
  const coloursOf = (stream: Stream) => textStyleOf(stream, environment).colours;
  const program = new Command('tsigil')
    .description('DNS management service for TSIG keys and top-level domains')
    .version(version)
    .option('--debug', 'show where an error came from')
    .exitOverride()
    .configureHelp({ styleTitle: (title) => bold(title, { colours: true }) })
    .configureOutput({
      writeOut: (text) => void out.write(text),
      writeErr: (text) => void err.write(text),
      outputError: (text) => printError(terminal, text.replace(/^error: /, '')),
      getOutHelpWidth: () => out.columns ?? 80,
      getErrHelpWidth: () => err.columns ?? 80,
      getOutHasColors: () => coloursOf(out),
      getErrHasColors: () => coloursOf(err),
    })
    .showHelpAfterError('Add --help to see what there is.');
  addLocalCommands(program, local);
  addResourceCommands(program, terminal);
  addKeyCommands(program, terminal);
  const commandOf = (noun: string) => program.commands.find((command) => command.name() === noun) ?? program;
  addTldImport(commandOf('tld'), terminal);
  addTokenRevoke(commandOf('token'), terminal);
  addCompletion(program, out);
  addExamples(program, ['tsigil serve', 'tsigil tld create --name com', 'tsigil tsigkey list -f json', 'tsigil zone create --help']);
  return program;
}

/** Adds the command that prints a script for a shell. */
function addCompletion(program: Command, out: Stream): void {
  const completion = program
    .command('completion')
    .description('print a script by which a shell completes commands, flags and their values')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => void out.write(completionScript(program, shell)));
  addExamples(completion, [
    'tsigil completion bash > ~/.local/share/bash-completion/completions/tsigil',
    { command: 'tsigil completion zsh > /usr/local/share/zsh/site-functions/_tsigil', purpose: 'or any other folder in $fpath' },
    'tsigil completion fish > ~/.config/fish/completions/tsigil.fish',
  ]);
}

/** What to print of an error that no command expected, and what to try. */
function sentenceOf(error: unknown): { readonly sentence: string; readonly hint: string | undefined } {
  return systemFault(error) ?? { sentence: error instanceof Error ? error.message : String(error), hint: undefined };
}

/** Prints an error. Messages may quote servers and files. */
function printError({ err, environment }: Terminal, text: string): void {
  err.write(`${red('tsigil:', textStyleOf(err, environment))} ${plainLines(text)}`);
}
