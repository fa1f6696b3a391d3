import type { Command, Option } from 'commander';
import { commandsBelow } from './help.ts';

/** The methods with which commander reports usage errors. Its types omit them. */
type Reporter = Command & {
  missingArgument(name: string): void;
  missingMandatoryOptionValue(): void;
  unknownOption(flag: string): void;
};

/**
 * Makes every command of `program` report all missing arguments and flags at once. An unknown flag
 * takes precedence, because it is often a misspelt required flag. Messages omit the value of an
 * unknown flag, because the value may be a secret.
 */
export function reportUsageErrors(program: Command): void {
  for (const { command } of commandsBelow(program)) {
    const reporter = command as Reporter;
    const reportUnknown = reporter.unknownOption.bind(reporter);
    const reportMissing = () => {
      const unknown = unknownFlag(command, program);
      if (unknown !== undefined) reporter.unknownOption(unknown);
      else command.error(`error: ${missingParts(command).join('; ')}`);
    };
    reporter.unknownOption = (flag) => reportUnknown(flag.replace(/(?<=^--[^=]*)=.*/s, ''));
    reporter.missingArgument = reportMissing;
    reporter.missingMandatoryOptionValue = reportMissing;
  }
}

/** Returns the first flag that `command` does not have, unless `--` marks it as an argument. */
function unknownFlag({ args }: Command, { rawArgs }: Command & { rawArgs?: string[] }) {
  const end = rawArgs?.indexOf('--') ?? -1;
  const flags = end === -1 ? args : args.filter((word) => rawArgs?.slice(0, end).includes(word));
  return flags.find((word) => /^-./.test(word));
}

/**
 * Returns clauses for the missing arguments, for the missing flags, and for the values of missing
 * flags. An optional argument is missing if flags can replace the argument, but none of these flags
 * is set. Such flags have the argument's name or conflict with the argument.
 */
function missingParts(command: Command): string[] {
  const replacements = (name: string) =>
    command.options.filter(
      (each: Option & { conflictsWith?: readonly string[] }) =>
        each.attributeName() === name || each.conflictsWith?.includes(name) === true,
    );
  const isAbsent = (name: string) => command.getOptionValue(name) === undefined;
  const names = command.registeredArguments
    .filter((_, index) => command.args[index] === undefined)
    .filter(
      (argument) =>
        argument.required ||
        (replacements(argument.name()).length > 0 &&
          replacements(argument.name()).every((option) => isAbsent(option.attributeName()))),
    )
    .map((argument) => `'${argument.name()}'`);
  const flags = command.options
    .filter(({ mandatory }) => mandatory)
    .filter((option) => isAbsent(option.attributeName()));
  const flagNames = flags.map((option) => `'${option.flags}'`);
  const values = flags.flatMap(({ long, argChoices }) =>
    argChoices === undefined ? [] : [`set ${long} to one of: ${argChoices.join(', ')}`],
  );
  const several = (list: readonly string[]) => (list.length > 1 ? 's' : '');
  return [
    ...(names.length > 0 ? [`missing required argument${several(names)} ${names.join(', ')}`] : []),
    ...(flags.length > 0
      ? [`missing required option${several(flagNames)} ${flagNames.join(', ')}`]
      : []),
    ...values,
  ];
}
