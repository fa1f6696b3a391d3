import { LIFECYCLE, type ShownLifecycle } from '../lifecycle-response.ts';
import { shellCommand } from '../../core/text/shell-word.ts';
import { defineCommand, type CommonFlags, type Run } from '../../cli/flags/command.ts';
import { texts, toggle } from '../../cli/flags/flag.ts';
import { isWhole } from '../../cli/flags/flags.ts';
import { printItem, printList, type OutputFlags } from '../../cli/output/output.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { callFor } from '../../cli/service/client.ts';
import {
  factsOf,
  findLineage,
  keyPath,
  namedKey,
  successorOf,
  withRotationHints,
  type LineageKey,
} from './lineages.ts';
import { holdersOf, waitForRemoval } from '../../delivery/commands/deliveries.ts';

const COLUMNS = ['name', 'algorithm', 'state', 'created_at', 'started_at', 'retire_at', 'waiting'];

const MEMBERS = ['handle', 'owner', 'purpose', 'consumers', 'keys'];

const FORCE = 'even if a client may still need the key that goes';

const REPLACED = ['<tsigkey>', 'id or name of the tsigkey that is being replaced'] as const;

export const LIFECYCLE_COMMANDS = [
  defineCommand({
    name: 'lifecycle',
    description:
      'show a tsigkey with those that it replaced or that replace it, what a rotation waits for, and what to do',
    argument: ['<tsigkey>', 'id or name of the tsigkey, living or retired'],
    columns: COLUMNS,
    examples: ['tsigil tsigkey lifecycle transfer', 'tsigil tsigkey lifecycle transfer -f json'],
    async run({ argument: idOrName, connect, flags, terminal }) {
      printLifecycle(await findLineage(await connect(), idOrName), flags, terminal);
    },
  }),
  defineCommand({
    name: 'confirm',
    description:
      'confirm that clients use the successor of a tsigkey; after the last one, the overlap begins',
    argument: REPLACED,
    flags: {
      consumer: texts(
        '<name>',
        'confirm only for this consumer; repeat the flag for more consumers (default: all clients)',
      ),
    },
    columns: COLUMNS,
    examples: ['tsigil tsigkey confirm transfer', 'tsigil tsigkey confirm transfer --consumer ns3'],
    run: (run) => takeStep(run, 'confirm', { consumers: run.flags.consumer }),
  }),
  defineCommand({
    name: 'retire',
    description: 'remove a tsigkey that has a successor from all name servers now',
    argument: REPLACED,
    flags: {
      force: toggle(`retire the key ${FORCE}`),
      wait: toggle('wait up to 60 seconds until every name server that had the key refuses it'),
    },
    columns: COLUMNS,
    examples: [
      'tsigil tsigkey retire transfer --wait',
      'tsigil tsigkey retire transfer --force  # its clients fail until they have the successor',
    ],
    run: (run) => takeStep(run, 'retire'),
  }),
  defineCommand({
    name: 'abort',
    description: 'delete the successor of a tsigkey, which then works on as before',
    argument: REPLACED,
    flags: { force: toggle(`delete the successor ${FORCE}`) },
    columns: COLUMNS,
    examples: ['tsigil tsigkey abort transfer'],
    run: (run) => takeStep(run, 'abort'),
  }),
  defineCommand({
    name: 'restore',
    description: 'make a retired tsigkey valid again, with the same secret',
    argument: ['<tsigkey>', 'id or name of the retired tsigkey'],
    columns: COLUMNS,
    examples: ['tsigil tsigkey restore transfer'],
    run: (run) => takeStep(run, 'restore'),
  }),
];

async function takeStep(
  run: Run<string, CommonFlags & { readonly wait?: true }>,
  step: 'retire' | 'abort' | 'confirm' | 'restore',
  body?: object,
): Promise<void> {
  const { argument: idOrName, connect, flags, terminal } = run;
  const connection = await connect();
  const { id, name } = namedKey(await findLineage(connection, idOrName), step !== 'restore');
  const key = { name, path: keyPath(id) };
  const holders = flags.wait === true ? await holdersOf(connection, key, true) : undefined;
  const shown = await withRotationHints(name, () =>
    callFor(LIFECYCLE, connection, 'POST', `${key.path}/${step}`, body),
  );
  printLifecycle(shown, flags, terminal);
  if (holders === undefined || holders.servers.length === 0) return;
  const { now, err } = terminal;
  await waitForRemoval(connection, [holders], { now, out: err, err }, 'Retired');
}

function printLifecycle(shown: ShownLifecycle, flags: OutputFlags, terminal: Terminal): void {
  if (isWhole(flags)) {
    printItem(terminal, shown, MEMBERS, flags);
    return;
  }
  const rows = shown.keys.map((key) => ({
    ...key,
    retire_at: key.state === 'retired' ? null : key.retire_at,
    waiting: key.waiting?.reason,
  }));
  printList(terminal, rows, COLUMNS, flags);
  for (const line of [...factsOf(shown), ...shown.keys.flatMap((key) => adviceOn(key, shown))])
    writeLine(terminal.err, line);
}

function adviceOn(key: LineageKey, lineage: ShownLifecycle): string[] {
  const { name, state, waiting, retire_at: retireAt, used_after_retirement: use } = key;
  const successor = successorOf(lineage, key)?.name ?? 'its successor';
  const who = waiting?.who.join(', ') ?? '';
  const command = (verb: string, of = name) => shellCommand(`tsigil tsigkey ${verb}`, of);
  if (state === 'retired')
    return use === null
      ? []
      : [
          `${name}: name servers refused it ${use.count} times since its retirement, last at ${use.last_at}${use.addresses.length === 0 ? '' : `, from ${use.addresses.join(', ')}`}. Give the client '${successor}', or make the key valid again: ${command('restore')}`,
        ];
  const texts: Readonly<Record<NonNullable<LineageKey['waiting']>['reason'], string>> = {
    not_verified: `not every name server accepts '${successor}' yet (${who}): ${command('status', successor)}`,
    unconfirmed: `${who} was not seen with '${successor}'. After a change there: ${command('confirm')}`,
    unknown_consumers: `${who === '' ? 'no log shows every use' : `not every use of a whole day is known on ${who} (to see it, run: ${command('uses')})`}. Give all clients '${successor}', and then run: ${command('confirm')}`,
    in_use: `still used by ${who}. Give this client '${successor}'`,
    referenced: `named in ${who === '' ? 'the configuration of a name server' : who}. Put '${successor}' there`,
    manual: `when no client needs it, run: ${command('retire')}`,
  };
  if (waiting !== null) return [`${name}: ${texts[waiting.reason]}`];
  return state === 'draining' && retireAt !== null ? [`${name}: works until ${retireAt}`] : [];
}
