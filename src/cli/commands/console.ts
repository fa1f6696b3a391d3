import type { Command } from 'commander';
import { anyText, timestamp } from '../../domain/model/field.ts';
import { responseObject } from '../../domain/model/object.ts';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { callFor } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';

const CODE = responseObject({ code: anyText(), expires_at: timestamp() });

/** Adds the command that prints a link to sign in to the web console. */
export function addConsole(program: Command, terminal: Terminal): void {
  const command = program
    .command('console')
    .description(
      'print a link that signs a browser in to the web console with the token in use; the link works once, within a minute',
    )
    .summary('print a link to sign in to the web console')
    .action(async (flags: ConnectionFlags) => {
      const connection = await connect(flags, terminal);
      const { code } = await callFor(CODE, connection, 'POST', '/console/code', {});
      // A browser sends no fragment to a server, so no log and no proxy has the code.
      terminal.out.write(
        `${plainText(connection.url)}/console/#code=${encodeURIComponent(code)}\n`,
      );
    });
  withConnectionFlags(command);
  addExamples(command, ['tsigil console', 'xdg-open "$(tsigil console)"']);
}
