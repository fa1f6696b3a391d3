import type { ResourceType } from '../../domain/model/resource.ts';
import { defineCommand, type CommonFlags, type Run } from '../flags/command.ts';
import { PLACE_FLAGS, readPlace } from '../flags/grant-flags.ts';
import { optionsOfFlags } from '../flags/flag.ts';
import { readListedIds, readReferences } from '../flags/references.ts';
import { columnsOf, type FlagValues, type ResourceCommand } from '../flags/resource-command.ts';
import { fieldOptions, flaggedFields, phrase, readFields } from '../flags/resource-flags.ts';
import { readSecret, revealOptions, secretOptions } from '../flags/secret-flags.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { call } from '../service/client.ts';
import { assertMayReveal, withHints } from '../service/resource-requests.ts';
import {
  forceFlags,
  print,
  printNextSteps,
  referenceOptionsOf,
  verbOf,
  waitFlags,
  waitIfAsked,
  withName,
} from './resource-verb.ts';

type CreateRun = Run<string | undefined, CommonFlags & FlagValues>;

export function createCommand(resource: ResourceCommand) {
  const { type, nameIsArgument = false } = resource;
  const named = type.unique?.field;
  const isOnce = type.shownOnce !== undefined;
  const fields = flaggedFields(type, true).filter(([name]) => !nameIsArgument || name !== named);
  const [open, close] = nameIsArgument ? '<>' : '[]';
  const description = phrase(type.fields[named ?? '']?.description ?? '');
  return defineCommand({
    ...verbOf(resource, 'create'),
    description: `create a ${type.noun} and show it${isOnce ? '; the service shows the value only once' : ''}`,
    ...(named === undefined ? {} : { argument: [`${open}${named}${close}`, description] }),
    options: [
      ...(hasGrants(type) ? optionsOfFlags(PLACE_FLAGS) : referenceOptionsOf(resource, 'create')),
      ...fields.flatMap(([name, each]) => fieldOptions(resource, name, each, true)),
      ...secretOptions(type, true),
      ...revealOptions(type),
    ],
    flags: { ...waitFlags(resource), ...forceFlags(resource, 'create') },
    columns: [...columnsOf(type), ...Object.keys(type.shownOnce ?? {})],
    run: (run) => create(resource, run),
  });
}

function hasGrants({ requestOnly }: ResourceType): boolean {
  return requestOnly?.grants !== undefined;
}

async function create(resource: ResourceCommand, run: CreateRun): Promise<void> {
  const { columns, connect, terminal } = run;
  const { type, complete, assertName } = resource;
  const flags = withArgument(type, run);
  const given = withName(resource, {
    ...readFields(resource, true, flags, terminal.now()),
    ...(await readSecret(type, flags, terminal)),
  });
  if (flags.force !== true) assertName?.(given.name);
  const connection = await connect();
  const references = hasGrants(type)
    ? await readPlace(connection, flags)
    : await readReferences(type, flags, connection);
  const listed = await readListedIds(resource.flags ?? {}, given, connection);
  const members = { ...given, ...references, ...listed };
  const body = complete?.(members) ?? members;
  if (flags.reveal === true) await assertMayReveal(connection, type);
  const created = await withHints(
    type,
    () => call(connection, 'POST', `/v2/${type.collection}`, body),
    body,
  );
  // Scripts store the output of -f value. The output therefore contains only the members that the
  // service shows once.
  const once = Object.keys(type.shownOnce ?? {});
  const isValue = flags.format === 'value' && once.length > 0;
  print(terminal, resource, created, flags, isValue ? once : columns);
  printNextSteps(terminal, resource, created, flags);
  await waitIfAsked(connection, resource, created, flags, terminal);
}

/**
 * Returns the flags with the name of the new resource, from the argument or the flag. Throws
 * `CommandError` unless exactly one of them is set.
 */
function withArgument(
  { noun, unique }: ResourceType,
  { argument, flags }: CreateRun,
): CreateRun['flags'] {
  if (unique === undefined) return flags;
  const { field } = unique;
  const flag = flags[field];
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
  return { ...flags, [field]: name };
}
