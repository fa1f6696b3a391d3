import type { ResourceType } from '../../core/resource.ts';
import { defineCommand, type CommonFlags, type Run } from '../flags/command.ts';
import { optionsOfFlags } from '../flags/flag.ts';
import { PLACE_FLAGS, readPlace } from '../flags/grant-flags.ts';
import { hasReferences, readListedIds, readReferences } from '../flags/references.ts';
import { columnsOf, type FlagValues, type ResourceCommand } from '../flags/resource-command.ts';
import { fieldOptions, flaggedFields, phrase, readFields } from '../flags/resource-flags.ts';
import { readSecret, revealOptions, secretField, secretOptions } from '../flags/secret-flags.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { writeLine } from '../output/write-line.ts';
import { call, type Connection } from '../service/client.ts';
import {
  assertMayReveal,
  withHints,
  withoutSecrets,
  type Item,
} from '../service/resource-requests.ts';
import {
  argumentOf,
  forceFlags,
  pathOf,
  print,
  printNextSteps,
  readingOf,
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
  printNextSteps(terminal, flags, resource.nextSteps?.(created));
  await waitIfAsked(connection, resource, created, flags, terminal);
}

/** Adds the name from the argument or flag. Throws `CommandError` unless exactly one is set. */
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

type SetRun = Run<string, CommonFlags & FlagValues>;

export function setCommand(resource: ResourceCommand) {
  const { type, facts, delivery } = resource;
  return defineCommand({
    ...verbOf(resource, 'set'),
    description: `change a ${type.noun} and show it`,
    argument: argumentOf(resource),
    options: [
      ...referenceOptionsOf(resource, 'set'),
      ...flaggedFields(type, false).flatMap(([name, field]) =>
        fieldOptions(resource, name, field, false),
      ),
      ...secretOptions(type, false),
      ...revealOptions(type),
      ...optionsOfFlags(facts?.flags ?? {}),
    ],
    flags: { ...waitFlags(resource), ...forceFlags(resource, 'set') },
    ...(delivery === undefined
      ? {}
      : { asks: 'when --generate replaces a secret that name servers have' }),
    columns: columnsOf(type),
    run: (run) => set(resource, run),
  });
}

async function set(resource: ResourceCommand, run: SetRun): Promise<void> {
  const { argument: idOrName, connect, flags, terminal } = run;
  const { type, assertName } = resource;
  const facts = resource.facts?.read(flags, terminal.now());
  const given = withName(resource, {
    ...readFields(resource, false, flags, terminal.now()),
    ...(await readSecret(type, flags, terminal)),
  });
  const refers = hasReferences(type, flags);
  const isKept = Object.keys(given).length === 0 && !refers && flags.generate !== true;
  if (isKept && facts === undefined)
    throw new CommandError(
      EXIT.usage,
      'Nothing to change: no flag sets a field',
      `Run 'tsigil ${type.noun} set --help' to list the fields.`,
    );
  if (flags.force !== true) assertName?.(given.name);
  const connection = await connect();
  const body = { ...given, ...(await readReferences(type, flags, connection)) };
  if (flags.reveal === true) await assertMayReveal(connection, type);
  const change = async () => {
    const path = await pathOf(connection, resource, idOrName);
    if (flags.generate === true) await confirmReplacement(connection, resource, path, run);
    const known = facts && (await resource.facts?.change(connection, path, facts));
    if (isKept) return { known, item: await call(readingOf(connection, flags), 'GET', path) };
    const secret =
      flags.generate === true ? await generateSecret(connection, resource, path, body) : {};
    return { known, item: await call(connection, 'PATCH', path, { ...body, ...secret }) };
  };
  const { known = [], item } = await withHints(type, change, body);
  print(terminal, resource, item, flags);
  for (const line of known) writeLine(terminal.err, line);
  if (flags.generate === true) printNextSteps(terminal, flags, resource.nextSteps?.(item));
  await waitIfAsked(connection, resource, item, flags, terminal);
}

async function confirmReplacement(
  connection: Connection,
  { delivery }: ResourceCommand,
  path: string,
  { argument: name, confirm, flags }: SetRun,
): Promise<void> {
  if (delivery === undefined || flags.yes === true) return;
  const holders = await delivery.holdersOf(connection, { name, path }, true);
  if (holders.servers.length > 0)
    await confirm('Replace the secret?', delivery.describeReplacement(holders));
}

async function generateSecret(
  connection: Connection,
  { type, newSecret }: ResourceCommand,
  path: string,
  change: Item,
): Promise<Item> {
  const field = secretField(type);
  if (field === undefined || newSecret === undefined) return {};
  const current = await call(withoutSecrets(connection), 'GET', path);
  return { [field]: newSecret({ ...current, ...change }) };
}
