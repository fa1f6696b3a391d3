import { defineCommand } from '../flags/command.ts';
import { optionsOfFlags, parsed, toggle } from '../flags/flag.ts';
import { readLimit } from '../flags/flags.ts';
import { readReferences } from '../flags/references.ts';
import { columnsOf, listColumns, type ResourceCommand } from '../flags/resource-command.ts';
import { filterOptions, readFilters, readSort, sortOption } from '../flags/resource-flags.ts';
import { hideSecret, revealOptions } from '../flags/secret-flags.ts';
import { printList } from '../output/output.ts';
import { call } from '../service/client.ts';
import { listItems, withHints } from '../service/resource-requests.ts';
import {
  argumentOf,
  pathOf,
  print,
  readingOf,
  referenceOptionsOf,
  verbOf,
} from './resource-verb.ts';

export function listCommand(resource: ResourceCommand) {
  const { type, selection, states } = resource;
  return defineCommand({
    ...verbOf(resource, 'list'),
    description: `list ${type.collection}`,
    options: [
      ...referenceOptionsOf(resource, 'list'),
      ...filterOptions(resource),
      ...optionsOfFlags(selection?.flags ?? {}),
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
      const select = selection?.read(flags, terminal);
      const most = select === undefined ? flags.limit : undefined;
      const all = await listItems(readingOf(connection, flags), type, parameters, most);
      const items =
        select === undefined ? all : (await select(connection, all)).slice(0, flags.limit);
      const hidden = items.map((item) => hideSecret(type, item, flags));
      const columns = flags.column ?? listColumns(resource, flags);
      const isStateShown = columns.some((name) => states?.columns.includes(name));
      const rows = isStateShown ? await states?.read(connection, hidden, terminal.now()) : hidden;
      printList(terminal, rows ?? hidden, columns, flags);
    },
  });
}

export function showCommand(resource: ResourceCommand) {
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
