import type { Command, Option } from 'commander';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import {
  withConnectionFlags,
  withOutputFlags,
  withProjectFlags,
  type ProjectFlags,
} from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { plainCell, printItem, type OutputFlags } from '../output/output.ts';
import { referenceOptions } from '../flags/references.ts';
import type { FlagValues } from '../flags/resource-flags.ts';
import { columnsOf, VERBS, type ResourceCommand, type Verb } from '../flags/resource-table.ts';
import { hideSecret } from '../flags/secret-flags.ts';
import type { Item } from '../service/resource-requests.ts';
import type { Terminal } from '../output/terminal.ts';

export type Flags = ConnectionFlags & ProjectFlags & OutputFlags & FlagValues;

const ALIASES: Readonly<Partial<Record<Verb, string>>> = {
  create: 'add',
  list: 'ls',
  delete: 'rm',
};

/** Returns the verb with this name or alias. */
export function findVerb(word: string): Verb | undefined {
  return VERBS.find((verb) => verb === word || ALIASES[verb] === word);
}

/** Adds the command of a verb, with its flags and examples. */
export function addVerb(
  parent: Command,
  resource: ResourceCommand,
  verb: Verb,
  description: string,
  options: readonly Option[],
): Command {
  const command = parent.command(verb).description(description);
  const alias = ALIASES[verb];
  if (alias !== undefined) command.alias(alias);
  for (const option of options) command.addOption(option);
  if (verb !== 'delete') withOutputFlags(command);
  withProjectFlags(command, verb !== 'create' && resource.type.owner !== undefined);
  return addExamples(withConnectionFlags(command), resource.examples[verb] ?? []);
}

/** Returns a request body whose name, if any, has the form that the service accepts. */
export function withName(
  resource: ResourceCommand,
  body: Record<string, unknown>,
): Record<string, unknown> {
  const field = resource.type.unique?.field;
  const name = field === undefined ? undefined : body[field];
  return field === undefined || typeof name !== 'string'
    ? body
    : { ...body, [field]: nameOf(resource, name) };
}

/** Returns a name in the form that the service accepts. */
export function nameOf({ toName }: ResourceCommand, name: string): string {
  return toName?.(name) ?? name;
}

/** Prints a resource. Hides its secret unless the flags reveal it. */
export function print(
  terminal: Terminal,
  type: ResourceType,
  item: Item,
  flags: Flags,
  columns: readonly string[] = columnsOf(type),
): void {
  printItem(terminal, hideSecret(type, item, flags), columns, flags);
}

export function referenceOptionsOf(
  { type, referenceVerbs }: ResourceCommand,
  verb: Verb,
): Option[] {
  const purpose = referenceVerbs?.[verb];
  return purpose === undefined ? [] : referenceOptions(type, purpose);
}

/** Prints the commands to run next, if the output is a table. Scripts use the other formats. */
export function printNextSteps(
  { err }: Terminal,
  { nextSteps }: ResourceCommand,
  item: Item,
  { format }: OutputFlags,
): void {
  if (nextSteps === undefined || (format ?? 'table') !== 'table') return;
  err.write(
    `Next:\n${nextSteps(item)
      .map((step) => `  ${plainCell(step)}\n`)
      .join('')}`,
  );
}
