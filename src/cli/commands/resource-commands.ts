import {
  addCommand,
  defineCommand,
  type CommandDefinition,
  type CommandGroup,
} from '../flags/command.ts';
import { optionsOfFlags, parsed, toggle } from '../flags/flag.ts';
import { acceptConnectionFlagsFirst, readLimit } from '../flags/flags.ts';
import { readReferences } from '../flags/references.ts';
import {
  columnsOf,
  listColumns,
  VERBS,
  type Holders,
  type ResourceCommand,
  type Verb,
} from '../flags/resource-command.ts';
import { filterOptions, readFilters, readSort, sortOption } from '../flags/resource-flags.ts';
import { hideSecret, revealOptions } from '../flags/secret-flags.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { plainCell, printList } from '../output/output.ts';
import { catchInterrupt, type Terminal } from '../output/terminal.ts';
import { writeLine } from '../output/write-line.ts';
import { call, type Connection } from '../service/client.ts';
import { listItems, withHints, type Item } from '../service/resource-requests.ts';
import type { AddVerb } from '../program.ts';
import { createCommand, setCommand } from './resource-write.ts';
import {
  argumentOf,
  forceFlags,
  pathOf,
  print,
  readingOf,
  referenceOptionsOf,
  VERB_ALIASES,
  verbOf,
  waitFlags,
} from './resource-verb.ts';

const COMMANDS: Readonly<Record<Verb, (resource: ResourceCommand) => CommandDefinition>> = {
  create: createCommand,
  list: listCommand,
  show: showCommand,
  set: setCommand,
  delete: deleteCommand,
};

export interface Further {
  readonly commands: readonly CommandDefinition[];
  /** The line of the help, if it does not list all commands. */
  readonly summary?: string;
}

/** Returns the verbs of a resource and further commands. */
export function resourceGroup(resource: ResourceCommand, further?: Further): CommandGroup {
  const { type, plural, examples } = resource;
  const verbs = VERBS.filter((verb) => examples[verb] !== undefined);
  const commands = [...verbs.map((verb) => COMMANDS[verb](resource)), ...(further?.commands ?? [])];
  const names = commands.map(({ name }) => name);
  return {
    name: type.noun,
    description: type.description,
    summary: further?.summary ?? `${names.slice(0, -1).join(', ')} and ${names.at(-1)} ${plural}`,
    examples: [
      ...(examples.create ?? []).slice(0, 1),
      ...(examples.list ?? []).slice(0, 1),
      ...(examples.delete ?? []),
    ],
    commands,
  };
}

export function verbAdder(resources: readonly ResourceCommand[]): AddVerb {
  return (program, [noun, word = ''], terminal) => {
    const resource = resources.find(({ type }) => type.noun === noun);
    const verb = VERBS.find((each) => each === word || VERB_ALIASES[each] === word);
    if (verb === undefined || resource?.examples[verb] === undefined) return false;
    addCommand(program.command(resource.type.noun), COMMANDS[verb](resource), terminal);
    acceptConnectionFlagsFirst(program);
    return true;
  };
}

function listCommand(resource: ResourceCommand) {
  const { type, selections = [], states } = resource;
  return defineCommand({
    ...verbOf(resource, 'list'),
    description: `list ${type.collection}`,
    options: [
      ...referenceOptionsOf(resource, 'list'),
      ...filterOptions(resource),
      ...selections.flatMap((each) => optionsOfFlags(each.flags)),
      sortOption(resource),
      ...revealOptions(type),
    ],
    flags: {
      limit: parsed(
        '<number>',
        `list at most this number of ${type.collection} (default: all)`,
        readLimit,
      ),
      long: toggle('list all columns, including ids'),
    },
    columns: [...columnsOf(type), ...(states?.columns ?? [])],
    async run({ connect, flags, terminal }) {
      const given: Readonly<Record<string, unknown>> = flags;
      const sort = typeof given.sort === 'string' ? given.sort : resource.sort;
      const wanted = [...readFilters(resource, flags, terminal.now()), ...readSort(type, sort)];
      const connection = await connect();
      const references = await readReferences(type, flags, connection);
      const parameters = [...Object.entries(references), ...wanted];
      const selects = selections.flatMap((each) => each.read(flags, terminal) ?? []);
      const most = selects.length === 0 ? flags.limit : undefined;
      const reading = readingOf(connection, flags);
      let items: readonly Item[] = await listItems(reading, type, parameters, most);
      for (const select of selects.toReversed()) items = await select(connection, items);
      const hidden = items.slice(0, flags.limit).map((item) => hideSecret(type, item, flags));
      const columns = flags.column ?? listColumns(resource, flags);
      const isStateShown = columns.some((name) => states?.columns.includes(name));
      const rows = isStateShown ? await states?.read(connection, hidden, terminal.now()) : hidden;
      printList(terminal, rows ?? hidden, columns, flags);
    },
  });
}

function showCommand(resource: ResourceCommand) {
  const { type, reports = [] } = resource;
  return defineCommand({
    ...verbOf(resource, 'show'),
    description: `show a ${type.noun}`,
    argument: argumentOf(resource),
    options: revealOptions(type),
    columns: columnsOf(type),
    async run({ argument: idOrName, connect, flags, terminal }) {
      const connection = await connect();
      const reading = readingOf(connection, flags);
      const item = await withHints(type, async () =>
        call(reading, 'GET', await pathOf(connection, resource, idOrName)),
      );
      print(terminal, resource, item, flags);
      const isTable = (flags.format ?? 'table') === 'table';
      for (const { isForTables, write } of reports)
        if (isTable || !isForTables) await write(reading, item, terminal);
    },
  });
}

function deleteCommand(resource: ResourceCommand) {
  const { type, deletion } = resource;
  return defineCommand({
    ...verbOf(resource, 'delete'),
    description: `delete ${type.collection} one after another, and report each result`,
    argument: [`<${type.noun}...>`, `ids or names of the ${type.collection}`],
    flags: {
      ...waitFlags(
        resource,
        'wait up to 60 seconds until every name server that had the keys refuses them',
      ),
      ...forceFlags(resource, 'delete'),
    },
    ...(deletion === undefined ? {} : { asks: deletion.asks }),
    async run({ argument: idsOrNames, confirm, connect, flags, terminal }) {
      const connection = await connect();
      if (flags.force !== true && flags.yes !== true) {
        const reason = await deletion?.reason(connection, idsOrNames, terminal.now());
        if (reason !== undefined) {
          writeLine(terminal.err, reason);
          await confirm(`Delete the ${resource.plural}?`);
        }
      }
      await deleteAll(connection, resource, idsOrNames, flags.wait === true, terminal);
    },
  });
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
  const { type, delivery } = resource;
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
          const before = await delivery?.holdersOf(connection, found, isWaiting);
          await call(connection, 'DELETE', path);
          return before;
        });
        deleted += 1;
        terminal.out.write(`${plainCell(`${idOrName}: deleted${holders?.loss ?? ''}`)}\n`);
        if (holders !== undefined && holders.servers.length > 0) removing.push(holders);
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
  if (isWaiting) await delivery?.waitForRemoval(connection, removing, terminal);
  if (refused > 0)
    throw new CommandError(EXIT.refused, `${deleted} of ${total} deleted, ${refused} not deleted`);
}
