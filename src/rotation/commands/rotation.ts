import { setTimeout as pause } from 'node:timers/promises';
import { ALGORITHM_NAMES, weaknessOf } from '../../dns/algorithms.ts';
import { RETIREMENTS } from '../../resources/lineage.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { KEY_STATES } from '../key-states.ts';
import { LIFECYCLE } from '../lifecycle-response.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { millisecondsOf } from '../../core/text/timestamps.ts';
import { shellCommand } from '../../core/text/shell-word.ts';
import { defineCommand, type CommonFlags, type Run } from '../../cli/flags/command.ts';
import { choice, dashed, text, toggle, type ValuesOf } from '../../cli/flags/flag.ts';
import { checkColumns } from '../../cli/flags/flags.ts';
import { assertUsableName } from '../../cli/flags/names.ts';
import { readReferences } from '../../cli/flags/references.ts';
import { columnsOf } from '../../cli/flags/resource-command.ts';
import {
  hideSecret,
  readSecret,
  revealOptions,
  secretOptions,
} from '../../cli/flags/secret-flags.ts';
import { readDuration, readPastTime } from '../../cli/flags/time.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { printItem, printList } from '../../cli/output/output.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { call, callFor, type Connection } from '../../cli/service/client.ts';
import { statesOf } from './key-states.ts';
import { currentKey, findLineage, keyPath, withRotationHints } from './lineages.ts';
import {
  assertMayReveal,
  listItems,
  withoutSecrets,
  type Item,
} from '../../cli/service/resource-requests.ts';
import {
  INTERVAL_MS,
  MAX_WAIT_MS,
  readDeliveries,
  waitUntilDelivered,
} from '../../delivery/commands/deliveries.ts';
import { printNextSteps } from '../../cli/commands/resource-verb.ts';

const STRONG = 'hmac-sha256';

const PLAN_COLUMNS = ['name', 'algorithm', 'becomes', 'name_servers', 'who_must_act'];

/** The flags of a single key. */
const SINGLE = ['name', 'secret', 'secretFile', 'inPlace', 'compromised', 'reveal', 'force'];

const FLAGS = {
  name: text('<name>', 'name of the successor (default: -r2, -r3 and so on after the first label)'),
  algorithm: choice(
    '<algorithm>',
    ALGORITHM_NAMES,
    `TSIG algorithm of the successor (default: that of the key, or ${STRONG} with --weak if that one is weak)`,
  ),
  overlap: text(
    '<time>',
    'how long both keys work after every client could move, such as 7d (default: the setting tsigkeys.overlapSeconds)',
  ),
  retire: choice(
    '<how>',
    RETIREMENTS,
    'automatic: retire the key even if the logs of name servers do not show every use; manual: only by "tsigil tsigkey retire" (default: as soon as no client needs the key)',
  ),
  inPlace: toggle('keep the name and replace only the secret; clients fail until they get it'),
  compromised: toggle('delete the key at once, because others know its secret'),
  weak: toggle('replace all keys with a weak algorithm or a short secret'),
  olderThan: text('<time>', 'replace all keys whose secret is older than this, such as 365d'),
  pool: text('<pool>', 'with --weak or --older-than, only keys of this pool (name or id)'),
  dryRun: toggle('show what would change and who must act, and change nothing'),
  force: toggle(
    'with --compromised, even if the configuration of a nameserver names the key; also accept a --name that no name server can have',
  ),
  wait: toggle('wait up to 60 seconds until every name server has verified the successor'),
};

/** What is known of the clients of a key. */
interface KnownClients {
  /** All its name servers. */
  readonly servers: readonly string[];
  readonly clients: readonly string[];
  /** The name servers that may have other clients. */
  readonly unknownOn: readonly string[];
}

type ReadClients = (connection: Connection, path: string) => Promise<KnownClients>;

const readNoClients: ReadClients = async (connection, path) => {
  const { rows } = await readDeliveries(connection, path, 0);
  const servers = rows.map((each) => each.name_server);
  return { servers, clients: [], unknownOn: servers };
};

type RotateFlags = Omit<CommonFlags, 'force'> &
  ValuesOf<typeof FLAGS> &
  Readonly<Record<string, unknown>>;

export function keyRotation(readClients = readNoClients) {
  return defineCommand({
    name: 'rotate',
    description:
      'replace tsigkeys by successors with the same scope and grants; both work until every client has the new one',
    argument: [
      '[tsigkey...]',
      'ids or names of the tsigkeys; the name of the first key of a lineage is enough',
    ],
    options: [...secretOptions(tsigkey, true).slice(0, 2), ...revealOptions(tsigkey)],
    flags: FLAGS,
    asks: 'before --in-place or --compromised makes clients fail',
    columns: [...columnsOf(tsigkey), ...PLAN_COLUMNS],
    examples: [
      'tsigil tsigkey rotate transfer --wait',
      'tsigil tsigkey rotate transfer --algorithm hmac-sha512 --overlap 14d  # another algorithm, and two weeks with both keys',
      'tsigil tsigkey rotate transfer --compromised  # the secret has leaked',
      'tsigil tsigkey rotate --weak --dry-run',
      'tsigil tsigkey rotate --older-than 365d --pool default',
    ],
    async run(run) {
      const { argument: idsOrNames, flags } = run;
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
      if (isSingle) await rotateOne(idsOrNames[0] ?? '', run);
      else await rotateSeveral(run, readClients);
    },
  });
}

