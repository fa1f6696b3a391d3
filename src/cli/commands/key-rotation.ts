import { setTimeout as pause } from 'node:timers/promises';
import { Option, type Command } from 'commander';
import { ALGORITHM_NAMES, weaknessOf } from '../../domain/dns/algorithms.ts';
import { KEY_USES } from '../../domain/delivery/key-uses.ts';
import { RETIREMENTS } from '../../domain/resources/lineage.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { LIFECYCLE } from '../../domain/rotation/shown.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import { parts } from '../../domain/scheduling/slicer.ts';
import { firstOf } from '../../domain/text/first-of.ts';
import { millisecondsOf } from '../../domain/text/timestamps.ts';
import { shellCommand } from '../../domain/text/shell-word.ts';
import { checkColumns, connect, withConnectionFlags, withOutputFlags } from '../flags/flags.ts';
import { assertUsableName } from '../flags/key-name.ts';
import { addExamples } from '../flags/help.ts';
import { readReferences } from '../flags/references.ts';
import type { FlagValues } from '../flags/resource-flags.ts';
import { columnsOf } from '../flags/resource-table.ts';
import { hideSecret, readSecret, revealOptions, secretOptions } from '../flags/secret-flags.ts';
import { readDuration, readPastTime } from '../flags/time.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import {
  declareDestructive,
  type Confirm,
  type ConfirmationFlags,
} from '../output/confirmation.ts';
import { plainCell, printItem, printList, type OutputFlags } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { call, callFor, type Connection } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { statesOf } from '../service/key-states.ts';
import { currentKey, findLineage, keyPath, withRotationHints } from '../service/lineages.ts';
import {
  assertMayReveal,
  listItems,
  withoutSecrets,
  type Item,
} from '../service/resource-requests.ts';
import { INTERVAL_MS, MAX_WAIT_MS, waitForDelivery, waitIfAsked } from './deliveries.ts';
import { withForce } from './resource-commands.ts';

interface RotateFlags extends ConnectionFlags, OutputFlags, ConfirmationFlags, FlagValues {
  readonly name?: string;
  readonly algorithm?: string;
  readonly overlap?: string;
  readonly retire?: string;
  readonly inPlace?: true;
  readonly compromised?: true;
  readonly weak?: true;
  readonly olderThan?: string;
  readonly pool?: string;
  readonly dryRun?: true;
  readonly force?: true;
}

/** The algorithm that replaces a weak one, unless the user states another. */
const STRONG = 'hmac-sha256';

const PLAN_COLUMNS = ['name', 'algorithm', 'becomes', 'name_servers', 'who_must_act'];

/** The flags of a single key. */
const SINGLE = ['name', 'secret', 'secretFile', 'inPlace', 'compromised', 'reveal', 'force'];

