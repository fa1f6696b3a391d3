import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { defineCommand } from '../flags/command.ts';
import { toggle } from '../flags/flag.ts';
import { printList } from '../output/output.ts';
import { findPath, withHints } from '../service/resource-requests.ts';
import { readDeliveries, waitForDelivery } from './deliveries.ts';

export const keyStatus = defineCommand({
  name: 'status',
  description:
    'show on which name servers a tsigkey works; exit with 1 if a name server lacks the key',
  argument: ['<tsigkey>', 'id or name of the tsigkey'],
  flags: { wait: toggle('wait up to 60 seconds until no delivery is pending') },
  columns: ['name_server', 'state', 'verified_at', 'error'],
  examples: ['tsigil tsigkey status transfer', 'tsigil tsigkey status transfer --wait -f json'],
  async run({ argument: idOrName, columns, connect, flags, terminal }) {
    const connection = await connect();
    const shown = await withHints(tsigkey, async () => {
      const path = await findPath(connection, tsigkey, idOrName);
      return flags.wait === true
        ? waitForDelivery(connection, path, terminal)
        : readDeliveries(connection, path, 0);
    });
    printList(terminal, shown.rows, columns, flags);
    if (!shown.isDelivered) throw shown.failure;
  },
});
