import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ResourceType } from '../../domain/model/resource.ts';
import { call, type Connection } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import {
  checkColumns,
  connect,
  withConnectionFlags,
  withOutputFlags,
  withProjectFlags,
  type ProjectFlags,
} from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { formatItem, formatList, plainCell, type OutputFlags } from '../output/output.ts';
import {
  fieldOptions,
  filterOptions,
  flaggedFields,
  phrase,
  readFields,
  readFilters,
  readSort,
  sortOption,
  type FlagValues,
} from '../flags/resource-flags.ts';
import { findPath, listItems, withHints, type Item } from '../service/resource-requests.ts';
import {
  columnsOf,
  listColumns,
  RESOURCE_COMMANDS,
  VERBS,
  type ResourceCommand,
  type Verb,
} from '../flags/resource-table.ts';
import { hideSecret, readSecret, revealOptions, secretOptions } from '../flags/secret-flags.ts';
import { catchInterrupt, textStyleOf, type Terminal } from '../output/terminal.ts';

type Flags = ConnectionFlags & ProjectFlags & OutputFlags & FlagValues;

/** Adds a command for each resource type, with its verbs as subcommands. */
export function addResourceCommands(program: Command, terminal: Terminal): void {
  for (const resource of RESOURCE_COMMANDS) {
    const { type, examples, summary } = resource;
    const parent = program
      .command(type.noun)
      .description(type.description)
      .summary(summary ?? `create, list, show, set and delete ${type.collection}`);
    for (const verb of VERBS.filter((each) => examples[each] !== undefined))
      ADD[verb](parent, resource, terminal);
    addExamples(parent, [
      ...(examples.create ?? []).slice(0, 1),
      ...(examples.list ?? []).slice(0, 1),
      ...(examples.delete ?? []),
    ]);
  }
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

function addVerb(
  parent: Command,
  resource: ResourceCommand,
  verb: Verb,
  description: string,
  options: readonly Option[],
): Command {
  const command = parent.command(verb).description(description);
  for (const option of options) command.addOption(option);
  if (verb !== 'delete') withOutputFlags(command);
  return addExamples(withConnectionFlags(withProjectFlags(command)), resource.examples[verb] ?? []);
}

function addCreate(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type, nameIsArgument = false } = resource;
  const shownOnce = Object.keys(type.shownOnce ?? {});
  const columns = [...columnsOf(type), ...shownOnce];
  const argument = nameIsArgument ? type.unique?.field : undefined;
  const fields = flaggedFields(type, true).filter(([name]) => name !== argument);
  const options = [
    ...fields.flatMap(([name, each]) => fieldOptions(resource, name, each, true)),
    ...secretOptions(type, true),
    ...revealOptions(type),
  ];
  const command = addVerb(
    parent,
    resource,
    'create',
    `create a ${type.noun} and show it${shownOnce.length === 0 ? '' : '; it cannot be shown again'}`,
    options,
  );
  const create = async (flags: Flags) => {
    checkColumns(flags, columns);
    const body = named(resource, {
      ...readFields(resource, true, flags, terminal.now()),
      ...(await readSecret(type, flags, terminal)),
    });
    const connection = await connect(flags, terminal);
    const created = await withHints(type, () =>
      call(connection, 'POST', `/v2/${type.collection}`, body),
    );
    // With -f value, print only what no later request returns: scripts store it.
    print(
      terminal,
      type,
      created,
      flags,
      flags.format === 'value' && shownOnce.length > 0 ? shownOnce : columns,
    );
  };
  if (argument !== undefined) {
    command
      .argument(`<${argument}>`, phrase(type.fields[argument]?.description ?? ''))
      .action((name: string, flags: Flags) => create({ ...flags, [argument]: name }));
  } else {
    command.action(create);
  }
}

function addList(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  const limit = new Option('--limit <number>', 'list at most this many (default: all)').argParser(
    readLimit,
  );
  const long = new Option('--long', 'list all columns, including ids');
  const sort = sortOption(resource);
  const options = [...filterOptions(resource), limit, sort, long, ...revealOptions(type)];
  addVerb(parent, resource, 'list', `list ${type.collection}`, options).action(
    async (flags: Flags & { limit?: number; sort?: string; long?: boolean }) => {
      checkColumns(flags, columnsOf(type));
      const parameters = [
        ...readFilters(resource, flags),
        ...readSort(type, flags.sort ?? resource.sort),
      ];
      const items = await listItems(await connect(flags, terminal), type, parameters, flags.limit);
      const hidden = items.map((item) => hideSecret(type, item, flags));
      const { out, environment } = terminal;
      out.write(
        formatList(hidden, listColumns(resource, flags), flags, textStyleOf(out, environment)),
      );
    },
  );
}