export function addKeyRotation(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('rotate')
    .description(
      'replace tsigkeys by successors with the same scope and grants; both work until every client has the new one',
    )
    .argument(
      '[tsigkey...]',
      'ids or names of the tsigkeys; the name of the first key of a lineage is enough',
    )
    .option(
      '--name <name>',
      'name of the successor (default: -r2, -r3 and so on after the first label)',
    )
    .addOption(
      new Option(
        '--algorithm <algorithm>',
        `TSIG algorithm of the successor (default: that of the key, or ${STRONG} with --weak if that one is weak)`,
      ).choices(ALGORITHM_NAMES),
    )
    .option(
      '--overlap <time>',
      'how long both keys work after every client could move, such as 7d (default: the setting tsigkeys.overlapSeconds)',
    )
    .addOption(
      new Option(
        '--retire <how>',
        'automatic: retire the key even if the logs of name servers do not show every use; manual: only by "tsigil tsigkey retire" (default: as soon as no client needs the key)',
      ).choices(RETIREMENTS),
    )
    .option(
      '--in-place',
      'keep the name and replace only the secret; clients fail until they get it',
    )
    .option('--compromised', 'delete the key at once, because others know its secret');
  for (const option of [...secretOptions(tsigkey, true).slice(0, 2), ...revealOptions(tsigkey)])
    command.addOption(option);
  command
    .addOption(new Option('--weak', 'replace all keys with a weak algorithm or a short secret'))
    .addOption(
      new Option(
        '--older-than <time>',
        'replace all keys whose secret is older than this, such as 365d',
      ),
    )
    .addOption(
      new Option(
        '--pool <pool>',
        'with --weak or --older-than, only keys of this pool (name or id)',
      ),
    )
    .addOption(
      new Option('--dry-run', 'show what would change and who must act, and change nothing'),
    )
    .option(
      '--force',
      'with --compromised, even if the configuration of a nameserver names the key; also accept a --name that no name server can have',
    )
    .option('--wait', 'wait up to 60 seconds until every name server has verified the successor');
  const confirm = declareDestructive(
    command,
    'before --in-place or --compromised makes clients fail',
  );
  command.action(async (idsOrNames: string[], flags: RotateFlags) => {
    const isSelected = flags.weak === true || flags.olderThan !== undefined;
    const isSingle = idsOrNames.length === 1 && flags.dryRun !== true;
    checkColumns(flags, isSingle ? columnsOf(tsigkey) : PLAN_COLUMNS);
    if (idsOrNames.length > 0 === isSelected)
      throw new CommandError(
        EXIT.usage,
        'Select the keys in exactly one way: ids or names, or --weak and --older-than',
      );
    if (flags.pool !== undefined && !isSelected)
      throw new CommandError(EXIT.usage, '--pool needs --weak or --older-than');
    if (isSingle) await rotateOne(idsOrNames[0] ?? '', flags, confirm, terminal);
    else await rotateSeveral(idsOrNames, flags, terminal);
  });
  addExamples(withConnectionFlags(withOutputFlags(command)), [
    'tsigil tsigkey rotate transfer --wait',
    {
      command: 'tsigil tsigkey rotate transfer --algorithm hmac-sha512 --overlap 14d',
      purpose: 'another algorithm, and two weeks with both keys',
    },
    {
      command: 'tsigil tsigkey rotate transfer --compromised',
      purpose: 'the secret has leaked',
    },
    'tsigil tsigkey rotate --weak --dry-run',
    'tsigil tsigkey rotate --older-than 365d --pool default',
  ]);
}

/** Returns the members of a request that all keys share. */
function sharedMembers({ overlap, retire }: RotateFlags): Item {
  return {
    ...(overlap === undefined ? {} : { overlap_seconds: readDuration(overlap) }),
    ...(retire === undefined ? {} : { retire }),
  };
}

async function rotateOne(
  idOrName: string,
  flags: RotateFlags,
  confirm: Confirm,
  terminal: Terminal,
): Promise<void> {
  const { name, algorithm, inPlace, compromised } = flags;
  const body = {
    ...sharedMembers(flags),
    ...(name === undefined ? {} : { name }),
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(inPlace === true ? { strategy: 'in_place' } : {}),
    ...(compromised === true ? { compromised } : {}),
    ...(await readSecret(tsigkey, flags, terminal)),
  };
  assertUsableName(tsigkey, name, flags.force === true);
  const connection = withForce(await connect(flags, terminal), flags.force === true);
  if (flags.reveal === true) await assertMayReveal(connection, tsigkey);
  const lineage = await findLineage(connection, idOrName);
  const { named } = lineage;
  const isLiving = named !== undefined && named.state !== 'retired';
  const key = isLiving ? named : currentKey(lineage);
  const isCut = inPlace === true || compromised === true;
  if (isCut && !isLiving)
    throw new CommandError(
      EXIT.refused,
      `The key '${named?.name ?? lineage.handle}' is ${named === undefined ? 'gone' : 'retired already'}, so every name server refuses it`,
      `The key to use now is '${key.name}'. If you mean that one, name it.`,
    );
  if (isCut)
    await confirm(
      'Replace it now?',
      flags,
      terminal,
      `Clients of the key '${key.name}' are refused until they have the new secret.`,
    );
  const created = await withRotationHints(key.name, () =>
    call(connection, 'POST', `${keyPath(key.id)}/rotate`, body),
  );
  printItem(terminal, hideSecret(tsigkey, created, flags), columnsOf(tsigkey), flags);
  if ((flags.format ?? 'table') === 'table')
    printNext(key.name, String(created.name), flags, terminal);
  await waitIfAsked(connection, tsigkey, created, flags, terminal);
  if (flags.wait === true && !isCut) await waitForVerification(connection, key, terminal);
}

