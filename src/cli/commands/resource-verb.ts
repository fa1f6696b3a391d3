import type { Option } from 'commander';
import { toggle } from '../flags/flag.ts';
import { nameFormOf } from '../flags/names.ts';
import { referenceOptions } from '../flags/references.ts';
import {
  columnsOf,
  type FlagValues,
  type ResourceCommand,
  type Verb,
} from '../flags/resource-command.ts';
import { hideSecret } from '../flags/secret-flags.ts';
import { plainCell, printItem, type OutputFlags } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import type { Connection } from '../service/client.ts';
import { findPath, withoutSecrets, type Item } from '../service/resource-requests.ts';

export const VERB_ALIASES: Readonly<Partial<Record<Verb, string>>> = {
  create: 'add',
  list: 'ls',
  delete: 'rm',
};

export function verbOf({ type, examples }: ResourceCommand, name: Verb) {
  const alias = VERB_ALIASES[name];
  const isInAll = name !== 'create' && type.owner !== undefined;
  return {
    name,
    aliases: alias === undefined ? [] : [alias],
    project: isInAll ? 'all' : 'one',
    examples: examples[name] ?? [],
  } as const;
}

export function argumentOf({ type }: ResourceCommand) {
  return [`<${type.noun}>`, `id or name of the ${type.noun}`] as const;
}

export function referenceOptionsOf(
  { type, referenceVerbs }: ResourceCommand,
  verb: Verb,
): Option[] {
  const purpose = referenceVerbs?.[verb];
  return purpose === undefined ? [] : referenceOptions(type, purpose);
}

export function waitFlags(
  { delivery }: ResourceCommand,
  description = 'wait up to 60 seconds until every name server has verified the key',
) {
  return delivery === undefined ? {} : { wait: toggle(description) };
}

export function forceFlags(
  { type, forces, deletion }: ResourceCommand,
  verb: 'create' | 'set' | 'delete',
) {
  const operation = verb === 'set' ? 'update' : verb;
  const own = verb === 'delete' ? deletion?.forces : forces?.[verb];
  const isForbidden =
    (operation === 'update' || operation === 'delete') &&
    type.refusals?.[operation]?.includes('key_is_referenced') === true;
  const parts = [
    ...(isForbidden
      ? [
          'make the change even if it takes a key from a nameserver whose configuration names the key; except on PowerDNS, the nameserver then keeps a key with this name, whose secret no one knows',
        ]
      : []),
    ...(own === undefined ? [] : [isForbidden ? `also ${own}` : own]),
  ];
  return parts.length === 0 ? {} : { force: toggle(parts.join('; ')) };
}

/** Returns a request body whose name, if any, has the form that the service accepts. */
export function withName({ type }: ResourceCommand, body: Item): Item {
  const field = type.unique?.field;
  const name = field === undefined ? undefined : body[field];
  return field === undefined || typeof name !== 'string'
    ? body
    : { ...body, [field]: nameFormOf(type)(name) };
}

export function pathOf(
  connection: Connection,
  { type }: ResourceCommand,
  idOrName: string,
): Promise<string> {
  return findPath(connection, type, idOrName, nameFormOf(type));
}

/** Returns a connection whose responses omit secrets, unless the flags reveal the secrets. */
export function readingOf(connection: Connection, { reveal }: FlagValues): Connection {
  return reveal === true ? connection : withoutSecrets(connection);
}

/** Prints a resource. Hides its secret unless the flags reveal it. */
export function print(
  terminal: Terminal,
  { type }: ResourceCommand,
  item: Item,
  flags: OutputFlags & FlagValues,
  columns: readonly string[] = columnsOf(type),
): void {
  printItem(terminal, hideSecret(type, item, flags), columns, flags);
}

/** Prints the commands to run next, if the output is a table. Scripts use the other formats. */
export function printNextSteps(
  { err }: Terminal,
  { format }: OutputFlags,
  steps: readonly string[] = [],
): void {
  if (steps.length === 0 || (format ?? 'table') !== 'table') return;
  err.write(`Next:\n${steps.map((step) => `  ${plainCell(step)}\n`).join('')}`);
}

/** With `--wait`, waits until every name server has the resource. Throws `CommandError` otherwise. */
export async function waitIfAsked(
  connection: Connection,
  { type, delivery }: ResourceCommand,
  { id }: Item,
  { wait }: FlagValues,
  terminal: Terminal,
): Promise<void> {
  if (wait === true)
    await delivery?.waitUntilDelivered(
      connection,
      `/v2/${type.collection}/${String(id)}`,
      terminal,
    );
}
