import { defineCommand, type CommonFlags, type Run } from '../flags/command.ts';
import { optionsOfFlags } from '../flags/flag.ts';
import { hasReferences, readReferences } from '../flags/references.ts';
import { columnsOf, type FlagValues, type ResourceCommand } from '../flags/resource-command.ts';
import { fieldOptions, flaggedFields, readFields } from '../flags/resource-flags.ts';
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
import { describeReplacement, holdersOf } from './deliveries.ts';
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

type SetRun = Run<string, CommonFlags & FlagValues>;

export function setCommand(resource: ResourceCommand) {
  const { type, facts, isDelivered } = resource;
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
    ...(isDelivered === true
      ? { asks: 'when --generate replaces a secret that name servers have' }
      : {}),
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
  if (flags.generate === true) printNextSteps(terminal, resource, item, flags);
  await waitIfAsked(connection, resource, item, flags, terminal);
}

/** Asks before a secret is replaced that name servers have. */
async function confirmReplacement(
  connection: Connection,
  { isDelivered }: ResourceCommand,
  path: string,
  { argument: name, confirm, flags }: SetRun,
): Promise<void> {
  if (isDelivered !== true || flags.yes === true) return;
  const holders = await holdersOf(connection, { name, path }, true);
  if (holders.servers.length > 0)
    await confirm('Replace the secret?', describeReplacement(holders));
}

/** Returns a new secret as a member of a change. */
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