/** Waits up to 60 s until the service has seen that every name server accepts the successor of a key. */
async function waitForVerification(
  connection: Connection,
  { id, name }: Pick<Planned, 'id' | 'name'>,
  { now }: Pick<Terminal, 'now'>,
): Promise<void> {
  const until = now() + MAX_WAIT_MS;
  for (;;) {
    const { keys } = await callFor(LIFECYCLE, connection, 'GET', `${keyPath(id)}/lifecycle`);
    if (keys.find((key) => key.id === id)?.state !== 'spreading') return;
    if (now() > until)
      throw new CommandError(
        EXIT.refused,
        `The successor of '${name}' is not verified on every name server yet`,
        `To see what the rotation waits for, run: ${shellCommand('tsigil tsigkey lifecycle', name)}`,
      );
    await pause(INTERVAL_MS);
  }
}

function printNext(
  former: string,
  next: string,
  { inPlace, compromised }: RotateFlags,
  { err }: Terminal,
): void {
  const steps = [
    `${shellCommand('tsigil tsigkey export', next, '--format PROGRAM')}   # give the new key to every client`,
    ...(inPlace === true || compromised === true
      ? []
      : [`${shellCommand('tsigil tsigkey lifecycle', former)}   # see who has not moved yet`]),
  ];
  err.write(`Next:\n${steps.map((step) => `  ${plainCell(step)}\n`).join('')}`);
}

/** A key to replace. */
interface Planned {
  readonly id: string;
  readonly name: string;
  readonly algorithm: string;
  readonly becomes: string;
}

/**
 * Replaces keys one after another, each only once every name server has verified the successor of
 * the one before. Throws `CommandError` at the first that fails, with the way to undo it.
 */
async function rotateSeveral(
  idsOrNames: readonly string[],
  flags: RotateFlags,
  terminal: Terminal,
): Promise<void> {
  const stray = SINGLE.find((name) => flags[name] !== undefined);
  if (stray !== undefined)
    throw new CommandError(
      EXIT.usage,
      `--${stray.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} is for a single key, and not for a dry run`,
    );
  const shared = sharedMembers(flags);
  const connection = await connect(flags, terminal);
  const planned = await planOf(connection, idsOrNames, flags, terminal);
  if (planned.length === 0) {
    terminal.out.write('No key to replace.\n');
    return;
  }
  if (flags.dryRun === true) {
    const rows: Item[] = [];
    for (const key of planned) rows.push({ ...key, ...(await affectedBy(connection, key)) });
    printList(terminal, rows, PLAN_COLUMNS, flags);
    return;
  }
  const done: string[] = [];
  for (const { id, name, algorithm, becomes } of planned) {
    try {
      const body = { ...shared, ...(becomes === algorithm ? {} : { algorithm: becomes }) };
      const created = await call(withoutSecrets(connection), 'POST', `${keyPath(id)}/rotate`, body);
      const { isDelivered, failure } = await waitForDelivery(
        connection,
        keyPath(String(created.id)),
        terminal,
      );
      if (!isDelivered) throw failure;
      done.push(name);
      terminal.out.write(`${plainText(`${name}: replaced by ${String(created.name)}`)}\n`);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const left = planned.length - done.length - 1;
      throw new CommandError(
        error.exitCode,
        `Stopped at '${name}': ${error.message}`,
        [
          ...(error.hint === undefined ? [] : [error.hint]),
          `${done.length} replaced before it, ${left} not begun. To withdraw its successor: ${shellCommand('tsigil tsigkey abort', name)}`,
        ].join('\n'),
        error,
      );
    }
  }
}

