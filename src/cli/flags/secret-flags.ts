import { Option } from 'commander';
import { givenFields, type ResourceType } from '../../core/resource.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { readTextFile } from '../service/input.ts';
import { assertSecrets } from '../service/resource-requests.ts';
import type { FlagValues } from './resource-command.ts';
import type { Terminal } from '../output/terminal.ts';

const HIDDEN = '(hidden)';

export function secretField(type: ResourceType): string | undefined {
  return givenFields(type).find((name) => type.fields[name]?.secret === true);
}

/**
 * Returns the flags for a secret. No flag takes the secret as its value, because other users can
 * read arguments in the process list.
 */
export function secretOptions(type: ResourceType, creating: boolean): Option[] {
  const name = secretField(type);
  if (name === undefined) return [];
  return [
    new Option(`--${name} <->`, `read the ${name} from standard input; the value must be -`),
    new Option(`--${name}-file <file>`, `read the ${name} from this file`).conflicts(name),
    new Option(
      '--generate',
      creating ? `let the service generate the ${name} (default)` : `generate a new ${name}`,
    ).conflicts([name, `${name}File`]),
  ];
}

export function revealOptions(type: ResourceType): Option[] {
  const name = secretField(type);
  return name === undefined
    ? []
    : [new Option('--reveal', `show the ${name} instead of ${HIDDEN}`)];
}

/** Returns the secret that the flags select, as a member of a request. Throws `CommandError`. */
export async function readSecret(
  type: ResourceType,
  flags: FlagValues,
  { input }: Terminal,
): Promise<Record<string, string>> {
  const name = secretField(type);
  if (name === undefined) return {};
  const source = flags[name];
  const file = flags[`${name}File`];
  if (source !== undefined && source !== '-') {
    const hint = `Use --${name} - to read the ${name} from standard input, or --${name}-file FILE.`;
    throw new CommandError(
      EXIT.usage,
      `The ${name} cannot be an argument: other users of this machine can read arguments`,
      hint,
    );
  }
  if (source === '-') {
    if (input.isTTY === true) {
      const hint = `Pipe the ${name} to the command, or use --${name}-file FILE.`;
      throw new CommandError(
        EXIT.usage,
        `Cannot read the ${name}: standard input is a terminal`,
        hint,
      );
    }
    return {
      [name]: oneLine(await (await import('node:stream/consumers')).text(input), 'Standard input'),
    };
  }
  return typeof file !== 'string' ? {} : { [name]: oneLine(readTextFile(file), `'${file}'`) };
}

/**
 * Returns a resource without its secret, unless `--reveal` is set. Throws `CommandError` if the
 * service omitted a secret that `--reveal` should show.
 */
export function hideSecret<T extends Readonly<Record<string, unknown>>>(
  type: ResourceType,
  item: T,
  flags: FlagValues,
): T {
  const name = secretField(type);
  if (flags.reveal === true) assertSecrets(type, item);
  return name === undefined || flags.reveal === true ? item : { ...item, [name]: HIDDEN };
}

function oneLine(content: string, source: string): string {
  const line = content.replace(/\r?\n$/, '');
  if (line !== '' && !/[\r\n]/.test(line)) return line;
  throw new CommandError(EXIT.usage, `${source} does not contain a secret on one line`);
}