function sharedMembers({ overlap, retire }: RotateFlags): Item {
  return {
    ...(overlap === undefined ? {} : { overlap_seconds: readDuration(overlap) }),
    ...(retire === undefined ? {} : { retire }),
  };
}

async function rotateOne(
  idOrName: string,
  { confirm, connect, flags, terminal }: Run<unknown, RotateFlags>,
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
  if (flags.force !== true) assertUsableName(name);
  const connection = await connect();
  if (flags.reveal === true) await assertMayReveal(connection, tsigkey);
  const isCut = inPlace === true || compromised === true;
  const key = await keyToReplace(connection, idOrName, isCut);
  if (isCut)
    await confirm(
      'Replace it now?',
      `Clients of the key '${key.name}' are refused until they have the new secret.`,
    );
  const created = await withRotationHints(key.name, () =>
    call(connection, 'POST', `${keyPath(key.id)}/rotate`, body),
  );
  printItem(terminal, hideSecret(tsigkey, created, flags), columnsOf(tsigkey), flags);
  const look = `${shellCommand('tsigil tsigkey lifecycle', key.name)}   # see who has not moved yet`;
  printNextSteps(terminal, flags, [
    `${shellCommand('tsigil tsigkey export', String(created.name), '--format PROGRAM')}   # give the new key to every client`,
    ...(isCut ? [] : [look]),
  ]);
  if (flags.wait !== true) return;
  await waitUntilDelivered(connection, keyPath(String(created.id)), terminal);
  if (!isCut) await waitForVerification(connection, key, terminal);
}

/** A retired or gone key stands for the one to use now. With `isExact`, throws `CommandError`. */
async function keyToReplace(connection: Connection, idOrName: string, isExact: boolean) {
  const lineage = await findLineage(connection, idOrName);
  const { handle, named } = lineage;
  if (named !== undefined && named.state !== 'retired') return named;
  const key = currentKey(lineage);
  if (!isExact) return key;
  throw new CommandError(
    EXIT.refused,
    `The key '${named?.name ?? handle}' is ${named === undefined ? 'gone' : 'retired already'}, so every name server refuses it`,
    `The key to use now is '${key.name}'. If you mean that one, name it.`,
  );
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
  run: Run<readonly string[], RotateFlags>,
  readClients: ReadClients,
): Promise<void> {
  const { argument: idsOrNames, connect, flags, terminal } = run;
  const stray = SINGLE.find((name) => flags[name] !== undefined);
  if (stray !== undefined)
    throw new CommandError(
      EXIT.usage,
      `--${dashed(stray)} is for a single key, and not for a dry run`,
    );
  const shared = sharedMembers(flags);
  const connection = await connect();
  const planned = await planOf(connection, idsOrNames, flags, terminal);
  if (planned.length === 0) {
    terminal.out.write('No key to replace.\n');
    return;
  }
  if (flags.dryRun === true) {
    const rows: Item[] = [];
    for (const key of planned)
      rows.push({ ...key, ...(await affectedBy(connection, key, readClients)) });
    printList(terminal, rows, PLAN_COLUMNS, flags);
    return;
  }
  for (const [index, { id, name, algorithm, becomes }] of planned.entries()) {
    try {
      const body = { ...shared, ...(becomes === algorithm ? {} : { algorithm: becomes }) };
      const created = await call(withoutSecrets(connection), 'POST', `${keyPath(id)}/rotate`, body);
      await waitUntilDelivered(connection, keyPath(String(created.id)), terminal);
      writeLine(terminal.out, `${name}: replaced by ${String(created.name)}`);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const { exitCode, message, hint } = error;
      const undo = `${index} replaced before it, ${planned.length - index - 1} not begun. To withdraw its successor: ${shellCommand('tsigil tsigkey abort', name)}`;
      const hints = hint === undefined ? undo : `${hint}\n${undo}`;
      throw new CommandError(exitCode, `Stopped at '${name}': ${message}`, hints, error);
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
    writeLine(terminal.err, `Already being replaced: ${firstOf(busy, 10, String).join(', ')}`);
  return planned;
}

type Found = Pick<Planned, 'id' | 'name'> & {
  readonly algorithm: (typeof ALGORITHM_NAMES)[number];
};

async function namedKeys(connection: Connection, idsOrNames: readonly string[]): Promise<Found[]> {
  const found = new Map<string, Found>();
  for (const idOrName of idsOrNames) {
    const key = await keyToReplace(connection, idOrName, false);
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
  const stateOf = await statesOf(KEY_STATES, connection, keys);
  const isOld = (key: Item) => {
    const since = stateOf(key)?.secret_set_at;
    return since !== undefined && millisecondsOf(since) <= Date.parse(before);
  };
  return keys.filter(isOld).map(foundKey);
}

function foundKey({ id, name, algorithm }: Item): Found {
  // safe: the service states only these algorithms, and others have no weakness
  return { id: String(id), name: String(name), algorithm: String(algorithm) as Found['algorithm'] };
}

async function affectedBy(
  connection: Connection,
  { id }: Planned,
  readClients: ReadClients,
): Promise<Item> {
  const { servers, clients, unknownOn } = await readClients(connection, keyPath(id));
  const { consumers } = await findLineage(connection, id);
  return {
    name_servers: servers,
    who_must_act: [
      ...consumers.map(({ name, contact }) => (contact === null ? name : `${name} (${contact})`)),
      ...new Set(clients.filter((address) => address !== '')),
      ...(unknownOn.length === 0 ? [] : [`unknown clients of ${unknownOn.join(' and ')}`]),
    ],
  };
}