/** Returns the keys to replace. Leaves out keys that are being replaced, and reports them. */
async function planOf(
  connection: Connection,
  idsOrNames: readonly string[],
  flags: RotateFlags,
  terminal: Terminal,
): Promise<Planned[]> {
  const quiet = withoutSecrets(connection);
  const found =
    idsOrNames.length > 0
      ? await namedKeys(connection, idsOrNames)
      : await selectedKeys(quiet, flags, terminal.now());
  const planned: Planned[] = [];
  const busy: string[] = [];
  for (const { id, name, algorithm } of found) {
    const { named } = await findLineage(quiet, id);
    if (named !== undefined && named.successor_id !== null) busy.push(name);
    else {
      const isWeak = flags.weak === true && weaknessOf(algorithm) !== undefined;
      planned.push({
        id,
        name,
        algorithm,
        becomes: flags.algorithm ?? (isWeak ? STRONG : algorithm),
      });
    }
  }
  if (busy.length > 0)
    terminal.err.write(
      `${plainText(`Already being replaced: ${firstOf(busy, 10, String).join(', ')}`)}\n`,
    );
  return planned;
}

type Found = Pick<Planned, 'id' | 'name'> & {
  readonly algorithm: (typeof ALGORITHM_NAMES)[number];
};

async function namedKeys(connection: Connection, idsOrNames: readonly string[]): Promise<Found[]> {
  const found = new Map<string, Found>();
  for (const idOrName of idsOrNames) {
    const lineage = await findLineage(connection, idOrName);
    const { named } = lineage;
    const key = named === undefined || named.state === 'retired' ? currentKey(lineage) : named;
    found.set(key.id, foundKey(key));
  }
  return [...found.values()];
}

async function selectedKeys(
  connection: Connection,
  flags: RotateFlags,
  now: number,
): Promise<Found[]> {
  const before = flags.olderThan === undefined ? undefined : readPastTime(flags.olderThan, now);
  const filters = [
    ...Object.entries(await readReferences(tsigkey, { pool: flags.pool }, connection)),
    ...(flags.weak === true ? [['weak', 'true'] as const] : []),
  ];
  const keys = await listItems(connection, tsigkey, filters);
  if (before === undefined) return keys.map(foundKey);
  const old: Found[] = [];
  for (const some of parts(keys, MAX_LIMIT)) {
    const states = await statesOf(connection, some);
    for (const key of some) {
      const since = states.get(String(key.id))?.secret_set_at;
      if (since !== undefined && millisecondsOf(since) <= Date.parse(before))
        old.push(foundKey(key));
    }
  }
  return old;
}

function foundKey({ id, name, algorithm }: Item): Found {
  // safe: the service states only these algorithms, and others have no weakness
  return { id: String(id), name: String(name), algorithm: String(algorithm) as Found['algorithm'] };
}

/** Returns the name servers of a key, and who must change a configuration. */
async function affectedBy(connection: Connection, { id }: Planned): Promise<Item> {
  const { servers } = await callFor(KEY_USES, connection, 'GET', `${keyPath(id)}/uses`);
  const { consumers } = await findLineage(connection, id);
  const clients = servers.flatMap(({ uses }) =>
    uses.filter(({ outcome }) => outcome !== 'refused').map(({ address }) => address),
  );
  const unknown = servers.filter(({ since }) => since === null).map((each) => each.name_server);
  return {
    name_servers: servers.map((each) => each.name_server),
    who_must_act: [
      ...consumers.map(({ name, contact }) => (contact === null ? name : `${name} (${contact})`)),
      ...new Set(clients.filter((address) => address !== '')),
      ...(unknown.length === 0 ? [] : [`unknown clients of ${unknown.join(' and ')}`]),
    ],
  };
}
