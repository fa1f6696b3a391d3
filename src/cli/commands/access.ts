import type { Command } from 'commander';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { checkColumns, connect, withConnectionFlags, withOutputFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { printList, type OutputFlags } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { call } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { findPath, itemsOf } from '../service/resource-requests.ts';
import { withLimits } from '../service/token-limits.ts';

const TABLE_COLUMNS = ['kind', 'name', 'rights', 'limits', 'expires_at', 'last_used_at'];
const COLUMNS = ['kind', 'id', 'name', 'roles', ...TABLE_COLUMNS.slice(2)];

export function addAccess(program: Command, terminal: Terminal): void {
  const command = program
    .command('access')
    .description(
      'list the tokens and roles that can read the secret of a key, or of any key, with the rights and limits of each',
    )
    .summary('list who can read secrets')
    .argument('[tsigkey]', 'id or name of the tsigkey (default: any tsigkey)')
    .action(async (idOrName: string | undefined, flags: ConnectionFlags & OutputFlags) => {
      checkColumns(flags, COLUMNS);
      const connection = await connect(flags, terminal);
      const path =
        idOrName === undefined
          ? '/v2/access'
          : `${await findPath(connection, tsigkey, idOrName)}/access`;
      const found = await call(connection, 'GET', path);
      const tokens = await withLimits(connection, itemsOf(found, 'tokens'));
      const roles = itemsOf(found, 'roles').map(({ role, rights }) => ({
        name: role,
        roles: [role],
        rights,
        limits: '',
        id: null,
        expires_at: null,
        last_used_at: null,
      }));
      const rows = [
        ...tokens.map((token) => ({ kind: 'token', ...token })),
        ...roles.map((role) => ({ kind: 'role', ...role })),
      ];
      const isTable = flags.format === undefined || flags.format === 'table';
      printList(terminal, rows, isTable ? TABLE_COLUMNS : COLUMNS, flags);
    });
  withConnectionFlags(withOutputFlags(command));
  addExamples(command, [
    'tsigil access',
    { command: 'tsigil access transfer-key', purpose: 'list who can read the secret of a key' },
    'tsigil access transfer-key -f json',
  ]);
}
