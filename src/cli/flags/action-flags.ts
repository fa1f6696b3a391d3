import type { Command } from 'commander';
import type { ActionBody } from '../../domain/actions/action.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { memberOption, phrase, readValue } from './resource-flags.ts';
import type { FieldFlag } from './token-flags.ts';

/** The arguments and flags that are not derived from their members, by member. */
type OwnFlags = Readonly<Record<string, Pick<FieldFlag, 'flag' | 'description'>>>;

/**
 * Adds the body of an action to its command: an argument for each required member, and a flag for
 * each other member.
 */
export function withBody(command: Command, { kind }: ActionBody, own: OwnFlags = {}): Command {
  const { properties = {}, required = [] } = kind.schema;
  for (const [name, schema] of Object.entries(properties)) {
    const {
      flag = `<${name.replaceAll('_', '-')}>`,
      description = phrase(schema.description ?? ''),
    } = own[name] ?? {};
    if (required.includes(name)) command.argument(flag, description);
    else command.addOption(memberOption(name, schema, schema.description, own[name]));
  }
  return command;
}

/**
 * Returns the body of an action from the values of its arguments and flags, by member. Throws
 * `CommandError` with every problem.
 */
export function readBody<B>(
  { kind, what }: ActionBody<B>,
  given: Readonly<Record<string, unknown>>,
): B {
  const { properties = {} } = kind.schema;
  const members = Object.entries(properties).flatMap(([name, schema]) =>
    given[name] === undefined
      ? []
      : [[name, schema.default === false ? given[name] : readValue(name, schema, given[name])]],
  );
  const parsed = kind.parse(Object.fromEntries(members));
  if ('value' in parsed) return parsed.value;
  const problems = parsed.problems?.map(({ message }) => message) ?? [parsed.problem];
  throw new CommandError(EXIT.usage, `Invalid ${what}: ${problems.join('; ')}`);
}
