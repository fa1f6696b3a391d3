import { InvalidArgumentError, Option } from 'commander';

export { InvalidArgumentError };

interface FlagTraits {
  readonly short?: string;
  /** The flags, by name in camel case, and the arguments that exclude this one. */
  readonly conflicts?: readonly string[];
  /** The environment variable that stands in for the flag. */
  readonly env?: string;
}

/** A flag whose value is a `T`. Its name follows from its member in a table: `dryRun`, `--dry-run`. */
export interface Flag<T = unknown> extends FlagTraits {
  /** The word for the value in help: `<file>`. Absent for a switch. */
  readonly value?: string;
  readonly description: string;
  readonly choices?: readonly string[];
  /** Throws `InvalidArgumentError`. `earlier` is the value of the same flag before this one. */
  read?(text: string, earlier: T | undefined): T;
  readonly default?: T;
  readonly isRequired?: boolean;
}

export type Flags = Readonly<Record<string, Flag>>;

/** A flag that always has a value. */
type SetFlag<T> = Flag<T> & { readonly isSet: true };

type SetNames<F> = {
  [Name in keyof F]: F[Name] extends { readonly isSet: true } ? Name : never;
}[keyof F];

type ValueOfFlag<F> = F extends Flag<infer T> ? T : never;

export type ValuesOf<F> = {
  readonly [Name in SetNames<F>]: ValueOfFlag<F[Name]>;
} & {
  readonly [Name in Exclude<keyof F, SetNames<F>>]?: ValueOfFlag<F[Name]>;
};

export function toggle(description: string, traits: FlagTraits = {}): Flag<true> {
  return { description, ...traits };
}

export function text(value: string, description: string, traits: FlagTraits = {}): Flag<string> {
  return { value, description, ...traits };
}

/** The configuration file of the service, or of the agent, on this machine. */
export function configFile(description = 'read this configuration file'): Flag<string> {
  return text('<file>', description, { env: 'TSIGIL_CONFIG' });
}

/** A flag that is repeated for several values. */
export function texts(
  value: string,
  description: string,
  traits: FlagTraits = {},
): Flag<readonly string[]> {
  return { value, description, read: collect, ...traits };
}

export function choice<const C extends string>(
  value: string,
  choices: readonly C[],
  description: string,
  traits: FlagTraits = {},
): Flag<C> {
  return { value, description, choices, ...traits };
}

export function parsed<T>(
  value: string,
  description: string,
  read: (text: string, earlier: T | undefined) => T,
): Flag<T> {
  return { value, description, read };
}

export function required<T>(flag: Flag<T>): SetFlag<T> {
  return { ...flag, isRequired: true, isSet: true };
}

export function defaulting<T>(flag: Flag<T>, value: T): SetFlag<T> {
  return { ...flag, default: value, isSet: true };
}

export function optionsOfFlags(flags: Flags): Option[] {
  return Object.entries(flags).map(([name, flag]) => {
    const { short, value, description, choices, conflicts, env, read, isRequired = false } = flag;
    const long = `--${dashed(name)}`;
    const option = new Option(
      [
        ...(short === undefined ? [] : [`${short},`]),
        long,
        ...(value === undefined ? [] : [value]),
      ].join(' '),
      description,
    );
    if (choices !== undefined) option.choices(choices);
    if (read !== undefined) option.argParser(read);
    if (conflicts !== undefined) option.conflicts([...conflicts]);
    if (env !== undefined) option.env(env);
    if (flag.default !== undefined) option.default(flag.default);
    return option.makeOptionMandatory(isRequired);
  });
}

/** Returns the name of a flag: `dry-run` for `dryRun` and for `dry_run`. */
export function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-');
}

export function collect(value: string, earlier: readonly string[] | undefined): readonly string[] {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return [...(earlier ?? []), value];
}
