import type { Command } from 'commander';
import { findConnection, type Connection, type ConnectionFlags } from './client.ts';
import type { Terminal } from './terminal.ts';

/** Adds the flags that say which service is meant. */
export function withConnectionFlags(command: Command): Command {
  return command
    .option('--url <url>', 'the service (default: TSIGIL_URL, else http://127.0.0.1:9001)')
    .option('--token-file <file>', 'a file that holds the token (default: TSIGIL_TOKEN, else var/admin.token)');
}

/** The connection that the flags ask for. Throws `CommandError`. */
export async function connect(flags: ConnectionFlags, { environment }: Terminal): Promise<Connection> {
  return Promise.resolve(findConnection(flags, environment));
}