function addShow(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  addVerb(parent, resource, 'show', `show a ${type.noun}`, revealOptions(type))
    .argument(`<${type.noun}>`, `id or name of the ${type.noun}`)
    .action(async (idOrName: string, flags: Flags) => {
      checkColumns(flags, columnsOf(type));
      const connection = await connect(flags, terminal);
      const item = await withHints(type, async () =>
        call(connection, 'GET', await pathOf(connection, resource, idOrName)),
      );
      print(terminal, type, item, flags);
    });
}

function addSet(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  const fields = flaggedFields(type, false).flatMap(([name, field]) =>
    fieldOptions(resource, name, field, false),
  );
  addVerb(parent, resource, 'set', `change a ${type.noun} and show it`, [
    ...fields,
    ...secretOptions(type, false),
    ...revealOptions(type),
  ])
    .argument(`<${type.noun}>`, `id or name of the ${type.noun}`)
    .action(async (idOrName: string, flags: Flags) => {
      checkColumns(flags, columnsOf(type));
      const body = named(resource, {
        ...readFields(resource, false, flags, terminal.now()),
        ...(await readSecret(type, flags, terminal)),
      });
      if (Object.keys(body).length === 0) {
        throw new CommandError(
          EXIT.usage,
          'No field to change was given',
          `Run 'tsigil ${type.noun} set --help' to list the fields.`,
        );
      }
      const connection = await connect(flags, terminal);
      const item = await withHints(type, async () =>
        call(connection, 'PATCH', await pathOf(connection, resource, idOrName), body),
      );
      print(terminal, type, item, flags);
    });
}

function addDelete(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type } = resource;
  addVerb(
    parent,
    resource,
    'delete',
    `delete ${type.collection} one after another, and report each result`,
    [],
  )
    .argument(`<${type.noun}...>`, `ids or names of the ${type.collection}`)
    .action(async (idsOrNames: string[], flags: Flags) =>
      deleteAll(await connect(flags, terminal), resource, idsOrNames, terminal),
    );
}

/** Deletes resources one after another. Continues after a refusal. Stops if the service cannot be reached, and at Ctrl-C. */
async function deleteAll(
  connection: Connection,
  resource: ResourceCommand,
  idsOrNames: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const { type } = resource;
  const { signal, release } = catchInterrupt(terminal);
  const total = idsOrNames.length;
  let deleted = 0;
  let refused = 0;
  try {
    for (const idOrName of idsOrNames) {
      if (signal.aborted)
        throw new CommandError(EXIT.interrupted, `Stopped: ${deleted} of ${total} deleted`);
      try {
        await withHints(type, async () =>
          call(connection, 'DELETE', await pathOf(connection, resource, idOrName)),
        );
        deleted += 1;
        terminal.out.write(`${plainCell(idOrName)}: deleted\n`);
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
  if (refused > 0)
    throw new CommandError(EXIT.refused, `${deleted} of ${total} deleted, ${refused} not deleted`);
}

/** Returns a request body with its name, if it has one, in the form that the service takes. */
function named(resource: ResourceCommand, body: Record<string, unknown>): Record<string, unknown> {
  const field = resource.type.unique?.field;
  const name = field === undefined ? undefined : body[field];
  return field === undefined || typeof name !== 'string'
    ? body
    : { ...body, [field]: nameOf(resource, name) };
}

function nameOf({ toName }: ResourceCommand, name: string): string {
  return toName?.(name) ?? name;
}

function pathOf(
  connection: Connection,
  resource: ResourceCommand,
  idOrName: string,
): Promise<string> {
  return findPath(connection, resource.type, idOrName, (name) => nameOf(resource, name));
}

function print(
  { out, environment }: Terminal,
  type: ResourceType,
  item: Item,
  flags: Flags,
  columns: readonly string[] = columnsOf(type),
): void {
  out.write(
    formatItem(hideSecret(type, item, flags), columns, flags, textStyleOf(out, environment)),
  );
}

function readLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}
