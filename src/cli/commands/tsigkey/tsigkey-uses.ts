import type { Command } from 'commander';
import { coverageText, KEY_USES } from '../../../domain/delivery/key-uses.ts';
import { tsigkey } from '../../../domain/resources/tsigkey.ts';
import { timestampOf } from '../../../domain/text/timestamps.ts';
import { checkColumns, connect, withConnectionFlags, withOutputFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { printItem, printList, type OutputFlags } from '../../output/output.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Terminal } from '../../output/terminal.ts';
import { callFor } from '../../service/client.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { findPath, withHints } from '../../service/resource-requests.ts';

const COLUMNS = ['name_server', 'state', 'operation', 'outcome', 'address', 'last_at', 'count'];

export function addKeyUses(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('uses')
    .description('show which name servers saw a use of a tsigkey, by which client, and when')
    .argument('<tsigkey>', 'id or name of the tsigkey')
    .action(async (idOrName: string, flags: ConnectionFlags & OutputFlags) => {
      checkColumns(flags, COLUMNS);
      const connection = await connect(flags, terminal);
      const shown = await withHints(tsigkey, async () => {
        const path = await findPath(connection, tsigkey, idOrName);
        return callFor(KEY_USES, connection, 'GET', `${path}/uses`);
      });
      const { format, column } = flags;
      if ((format === 'json' || format === 'yaml') && column === undefined) {
        printItem(terminal, shown, ['key_id', 'servers'], { format });
        return;
      }
      const rows = shown.servers.flatMap(({ name_server: name, state, uses }) =>
        (uses.length === 0 ? [{}] : uses).map((use) => ({ name_server: name, state, ...use })),
      );
      printList(terminal, rows, COLUMNS, flags);
      const now = timestampOf(terminal.now());
      for (const { name_server: name, since, reason } of shown.servers) {
        const text = since === null ? (reason ?? '') : coverageText(since, now);
        terminal.err.write(`${plainText(`${name}: ${text}`)}\n`);
      }
    });
  addExamples(withConnectionFlags(withOutputFlags(command)), [
    'tsigil tsigkey uses transfer',
    'tsigil tsigkey uses transfer -f json',
  ]);
}
