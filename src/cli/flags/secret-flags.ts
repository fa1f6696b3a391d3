import { text } from 'node:stream/consumers';
import { Option } from 'commander';
import { givenFields, type ResourceType } from '../../domain/model/resource.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { readTextFile } from '../service/input.ts';
import type { FlagValues } from './resource-flags.ts';
import type { Terminal } from '../output/terminal.ts';

/** What stands in the place of a secret that was not asked for. */
const HIDDEN = '(hidden)';

/** The name of the secret field of a type, if it has one. */
export function secretField(type: ResourceType): string | undefined {
  return givenFields(type).find((name) => type.fields[name]?.secret === true);
}

/** The flags by which a secret is given without standing in the list of processes. */
export function secretOptions(type: ResourceType, creating: boolean): Option[] {
  const name = secretField(type);
  if (name === undefined) return [];
  return [
    new Option(`--${name} <->`, `read the ${name} from standard input: the only value is -`),
    new Option(`--${name}-file <file>`, `read the ${name} from a file`).conflicts(name),
    ...(creating ? [new Option('--generate', `let the service make the ${name}: the default`).conflicts([name, `${name}File`])] : []),
  ];
}

/** The flag that shows secrets. */
export function revealOptions(type: ResourceType): Option[] {
  const name = secretField(type);
  return name === undefined ? [] : [new Option('--reveal', `show the ${name} instead of ${HIDDEN}`)];
}

/**
 * The member of a request body that the flags of a secret give. Throws `CommandError`, also for a secret that is an argument:
 * every user of the machine can read those.
 */
export async function readSecret(type: ResourceType, flags: FlagValues, { input }: Terminal): Promise<Record<string, string>> {
  const name = secretField(type);
  if (name === undefined) return {};
  const source = flags[name];
  const file = flags[`${name}File`] as string | undefined;
  if (source !== undefined && source !== '-') {
    const hint = `Give --${name} - and the ${name} on standard input, or --${name}-file FILE.`;
    throw new CommandError(EXIT.usage, `The ${name} must not be an argument: other users of this machine can read those`, hint);
  }
  if (source === '-') {
    if (input.isTTY === true) throw new CommandError(EXIT.usage, `--${name} - reads standard input, which is a terminal here`, 'Pipe it in.');
    return { [name]: oneLine(await text(input as AsyncIterable<string>), 'Standard input') };
  }
  return file === undefined ? {} : { [name]: oneLine(readTextFile(file), `'${file}'`) };
}

/** A resource as it may be shown: without its secret, unless that was asked for. */
export function hideSecret<T extends Readonly<Record<string, unknown>>>(type: ResourceType, item: T, flags: FlagValues): T {
  const name = secretField(type);
  return name === undefined || flags.reveal === true || !(name in item) ? item : { ...item, [name]: HIDDEN };
}

function oneLine(content: string, source: string): string {
  const line = content.replace(/\r?\n$/, '');
  if (line !== '' && !/[\r\n]/.test(line)) return line;
  throw new CommandError(EXIT.usage, `${source} does not hold a secret on one line`);
}
