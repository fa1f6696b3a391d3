import type { ResourceType } from '../../core/resource.ts';
import { tld } from '../../resources/tld.ts';
import { zone } from '../../resources/zone.ts';
import { toAsciiName } from '../../core/text/dns-name.ts';
import { wireProblems } from '../../formats/key.ts';
import { CommandError, EXIT } from '../output/command-error.ts';

/**
 * Returns a domain name, or a pattern, with A-labels: `xn--p1ai` for `рф`. Labels without an ASCII
 * form are unchanged.
 */
export function asciiName(name: string): string {
  return name
    .split('.')
    .map((label) => toAsciiName(label) ?? label)
    .join('.');
}

/** Returns a domain name with A-labels and a trailing dot, as in zone names. */
export function absoluteAsciiName(name: string): string {
  const ascii = asciiName(name);
  return ascii === '' || ascii.endsWith('.') ? ascii : `${ascii}.`;
}

const NAME_FORMS: ReadonlyMap<ResourceType, (name: string) => string> = new Map<
  ResourceType,
  (name: string) => string
>([
  [tld, asciiName],
  [zone, absoluteAsciiName],
]);

/** Returns what turns the names of a type into the form that the service accepts. */
export function nameFormOf(type: ResourceType): (name: string) => string {
  return NAME_FORMS.get(type) ?? ((name) => name);
}

/** Returns whether the service and Designate accept a name that no name server can give to a key. */
export function isUnusableName(name: unknown): boolean {
  return typeof name === 'string' && wireProblems({ name }).length > 0;
}

/** Throws `CommandError` for such a name. */
export function assertUsableName(name: unknown): void {
  if (!isUnusableName(name)) return;
  throw new CommandError(
    EXIT.usage,
    `No name server can have a key with the name '${String(name)}'`,
    'Use letters, digits, hyphens and underscores, joined by single dots, such as transfer.example. To keep the name only in Tsigil, add --force.',
  );
}
