import { Option } from 'commander';
import { wireProblems } from '../../domain/key-formats/key.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { CommandError, EXIT } from '../output/command-error.ts';

/** Returns whether no name server can have a key with this name. */
export function isUnusableName(name: unknown): boolean {
  return typeof name === 'string' && wireProblems({ name }).length > 0;
}

/** Returns the flag `--force` of the command that creates keys. */
export function unusableNameOptions(type: ResourceType): Option[] {
  return type === tsigkey
    ? [new Option('--force', 'create the key even if no name server can have a key of this name')]
    : [];
}

/**
 * Refuses a new name of a key that no name server can have, unless it is forced. The service accepts
 * such names, as Designate does. Throws `CommandError`.
 */
export function assertUsableName(type: ResourceType, name: unknown, isForced: boolean): void {
  if (type !== tsigkey || isForced || !isUnusableName(name)) return;
  throw new CommandError(
    EXIT.usage,
    `No name server can have a key with the name '${String(name)}'`,
    'Use letters, digits, hyphens and underscores, joined by single dots, such as transfer.example. To keep the name only in Tsigil, add --force.',
  );
}
