import { EXIT } from './cli/output/command-error.ts';
import { runCommand, type Commands } from './cli/program.ts';
import { LOCAL_COMMANDS } from './local-commands.ts';
import { faultOf } from './net/faults.ts';
import { VERSION } from './version.ts';

export const COMMANDS: Commands = {
  local: LOCAL_COMMANDS,
  loadVerb: async () => (await import('./resource-table.ts')).addResourceVerb,
  loadAll: async () => (await import('./command-table.ts')).addAllCommands,
};

export async function main(): Promise<void> {
  // The program that reads the output may close the pipe early, as `head` does. Any other write error
  // is a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`tsigil: The output cannot be written: ${faultOf(error).message}\n`);
    process.exit(EXIT.refused);
  });
  // Without a listener, SIGUSR1 opens Node's inspector. Any user of this machine could then run code
  // in this process.
  process.on('SIGUSR1', () => undefined);
  process.stderr.on('error', () => {
    // Errors on standard error cannot be reported.
  });

  // Commander takes an empty variable for the name of a file.
  if (process.env.TSIGIL_CONFIG === '') delete process.env.TSIGIL_CONFIG;

  process.exitCode = await runCommand(process.argv.slice(2), VERSION, COMMANDS, {
    environment: process.env,
    now: Date.now,
    async findService() {
      const { findLocalService } = await import('./config/local-service.ts');
      return findLocalService(process.env);
    },
    // A getter, because reading process.stdin opens standard input.
    get input() {
      return process.stdin;
    },
    out: process.stdout,
    err: process.stderr,
    onInterrupt(stop) {
      const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
      for (const signal of signals) process.once(signal, stop);
      return () => {
        for (const signal of signals) process.off(signal, stop);
      };
    },
  });
}
