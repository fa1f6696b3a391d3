import { Readable } from 'node:stream';
import { createProgram, runCommand } from '../../src/cli/program.ts';
import { COMMANDS } from '../../src/commands.ts';
import type { Terminal } from '../../src/cli/output/terminal.ts';
import { recordSecret, recordShown } from '../harness/evidence.ts';
import type { Ended } from './run.ts';

/**
 * The environment variables, the input and the terminal of a command. By default, a command has no
 * variables, empty input, and pipes for output. A `Client` has the variables of its own token.
 */
export interface RunOptions {
  readonly variables?: Readonly<Record<string, string>>;
  readonly input?: string | Terminal['input'];
  /** The width of the terminal for output, in characters. If undefined, output is a pipe. */
  readonly columns?: number;
  /** Whether standard error is a terminal of 80 columns, even if standard output is a pipe. */
  readonly errorTerminal?: boolean;
  readonly onInterrupt?: Terminal['onInterrupt'];
  /** Called after each write to standard output. */
  readonly onOutput?: () => void;
}

/** The terminal of a program that runs no command: empty input, and output that nobody reads. */
const NO_TERMINAL: Terminal = {
  environment: {},
  now: () => 0,
  input: Readable.from([]),
  out: { write: () => undefined },
  err: { write: () => undefined },
  onInterrupt: () => () => undefined,
};

/** Returns the program with all commands, to look at. */
export function wholeProgram() {
  return createProgram('0.0.0', COMMANDS, NO_TERMINAL);
}

/** Runs one command inside this process. Returns its output and its exit code. */
export async function runInside(runOptions: RunOptions, ...argv: string[]): Promise<Ended> {
  const {
    variables = {},
    input = '',
    columns,
    errorTerminal = false,
    onInterrupt = () => () => undefined,
    onOutput = () => undefined,
  } = runOptions;
  const printed = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    ...(columns === undefined ? {} : { isTTY: true, columns }),
    write: (text: string) => (printed[name] += text),
  });
  const terminal: Terminal = {
    environment: variables,
    now: Date.now,
    input: typeof input === 'string' ? Readable.from([input]) : input,
    out: {
      ...stream('out'),
      write(text) {
        printed.out += text;
        onOutput();
      },
    },
    err: { ...stream('err'), ...(errorTerminal ? { isTTY: true, columns: 80 } : {}) },
    onInterrupt,
  };
  const status = await runCommand(argv, '0.0.0', COMMANDS, terminal);
  for (const [token] of printed.out.matchAll(/tsigil_[\w-]{43}/g)) recordSecret(token);
  recordShown('error', printed.err);
  return { status, ...printed };
}
