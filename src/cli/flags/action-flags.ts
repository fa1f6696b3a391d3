import type { Option } from 'commander';
import type { ActionBody } from '../../resources/operations/action.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { memberOption, phrase, readValue } from './resource-flags.ts';
import type { FieldFlag } from './resource-command.ts';

/** The arguments and flags that are not derived from their members, by member. */
export type OwnFlags = Readonly<Record<string, FieldFlag>>;

/** Returns an argument for each required member of a body, with its description. */
export function argumentsOfBody({ kind }: ActionBody, own: OwnFlags = {}): [string, string][] {
  const { properties = {}, required = [] } = kind.schema;
  return required.map((name) => {
    const { flag = `<${name.replaceAll('_', '-')}>`, description } = own[name] ?? {};
    return [flag, description ?? phrase(properties[name]?.description ?? '')];
  });
}

/** Returns a flag for each optional member of a body, by member. */
export function optionsOfBody(
  { kind }: ActionBody,
  own: OwnFlags = {},
): Readonly<Record<string, Option>> {
  const { properties = {}, required = [] } = kind.schema;
  const members = Object.entries(properties).filter(([name]) => !required.includes(name));
  return Object.fromEntries(
    members.map(([name, schema]) => [
      name,
      memberOption(name, schema, schema.description, own[name]),
    ]),
  );
}

/** `given` has the values of arguments and flags. Throws `CommandError` with every problem. */
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
