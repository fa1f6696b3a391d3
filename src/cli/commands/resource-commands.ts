import { Option, type Command } from 'commander';
import type { ResourceType } from '../../domain/model/resource.ts';
import { call, callFor, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { acceptConnectionFlagsFirst, checkColumns, connect, readLimit } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { assertUsableName } from '../flags/key-name.ts';
import { declareDestructive, type ConfirmationFlags } from '../output/confirmation.ts';
import { plainCell, printList } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import { hasReferences, readReferences } from '../flags/references.ts';
import {
  fieldOptions,
  filterOptions,
  flaggedFields,
  readFields,
  readFilters,
  readSort,
  sortOption,
  type FlagValues,
} from '../flags/resource-flags.ts';
import {
  assertMayReveal,
  findPath,
  listItems,
  withHints,
  withoutSecrets,
  type Item,
} from '../service/resource-requests.ts';
import {
  columnsOf,
  listColumns,
  RESOURCE_COMMANDS,
  VERBS,
  type ResourceCommand,
  type Verb,
} from '../flags/resource-table.ts';
import {
  hideSecret,
  readSecret,
  revealOptions,
  secretField,
  secretOptions,
} from '../flags/secret-flags.ts';
import { withLimits } from '../service/token-limits.ts';
import { catchInterrupt, type Terminal } from '../output/terminal.ts';
import {
  describeLoss,
  describeReplacement,
  holdersOf,
  reportRemoving,
  waitForRemoval,
  waitIfAsked,
  waitOptions,
  type Holders,
} from './deliveries.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { mapConcurrently } from '../../domain/scheduling/concurrency.ts';
import { zone } from '../../domain/resources/zone.ts';
import { reportGrants, reportOpeningKeys } from './key-grants.ts';
import { describeUse, recentClients, type UsedKey } from './recent-use.ts';
import { addCreate } from './resource-create.ts';
import { readPastTime, readTime } from '../flags/time.ts';
import { describedAs, unusedSince, withStates } from '../service/key-states.ts';
import { factsOf } from '../service/lineages.ts';
import {
  descriptionOptions,
  readDescription,
  type DescriptionFlags,
} from '../flags/description-flags.ts';
import { LIFECYCLE } from '../../domain/rotation/shown.ts';
import {
  addVerb,
  findVerb,
  nameOf,
  print,
  printNextSteps,
  referenceOptionsOf,
  withName,
  type Flags,
} from './resource-verb.ts';

/** Adds a command for each resource type, with its verbs as subcommands. */
export function addResourceCommands(program: Command, terminal: Terminal): void {
  for (const resource of RESOURCE_COMMANDS) {
    const { type, examples } = resource;
    const parent = program.command(type.noun).description(type.description);
    for (const verb of VERBS.filter((each) => examples[each] !== undefined))
      ADD[verb](parent, resource, terminal);
    addExamples(parent, [
      ...(examples.create ?? []).slice(0, 1),
      ...(examples.list ?? []).slice(0, 1),
      ...(examples.delete ?? []),
    ]);
  }
}

/**
 * Adds only the command of one verb, such as `tsigkey list`. Returns false if there is no such
 * command.
 */
export function addResourceVerb(
  program: Command,
  [noun, word = '']: readonly string[],
  terminal: Terminal,
): boolean {
  const resource = RESOURCE_COMMANDS.find(({ type }) => type.noun === noun);
  const verb = findVerb(word);
  if (verb === undefined || resource?.examples[verb] === undefined) return false;
  ADD[verb](program.command(resource.type.noun), resource, terminal);
  acceptConnectionFlagsFirst(program);
  return true;
}

const ADD: Readonly<
  Record<Verb, (parent: Command, resource: ResourceCommand, terminal: Terminal) => void>
> = {
  create: addCreate,
  list: addList,
  show: addShow,
  set: addSet,
  delete: addDelete,
};

function addList(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  const limit = new Option(
    '--limit <number>',
    `list at most this number of ${type.collection} (default: all)`,
  ).argParser(readLimit);
  const long = new Option('--long', 'list all columns, including ids');
  const options = [
    ...referenceOptionsOf(resource, 'list'),
    ...filterOptions(resource),
    limit,
    sortOption(resource),
    long,
    ...revealOptions(type),
    ...useOptions(type),
  ];
  addVerb(parent, resource, 'list', `list ${type.collection}`, options).action(
    async (flags: Flags & UseFlags & { limit?: number; sort?: string; long?: boolean }) => {
      checkColumns(flags, [...columnsOf(type), ...(resource.stateColumns ?? [])]);
      const wanted = [
        ...readFilters(resource, flags, terminal.now()),
        ...readSort(type, flags.sort ?? resource.sort),
      ];
      const connection = await connect(flags, terminal);
      const references = await readReferences(type, flags, connection);
      const parameters = [...Object.entries(references), ...wanted];
      const { limit: most } = flags;
      const select = type === tsigkey ? selectionOf(flags, terminal) : undefined;
      const reading = readingOf(connection, flags);
      const all = await listItems(
        reading,
        type,
        parameters,
        select === undefined ? most : undefined,
      );
      const items = select === undefined ? all : (await select(connection, all)).slice(0, most);
      const hidden = items.map((item) => hideSecret(type, item, flags));
      const columns = flags.column ?? listColumns(resource, flags);
      const isStateShown = columns.some((name) => resource.stateColumns?.includes(name));
      const completed = async () => {
        if (!isStateShown) return hidden;
        if (type.collection !== 'tsigkeys') return withLimits(connection, hidden);
        return withStates(connection, hidden, terminal.now());
      };
      printList(terminal, await completed(), columns, flags);
    },
  );
}

/** The flags of a list of keys that their members do not answer. */
interface UseFlags {
  readonly unused?: string;
  readonly due?: string;
  readonly owner?: string;
}

/** Returns the flags of `UseFlags` for keys. */
function useOptions(type: ResourceType): Option[] {
  if (type !== tsigkey) return [];
  const description =
    'list only keys that no log of their name servers shows since this time or for this long, such as 90d; a key is left out if the log of one of its name servers does not show every use';
  return [
    new Option('--unused <time>', description),
    new Option(
      '--due <time>',
      'list only keys that should be replaced until this time or within this long, such as 30d: by their expiry, or the tsigkeys.maxAgeDays of the service',
    ),
    new Option('--owner <text>', 'list only keys of this owner'),
  ];
}

/** Returns what selects the keys of a list, or undefined for all. Throws `CommandError`. */
function selectionOf(
  { unused, due, owner }: UseFlags,
  terminal: Terminal,
): ((connection: Connection, keys: readonly Item[]) => Promise<readonly Item[]>) | undefined {
  if (unused === undefined && due === undefined && owner === undefined) return undefined;
  const since = unused === undefined ? undefined : readPastTime(unused, terminal.now());
  const until = due === undefined ? undefined : readTime(due, terminal.now());
  return async (connection, keys) => {
    const found = await describedAs(connection, keys, { due: until, owner });
    return since === undefined ? found : listUnused(connection, found, since, terminal);
  };
}

/** Returns the unused keys, and reports the name servers that leave the others open. */
async function listUnused(
  connection: Connection,
  keys: readonly Item[],
  since: string,
  { err }: Pick<Terminal, 'err'>,
): Promise<readonly Item[]> {
  const { unused, unknownOn, shortOn } = await unusedSince(connection, keys, since);
  if (unknownOn.length > 0) {
    const text = `The logs of these name servers do not show every use, so their keys are left out: ${unknownOn.join(', ')}. To see why, run: tsigil tsigkey uses KEY`;
    err.write(`${plainText(text)}\n`);
  }
  if (shortOn.size > 0) {
    const names = [...shortOn].toSorted().map(([name, first]) => `${name} (since ${first})`);
    const text = `The logs of these name servers do not reach back that far, so their keys are left out: ${names.join(', ')}`;
    err.write(`${plainText(text)}\n`);
  }
  return unused;
}

function addShow(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  addVerb(parent, resource, 'show', `show a ${type.noun}`, revealOptions(type))
    .argument(`<${type.noun}>`, `id or name of the ${type.noun}`)
    .action(async (idOrName: string, flags: Flags) => {
      checkColumns(flags, columnsOf(type));
      const connection = await connect(flags, terminal);
      const item = await withHints(type, async () =>
        call(readingOf(connection, flags), 'GET', await pathOf(connection, resource, idOrName)),
      );
      print(terminal, type, item, flags);
      await reportRemoving(connection, type, item, terminal);
      if (type === tsigkey) await reportGrants(connection, item, terminal);
      if (OPENED.includes(type) && (flags.format ?? 'table') === 'table')
        await reportOpeningKeys(readingOf(connection, flags), type, item, terminal);
    });
}

/** The types whose resources keys open. */
const OPENED: readonly ResourceType[] = [zone, nameServer];

function addSet(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  const fields = flaggedFields(type, false).flatMap(([name, field]) =>
    fieldOptions(resource, name, field, false),
  );
  const command = addVerb(parent, resource, 'set', `change a ${type.noun} and show it`, [
    ...referenceOptionsOf(resource, 'set'),
    ...fields,
    ...secretOptions(type, false),
    ...revealOptions(type),
    ...descriptionOptions(type),
    ...waitOptions(resource),
    ...forceOptions(type, 'update'),
  ]);
  const confirm =
    resource.isDelivered === true
      ? declareDestructive(command, 'when --generate replaces a secret that name servers have')
      : undefined;
  command
    .argument(`<${type.noun}>`, `id or name of the ${type.noun}`)
    .action(async (idOrName: string, flags: Flags & ConfirmationFlags & DescriptionFlags) => {
      checkColumns(flags, columnsOf(type));
      const description = type === tsigkey ? readDescription(flags, terminal.now()) : undefined;
      const given = withName(resource, {
        ...readFields(resource, false, flags, terminal.now()),
        ...(await readSecret(type, flags, terminal)),
      });
      const refers = hasReferences(type, flags);
      const isKept = Object.keys(given).length === 0 && !refers && flags.generate !== true;
      if (isKept && description === undefined) {
        throw new CommandError(
          EXIT.usage,
          'Nothing to change: no flag sets a field',
          `Run 'tsigil ${type.noun} set --help' to list the fields.`,
        );
      }
      assertUsableName(type, given.name, flags.force === true);
      const connection = withForce(await connect(flags, terminal), flags.force === true);
      const body = { ...given, ...(await readReferences(type, flags, connection)) };
      if (flags.reveal === true) await assertMayReveal(connection, type);
      let facts: readonly string[] = [];
      const change = async () => {
        const path = await pathOf(connection, resource, idOrName);
        if (flags.generate === true && flags.yes !== true) {
          const holders = await holdersOf(connection, resource, { name: idOrName, path }, true);
          if (holders.servers.length > 0)
            await confirm?.('Replace the secret?', flags, terminal, describeReplacement(holders));
        }
        if (description !== undefined) facts = await describe(connection, path, description);
        if (isKept) return call(readingOf(connection, flags), 'GET', path);
        const secret = await generateSecret(connection, resource, path, body, flags);
        return call(connection, 'PATCH', path, { ...body, ...secret });
      };
      const item = await withHints(type, change, body);
      print(terminal, type, item, flags);
      for (const line of facts) terminal.err.write(`${plainText(line)}\n`);
      if (flags.generate === true) printNextSteps(terminal, resource, item, flags);
      await waitIfAsked(connection, type, item, flags, terminal);
    });
}

/** Says who uses a key and until when, and returns lines about what the service knows then. */
async function describe(
  connection: Connection,
  path: string,
  description: object,
): Promise<readonly string[]> {
  return factsOf(await callFor(LIFECYCLE, connection, 'PATCH', `${path}/lifecycle`, description));
}

/** Returns a connection whose responses omit secrets, unless the flags reveal the secrets. */
function readingOf(connection: Connection, { reveal }: FlagValues): Connection {
  return reveal === true ? connection : withoutSecrets(connection);
}

/** Returns a new secret as a member of a change, if the flags request one. */
async function generateSecret(
  connection: Connection,
  { type, newSecret }: ResourceCommand,
  path: string,
  change: Item,
  { generate }: FlagValues,
): Promise<Readonly<Record<string, string>>> {
  const field = secretField(type);
  if (generate !== true || field === undefined || newSecret === undefined) return {};
  const current = await call(withoutSecrets(connection), 'GET', path);
  return { [field]: newSecret({ ...current, ...change }) };
}

function addDelete(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  const command = addVerb(
    parent,
    resource,
    'delete',
    `delete ${type.collection} one after another, and report each result`,
    [
      ...waitOptions(
        resource,
        'wait up to 60 seconds until every name server that had the keys refuses them',
      ),
      ...forceOptions(type, 'delete'),
    ],
  );
  const confirm =
    type === tsigkey
      ? declareDestructive(command, 'when clients have used a key within a day')
      : undefined;
  command
    .argument(`<${type.noun}...>`, `ids or names of the ${type.collection}`)
    .action(async (idsOrNames: string[], flags: Flags & ConfirmationFlags) => {
      const { force, yes, wait } = flags;
      const connection = withForce(await connect(flags, terminal), force === true);
      if (confirm !== undefined && force !== true && yes !== true) {
        const used = await usedKeys(connection, resource, idsOrNames, terminal.now());
        if (used.length > 0) {
          terminal.err.write(`${plainText(describeUse(used))}\n`);
          await confirm('Delete the keys?', flags, terminal);
        }
      }
      await deleteAll(connection, resource, idsOrNames, wait === true, terminal);
    });
}

/** Returns which of some keys clients have used within a day. */
async function usedKeys(
  connection: Connection,
  resource: ResourceCommand,
  names: readonly string[],
  now: number,
): Promise<UsedKey[]> {
  const quiet = withoutSecrets(connection);
  const keys = await mapConcurrently(names, CONCURRENCY, async (name) => ({
    name,
    clients: await recentClients(quiet, () => pathOf(quiet, resource, name), now),
  }));
  return keys.filter(({ clients }) => clients.length > 0);
}

const CONCURRENCY = 8;

/** What else `--force` permits for keys. */
const FORCED_KEY_CHANGES = {
  update: 'accept a new name that no name server can have',
  delete: 'delete keys that clients have used within a day',
};

/** Returns the flag `--force` if the configuration of a name server can forbid the change. */
function forceOptions(type: ResourceType, operation: 'update' | 'delete'): Option[] {
  if (type.refusals?.[operation]?.includes('key_is_referenced') !== true) return [];
  const more = type === tsigkey ? `; also ${FORCED_KEY_CHANGES[operation]}` : '';
  return [
    new Option(
      '--force',
      `make the change even if it takes a key from a nameserver whose configuration names the key; except on PowerDNS, the nameserver then keeps a key with this name, whose secret no one knows${more}`,
    ),
  ];
}

export function withForce(connection: Connection, isForced: boolean): Connection {
  return isForced
    ? { ...connection, headers: { ...connection.headers, 'tsigil-force': 'true' } }
    : connection;
}

/**
 * Deletes resources one after another. Continues after a refusal. Stops if the service cannot be
 * reached, and at Ctrl-C. With `isWaiting`, then waits until name servers refuse the deleted keys.
 */
async function deleteAll(
  connection: Connection,
  resource: ResourceCommand,
  idsOrNames: readonly string[],
  isWaiting: boolean,
  terminal: Terminal,
): Promise<void> {
  const { type } = resource;
  const removing: Holders[] = [];
  const { signal, release } = catchInterrupt(terminal);
  const total = idsOrNames.length;
  let deleted = 0;
  let refused = 0;
  try {
    for (const idOrName of idsOrNames) {
      if (signal.aborted)
        throw new CommandError(EXIT.interrupted, `Stopped: ${deleted} of ${total} deleted`);
      try {
        const holders = await withHints(type, async () => {
          const path = await pathOf(connection, resource, idOrName);
          const found = { name: idOrName, path };
          const before = await holdersOf(connection, resource, found, isWaiting);
          await call(connection, 'DELETE', path);
          return before;
        });
        deleted += 1;
        terminal.out.write(`${plainCell(`${idOrName}: deleted${describeLoss(holders)}`)}\n`);
        if (holders.servers.length > 0) removing.push(holders);
      } catch (error) {
        const canContinue =
          error instanceof CommandError && error.exitCode === EXIT.refused && total > 1;
        if (!canContinue) throw error;
        refused += 1;
        terminal.err.write(`${plainCell(idOrName)}: not deleted: ${error.message}\n`);
      }
    }
  } finally {
    release();
  }
  if (isWaiting) await waitForRemoval(connection, removing, terminal);
  if (refused > 0)
    throw new CommandError(EXIT.refused, `${deleted} of ${total} deleted, ${refused} not deleted`);
}

function pathOf(
  connection: Connection,
  resource: ResourceCommand,
  idOrName: string,
): Promise<string> {
  return findPath(connection, resource.type, idOrName, (name) => nameOf(resource, name));
}
