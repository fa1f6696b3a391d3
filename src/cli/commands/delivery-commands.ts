import { Option, type Command } from 'commander';
import { REPORTING_UNKNOWN_KEYS } from '../../domain/brands/brands.ts';
import {
  KEY_REMOVAL_BODY,
  RECONCILE_BODY,
  RESUME_BODY,
} from '../../domain/actions/delivery-requests.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { NAME_SERVER_CHECK, RESUMED } from '../../domain/delivery/responses.ts';
import { readBody, withBody } from '../flags/action-flags.ts';
import { checkColumns, connect, withConnectionFlags, withOutputFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { printList, type OutputFlags } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { call, callFor } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { DELIVERY_COLUMNS, readDeliveries, waitForDelivery } from './deliveries.ts';
import { findId, findPath, givenName, withHints } from '../service/resource-requests.ts';
import { withForce } from './resource-commands.ts';

type Flags = ConnectionFlags & OutputFlags;

export function addKeyStatus(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('status')
    .description(
      'show on which name servers a tsigkey works; exit with 1 if a name server lacks the key',
    )
    .argument('<tsigkey>', 'id or name of the tsigkey')
    .addOption(new Option('--wait', 'wait up to 60 seconds until no delivery is pending'))
    .action(async (idOrName: string, flags: Flags & { readonly wait?: boolean }) => {
      checkColumns(flags, DELIVERY_COLUMNS);
      const connection = await connect(flags, terminal);
      const shown = await withHints(tsigkey, async () => {
        const path = await findPath(connection, tsigkey, idOrName);
        return flags.wait === true
          ? waitForDelivery(connection, path, terminal)
          : readDeliveries(connection, path, 0);
      });
      printList(terminal, shown.rows, DELIVERY_COLUMNS, flags);
      if (!shown.isDelivered) throw shown.failure;
    });
  addExamples(withConnectionFlags(withOutputFlags(command)), [
    'tsigil tsigkey status transfer',
    'tsigil tsigkey status transfer --wait -f json',
  ]);
}

export function addServerCheck(parent: Command, terminal: Terminal): void {
  const columns = ['requirement', 'ok', 'problem', 'hint'];
  const command = parent
    .command('check')
    .description(
      'check the requirements for delivery to a nameserver; exit with 1 if a requirement is not met',
    )
    .argument('<nameserver>', 'id or name of the nameserver')
    .action(async (idOrName: string, flags: Flags) => {
      checkColumns(flags, columns);
      const connection = await connect(flags, terminal);
      const { requirements } = await withHints(nameServer, async () => {
        const path = await findPath(connection, nameServer, idOrName);
        return callFor(NAME_SERVER_CHECK, connection, 'GET', `${path}/check`);
      });
      printList(terminal, requirements, columns, flags);
      const unmet = requirements.filter(({ ok }) => !ok);
      if (unmet.length === 0) return;
      const name = await givenName(connection, nameServer, idOrName);
      throw new CommandError(
        EXIT.refused,
        `${unmet.length} of ${requirements.length} requirements of '${name}' are not met`,
      );
    });
  addExamples(withConnectionFlags(withOutputFlags(command)), ['tsigil nameserver check ns1']);
}

/** Adds the command that starts a comparison of the keys on a name server. */
export function addReconcile(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('reconcile')
    .description('compare the keys on a nameserver with the desired keys now, and verify all keys')
    .argument('<nameserver>', 'id or name of the nameserver');
  withBody(command, RECONCILE_BODY).action(
    async (idOrName: string, flags: Flags & Readonly<Record<string, unknown>>) => {
      const body = readBody(RECONCILE_BODY, flags);
      const connection = await connect(flags, terminal);
      await withHints(nameServer, async () => {
        const path = await findPath(connection, nameServer, idOrName);
        await call(connection, 'POST', `${path}/reconcile`, body);
      });
      const name = await givenName(connection, nameServer, idOrName);
      terminal.out.write(`${plainText(`Requested a comparison of '${name}'.`)}\n`);
    },
  );
  addExamples(withConnectionFlags(command), [
    'tsigil nameserver reconcile ns1',
    'tsigil nameserver reconcile ns1 --confirm',
  ]);
}

export function addKeyRemoval(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('remove-key')
    .description(
      `remove a key from a ${REPORTING_UNKNOWN_KEYS} server that the database lacks: one of unknown_keys of the nameserver`,
    )
    .argument('<nameserver>', 'id or name of the nameserver');
  withBody(command, KEY_REMOVAL_BODY, {
    name: { flag: '<key>', description: 'name of the key' },
  });
  command.option('--force', 'remove the key even if a zone of the nameserver names it');
  command.action(async (idOrName: string, name: string, flags: Flags & { force?: true }) => {
    const body = readBody(KEY_REMOVAL_BODY, { name });
    const connection = withForce(await connect(flags, terminal), flags.force === true);
    await withHints(nameServer, async () => {
      const path = await findPath(connection, nameServer, idOrName);
      await call(connection, 'POST', `${path}/remove-key`, body);
    });
    terminal.out.write(`${plainText(`Requested the removal of '${name}'.`)}\n`);
  });
  addExamples(withConnectionFlags(command), ['tsigil nameserver remove-key ns4 former-key']);
}

export function addDeliveryCommands(program: Command, terminal: Terminal): void {
  const parent = program
    .command('delivery')
    .description('resume the delivery of keys that is held')
    .summary('resume the delivery of keys after the restore of a backup');
  addExamples(parent, ['tsigil delivery resume']);
  const command = parent
    .command('resume')
    .description(
      'end the state held: make the keys on the nameservers equal to the keys in the database, after a backup was restored',
    );
  withBody(command, RESUME_BODY, {
    nameserver_id: {
      flag: '--nameserver <nameserver>',
      description: 'resume only this nameserver, by id or name',
    },
  }).action(async ({ nameserver: idOrName, ...flags }: Flags & { nameserver?: string }) => {
    const connection = await connect(flags, terminal);
    const id =
      idOrName === undefined
        ? undefined
        : await withHints(nameServer, () => findId(connection, nameServer, idOrName));
    const body = readBody(RESUME_BODY, { nameserver_id: id });
    const path = '/v2/deliveries/resume';
    const { resumed } = await callFor(RESUMED, connection, 'POST', path, body);
    const names = resumed.map((name) => `'${name}'`).join(', ');
    terminal.out.write(
      `${plainText(names === '' ? 'Delivery is not held.' : `Resumed delivery to ${names}.`)}\n`,
    );
  });
  addExamples(withConnectionFlags(command), [
    'tsigil delivery resume',
    'tsigil delivery resume --nameserver ns1',
  ]);
}
