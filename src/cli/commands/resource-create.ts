import { Option, type Command } from 'commander';
import type { ResourceType } from '../../domain/model/resource.ts';
import { call } from '../service/client.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { checkColumns, connect } from '../flags/flags.ts';
import { placeOptions, readPlace } from '../flags/grant-flags.ts';
import { assertUsableName, unusableNameOptions } from '../flags/key-name.ts';
import { readListedIds, readReferences } from '../flags/references.ts';
import { fieldOptions, flaggedFields, phrase, readFields } from '../flags/resource-flags.ts';
import { columnsOf, type ResourceCommand } from '../flags/resource-table.ts';
import { readSecret, revealOptions, secretOptions } from '../flags/secret-flags.ts';
import { assertMayReveal, withHints } from '../service/resource-requests.ts';
import type { Terminal } from '../output/terminal.ts';
import { waitIfAsked, waitOptions } from './deliveries.ts';
import {
  addVerb,
  print,
  printNextSteps,
  referenceOptionsOf,
  withName,
  type Flags,
} from './resource-verb.ts';

export function addCreate(parent: Command, resource: ResourceCommand, terminal: Terminal): void {
  const { type, nameIsArgument = false, shortcut } = resource;
  const shownOnce = Object.keys(type.shownOnce ?? {});
  const hasGrants = type.requestOnly?.grants !== undefined;
  const columns = [...columnsOf(type), ...shownOnce];
  const named = type.unique?.field;
  const fields = flaggedFields(type, true).filter(([name]) => !nameIsArgument || name !== named);
  const options = [
    ...(hasGrants ? placeOptions() : referenceOptionsOf(resource, 'create')),
    ...fields.flatMap(([name, each]) => fieldOptions(resource, name, each, true)),
    ...(shortcut === undefined
      ? []
      : [new Option(shortcut.flag, shortcut.description).implies(shortcut.fields)]),
    ...secretOptions(type, true),
    ...revealOptions(type),
    ...waitOptions(resource),
    ...unusableNameOptions(type),
  ];
  const command = addVerb(
    parent,
    resource,
    'create',
    `create a ${type.noun} and show it${shownOnce.length === 0 ? '' : '; the service shows the value only once'}`,
    options,
  );
  const create = async (flags: Flags) => {
    checkColumns(flags, columns);
    const given = withName(resource, {
      ...readFields(resource, true, flags, terminal.now()),
      ...(await readSecret(type, flags, terminal)),
    });
    assertUsableName(type, given.name, flags.force === true);
    const connection = await connect(flags, terminal);
    const references = hasGrants
      ? await readPlace(connection, flags)
      : await readReferences(type, flags, connection);
    const listed = await readListedIds(resource.flags ?? {}, given, connection);
    const members = { ...given, ...references, ...listed };
    const body = resource.complete?.(members) ?? members;
    if (flags.reveal === true) await assertMayReveal(connection, type);
    const created = await withHints(
      type,
      () => call(connection, 'POST', `/v2/${type.collection}`, body),
      body,
    );
    // Scripts store the output of -f value. The output therefore contains only the members that the
    // service shows once.
    print(
      terminal,
      type,
      created,
      flags,
      flags.format === 'value' && shownOnce.length > 0 ? shownOnce : columns,
    );
    printNextSteps(terminal, resource, created, flags);
    await waitIfAsked(connection, type, created, flags, terminal);
  };
  if (named === undefined) {
    command.action(create);
    return;
  }
  command
    .argument(
      nameIsArgument ? `<${named}>` : `[${named}]`,
      phrase(type.fields[named]?.description ?? ''),
    )
    .action((name: string | undefined, flags: Flags) =>
      create({ ...flags, [named]: oneName(type, named, name, flags[named]) }),
    );
}

/**
 * Returns the name of a new resource from the argument or the flag. Throws `CommandError` unless
 * exactly one of them is set.
 */
function oneName(
  { noun }: ResourceType,
  field: string,
  argument: string | undefined,
  flag: unknown,
): unknown {
  if (argument !== undefined && flag !== undefined)
    throw new CommandError(
      EXIT.usage,
      `The ${field} is given twice: '${argument}' and --${field}. Use one of them.`,
    );
  const name = argument ?? flag;
  if (name === undefined)
    throw new CommandError(
      EXIT.usage,
      `The ${field} of the ${noun} is missing`,
      `Add it as an argument: tsigil ${noun} create ${field.toUpperCase()}.`,
    );
  return name;
}
