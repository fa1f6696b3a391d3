import { Option, type Command } from 'commander';
import { LIFECYCLE, type ShownLifecycle } from '../../domain/rotation/shown.ts';
import { shellCommand } from '../../domain/text/shell-word.ts';
import {
  checkColumns,
  collect,
  connect,
  withConnectionFlags,
  withOutputFlags,
} from '../flags/flags.ts';
import { addExamples, type Example } from '../flags/help.ts';
import { printItem, printList, type OutputFlags } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { callFor, type Connection } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import {
  factsOf,
  findLineage,
  keyPath,
  replacedKey,
  retiredKeyOf,
  successorOf,
  withRotationHints,
  type LineageKey,
  type NamedLineage,
} from '../service/lineages.ts';
import { holdersOf, waitForRemoval } from './deliveries.ts';
import { withForce } from './resource-commands.ts';

const COLUMNS = ['name', 'algorithm', 'state', 'created_at', 'started_at', 'retire_at', 'waiting'];

const MEMBERS = ['handle', 'owner', 'purpose', 'consumers', 'keys'];

type Flags = ConnectionFlags & OutputFlags & { force?: true; wait?: true; consumer?: string[] };

/** A step that an operator takes by hand. */
interface Step {
  readonly name: 'retire' | 'abort' | 'confirm' | 'restore';
  readonly description: string;
  readonly argument: string;
  readonly options: readonly Option[];
  readonly examples: readonly (string | Example)[];
  /** Returns the key to which the step applies. Throws `CommandError`. */
  keyOf(lineage: NamedLineage, isForced: boolean): LineageKey;
}

const FORCE = 'even if a client may still need the key that goes';

const STEPS: readonly Step[] = [
  {
    name: 'confirm',
    description:
      'confirm that clients use the successor of a tsigkey; after the last one, the overlap begins',
    argument: 'id or name of the tsigkey that is being replaced',
    options: [
      new Option(
        '--consumer <name>',
        'confirm only for this consumer; repeat the flag for more consumers (default: all clients)',
      ).argParser(collect),
    ],
    examples: ['tsigil tsigkey confirm transfer', 'tsigil tsigkey confirm transfer --consumer ns3'],
    keyOf: (lineage) => replacedKey(lineage, 'tsigil tsigkey confirm', false),
  },
  {
    name: 'retire',
    description: 'remove a tsigkey that has a successor from all name servers now',
    argument: 'id or name of the tsigkey that is being replaced',
    options: [
      new Option('--force', `retire the key ${FORCE}`),
      new Option(
        '--wait',
        'wait up to 60 seconds until every name server that had the key refuses it',
      ),
    ],
    examples: [
      'tsigil tsigkey retire transfer --wait',
      {
        command: 'tsigil tsigkey retire transfer --force',
        purpose: 'its clients fail until they have the successor',
      },
    ],
    // A command that is repeated by force must not reach the next key of the lineage.
    keyOf: (lineage, isForced) =>
      replacedKey(
        lineage,
        `tsigil tsigkey retire${isForced ? ' --force' : ''}`,
        isForced || lineage.named?.state === 'active',
      ),
  },
  {
    name: 'abort',
    description: 'delete the successor of a tsigkey, which then works on as before',
    argument: 'id or name of the tsigkey that is being replaced',
    options: [new Option('--force', `delete the successor ${FORCE}`)],
    examples: ['tsigil tsigkey abort transfer'],
    // Whoever names the successor means the key that goes.
    keyOf: (lineage, isForced) =>
      replacedKey(
        lineage,
        `tsigil tsigkey abort${isForced ? ' --force' : ''}`,
        isForced && lineage.named?.state !== 'active',
      ),
  },
  {
    name: 'restore',
    description: 'make a retired tsigkey valid again, with the same secret',
    argument: 'id or name of the retired tsigkey',
    options: [],
    examples: ['tsigil tsigkey restore transfer'],
    keyOf: retiredKeyOf,
  },
];

/** Adds the commands that show a rotation, and take one of its steps by hand. */
export function addLifecycle(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('lifecycle')
    .description(
      'show a tsigkey with those that it replaced or that replace it, what a rotation waits for, and what to do',
    )
    .argument('<tsigkey>', 'id or name of the tsigkey, living or retired')
    .action(async (idOrName: string, flags: Flags) => {
      checkColumns(flags, COLUMNS);
      const connection = await connect(flags, terminal);
      printLifecycle(await findLineage(connection, idOrName), flags, terminal);
    });
  addExamples(withConnectionFlags(withOutputFlags(command)), [
    'tsigil tsigkey lifecycle transfer',
    'tsigil tsigkey lifecycle transfer -f json',
  ]);
  for (const step of STEPS) addStep(parent, step, terminal);
}

function addStep(parent: Command, step: Step, terminal: Terminal): void {
  const { name, description, argument, options, examples } = step;
  const command = parent.command(name).description(description).argument('<tsigkey>', argument);
  for (const option of options) command.addOption(option);
  command.action(async (idOrName: string, flags: Flags) => {
    checkColumns(flags, COLUMNS);
    const { force, wait, consumer: consumers } = flags;
    const connection = withForce(await connect(flags, terminal), force === true);
    const key = step.keyOf(await findLineage(connection, idOrName), force === true);
    const body =
      name === 'confirm' ? { ...(consumers === undefined ? {} : { consumers }) } : undefined;
    const known = { name: key.name, path: keyPath(key.id) };
    const holders = wait === true ? await holdersOf(connection, DELIVERED, known, true) : undefined;
    printLifecycle(await takeStep(connection, key, name, body), flags, terminal);
    if (holders === undefined || holders.servers.length === 0) return;
    const { now, err } = terminal;
    await waitForRemoval(connection, [holders], { now, out: err, err }, 'Retired');
  });
  addExamples(withConnectionFlags(withOutputFlags(command)), examples);
}

/** The service delivers keys. */
const DELIVERED = { isDelivered: true } as const;

function takeStep(
  connection: Connection,
  { id, name }: LineageKey,
  step: string,
  body?: object,
): Promise<ShownLifecycle> {
  return withRotationHints(name, () =>
    callFor(LIFECYCLE, connection, 'POST', `${keyPath(id)}/${step}`, body),
  );
}

/** Prints a lineage, and in a table what to do next. */
function printLifecycle(shown: ShownLifecycle, flags: OutputFlags, terminal: Terminal): void {
  const { format, column } = flags;
  if ((format === 'json' || format === 'yaml') && column === undefined) {
    printItem(terminal, shown, MEMBERS, { format });
    return;
  }
  const rows = shown.keys.map((key) => ({
    name: key.name,
    algorithm: key.algorithm,
    state: key.state,
    created_at: key.created_at,
    started_at: key.started_at,
    retire_at: key.state === 'retired' ? null : key.retire_at,
    waiting: key.waiting?.reason ?? null,
  }));
  printList(terminal, rows, COLUMNS, flags);
  for (const line of [...factsOf(shown), ...shown.keys.flatMap((key) => adviceOn(key, shown))])
    terminal.err.write(`${plainText(line)}\n`);
}

/** Returns what a rotation waits for, and what to do. */
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
