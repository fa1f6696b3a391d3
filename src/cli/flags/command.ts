import type { Command, Option } from 'commander';
import type { Connection } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { confirm, type ConfirmationFlags } from '../output/confirmation.ts';
import type { OutputFlags } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { optionsOfFlags, type Flag, type Flags, type ValuesOf } from './flag.ts';
import {
  checkColumns,
  connect,
  withConnectionFlags,
  withOutputFlags,
  withProjectFlags,
  type ProjectFlags,
} from './flags.ts';
import { addExamples } from './help.ts';

/** The flags that follow from what a command does, and `--force`, which its request then has. */
export type CommonFlags = ConnectionFlags &
  ProjectFlags &
  OutputFlags &
  ConfirmationFlags & { readonly force?: true };

export interface Run<A = unknown, F = Readonly<Record<string, unknown>>> {
  readonly argument: A;
  readonly others: readonly string[];
  readonly flags: F;
  readonly columns: readonly string[];
  readonly terminal: Terminal;
  connect(): Promise<Connection>;
  /**
   * Asks for confirmation, unless `--yes` is set. `reason` says in sentences what happens then.
   * Throws `CommandError` after any reply but yes. Nothing must be changed before.
   */
  confirm(question: string, reason?: string): Promise<void>;
}

type ArgumentOf<A extends string> = A extends `${string}...${string}`
  ? readonly string[]
  : A extends `[${string}`
    ? string | undefined
    : string;

type FlagsOf<F> = Omit<CommonFlags, keyof F> & ValuesOf<F>;

export interface CommandDefinition {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  /** The line in the list of commands, if the description is too long for it. */
  readonly summary?: string;
  readonly isHidden?: boolean;
  /** The argument and its description: `<tld>`, `[tld]` if it may be left out, `<tld...>` for several. */
  readonly argument?: readonly [string, string];
  readonly others?: readonly (readonly [string, string])[];
  readonly flags?: Flags;
  /** The flags that follow from a definition. Their values have no types. */
  readonly options?: readonly Option[];
  /** The columns that `--column` can name. Absent for a command that prints none. */
  readonly columns?: readonly string[];
  /** When the command asks for confirmation: a clause that begins with `when` or `before`. */
  readonly asks?: string;
  /** Whether the command has the flags for projects, and the one for all of them. */
  readonly project?: 'one' | 'all';
  /** Whether the command sends the service no request. */
  readonly isLocal?: boolean;
  readonly examples: readonly string[];
  run(run: Run): Promise<void> | void;
}

interface TypedDefinition<A extends string, F extends Flags> extends Omit<
  CommandDefinition,
  'argument' | 'flags' | 'run'
> {
  readonly argument?: readonly [A, string];
  readonly flags?: F;
  run(run: Run<ArgumentOf<A>, FlagsOf<F>>): Promise<void> | void;
}

/** The flags of a command with none of its own: `--yes`, if it asks. */
type NoFlags = Readonly<Record<'yes', Flag<boolean>>>;

/** Returns a definition unchanged, and infers what its `run` receives. */
export function defineCommand<const A extends string, F extends Flags = NoFlags>(
  definition: TypedDefinition<A, F>,
): CommandDefinition {
  return definition; // safe: `run` gets only the argument and the flags of this definition
}

export function addCommand(
  parent: Command,
  definition: CommandDefinition,
  terminal: Terminal,
): Command {
  const { name, aliases = [], description, summary = '', argument, isHidden = false } = definition;
  const {
    others = [],
    flags = {},
    options = [],
    columns,
    asks,
    project,
    isLocal = false,
  } = definition;
  const command = parent
    .command(name, { hidden: isHidden })
    .aliases(aliases)
    .description(description)
    .summary(summary);
  for (const each of [...(argument === undefined ? [] : [argument]), ...others])
    command.argument(...each);
  for (const option of [...options, ...optionsOfFlags(flags)]) command.addOption(option);
  if (asks !== undefined) command.option('--yes', `do not ask for confirmation ${asks}`);
  if (columns !== undefined) withOutputFlags(command);
  if (project !== undefined) withProjectFlags(command, project === 'all');
  if (!isLocal) withConnectionFlags(command);
  command.action(async () => {
    const given = command.opts<CommonFlags & Readonly<Record<string, unknown>>>();
    if (columns !== undefined) checkColumns(given, columns);
    const [first, ...words] = command.processedArgs as readonly string[];
    await definition.run({
      argument: first,
      others: words,
      columns: columns ?? [],
      flags: given,
      terminal,
      connect: () => connect(given, terminal),
      confirm(question, reason) {
        if (asks === undefined) throw new Error(`'${name}' does not say when it asks`);
        return confirm(question, given, terminal, reason);
      },
    });
  });
  return addExamples(command, definition.examples);
}

export interface CommandGroup {
  readonly name: string;
  readonly description: string;
  readonly summary?: string;
  readonly isHidden?: boolean;
  readonly examples: readonly string[];
  readonly commands: readonly CommandDefinition[];
}

export function addGroup(program: Command, group: CommandGroup, terminal: Terminal): void {
  const { name, description, summary = '', isHidden = false, examples, commands } = group;
  const parent = program
    .command(name, { hidden: isHidden })
    .description(description)
    .summary(summary);
  for (const command of commands) addCommand(parent, command, terminal);
  addExamples(parent, examples);
}
