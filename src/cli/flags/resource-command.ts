import { shownMembers, type ResourceType } from '../../core/resource.ts';
import type { Format } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import type { Connection } from '../service/client.ts';
import type { Item } from '../service/resource-requests.ts';
import type { Flags } from './flag.ts';

export const VERBS = ['create', 'list', 'show', 'set', 'delete'] as const;
export type Verb = (typeof VERBS)[number];

/** The values of flags as commander returns them, by name in camel case. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** A flag that is not derived from its field. */
export interface FieldFlag {
  /** The flag and its value: `--expires <time>`. */
  readonly flag: string;
  readonly description: string;
  /**
   * Converts the value of the flag to the member of the request. By default, the member is the
   * value. `now` is in milliseconds since 1970. Throws `CommandError`.
   */
  read?(text: string, now: number): unknown;
  /** The type of the resources that the values name. The request contains their ids. */
  readonly refersTo?: ResourceType;
}

/** How the commands of a resource type differ from what its definition says. */
export interface ResourceCommand {
  readonly type: ResourceType;
  readonly plural: string;
  /** The columns of a list in a format for programs, such as `csv`. */
  readonly columns: readonly string[];
  /** The columns in the format `table`. The columns fit into 80 characters, and contain no ids. */
  readonly tableColumns: readonly string[];
  /** The sort key of lists without `--sort`, if it differs from the service's default. */
  readonly sort?: string;
  /** True if the name can only be an argument of `create`, not a flag. */
  readonly nameIsArgument?: boolean;
  /** Descriptions of the default values of `create` for the help, by field. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** Returns the members of a new resource, including defaults. Throws `CommandError`. */
  complete?(given: Item): Item;
  /** Throws `CommandError` for a name that only `--force` sets. */
  assertName?(name: unknown): void;
  /** What `--force` permits, besides what the configuration of a name server forbids. */
  readonly forces?: Readonly<Partial<Record<'create' | 'set', string>>>;
  /** The verbs whose flags can name another resource, with the beginning of their descriptions. */
  readonly referenceVerbs?: Readonly<Partial<Record<Verb, string>>>;
  newSecret?(members: Item): string;
  /** Returns the commands to run after the secret of a resource was set. */
  nextSteps?(item: Item): readonly string[];
  /** The flags whose names differ from those of their fields, by field. */
  readonly flags?: Readonly<Record<string, FieldFlag>>;
  /** What `--wait` waits for, if the service delivers the resources to name servers. */
  readonly delivery?: Delivery;
  /** Further columns of lists, which need further requests. */
  readonly states?: {
    readonly columns: readonly string[];
    read(connection: Connection, items: readonly Item[], now: number): Promise<readonly Item[]>;
  };
  /** In the order of the help. The last one selects first. */
  readonly selections?: readonly Selection[];
  /** What `set` changes besides the fields. */
  readonly facts?: {
    readonly flags: Flags;
    /** Returns undefined if no flag changes them. Throws `CommandError`. */
    read(flags: FlagValues, now: number): object | undefined;
    /** Returns lines about what is known then. */
    change(connection: Connection, path: string, facts: object): Promise<readonly string[]>;
  };
  /** What `show` says besides the members. */
  readonly reports?: readonly Report[];
  readonly deletion?: {
    readonly asks: string;
    /** What `--force` permits. */
    readonly forces?: string;
    /** Returns why to ask before these resources are deleted, or undefined. */
    reason(
      connection: Connection,
      names: readonly string[],
      now: number,
    ): Promise<string | undefined>;
  };
  /** The examples of each verb. A verb without examples has no command. */
  readonly examples: Readonly<Partial<Record<Verb, readonly string[]>>>;
}

/** Flags of lists that the members of the resources do not answer. */
export interface Selection {
  readonly flags: Flags;
  /** Returns what selects resources, or undefined for all. Throws `CommandError`. */
  read(
    flags: FlagValues,
    terminal: Terminal,
  ): ((connection: Connection, items: readonly Item[]) => Promise<readonly Item[]>) | undefined;
}

/** A resource, and the name servers that have any version of it. */
export interface Holders {
  readonly name: string;
  readonly path: string;
  /** Their names. */
  readonly servers: readonly string[];
  /** What a deletion does to them, as clauses after `deleted`. */
  readonly loss: string;
}

export interface Delivery {
  /** Throws `CommandError` if a name server lacks the resource at `path` after 60 s. */
  waitUntilDelivered(connection: Connection, path: string, terminal: Terminal): Promise<void>;
  /**
   * Returns no name servers if the service does not show them to the token. Throws `CommandError` if
   * the service cannot be reached, and with `isNeeded`, for any other failure.
   */
  holdersOf(
    connection: Connection,
    resource: Pick<Holders, 'name' | 'path'>,
    isNeeded: boolean,
  ): Promise<Holders>;
  /** Returns in sentences what a new secret does to the clients of these name servers. */
  describeReplacement(holders: Holders): string;
  /** Throws `CommandError` if a name server still has a deleted resource after 60 s. */
  waitForRemoval(
    connection: Connection,
    deleted: readonly Holders[],
    terminal: Terminal,
  ): Promise<void>;
}

/** Reports on standard error what concerns a resource. */
interface Report {
  /** Whether only people read it, and not programs. */
  readonly isForTables: boolean;
  write(connection: Connection, item: Item, terminal: Terminal): Promise<void>;
}

/** Returns all members that the service returns; `updated_at` only if the resource can change. */
export function columnsOf(type: ResourceType): string[] {
  return shownMembers(type).filter(
    (name) => name !== 'updated_at' || type.operations.includes('update'),
  );
}

interface ListColumnFlags {
  readonly allProjects?: boolean;
  readonly format?: Format | undefined;
  readonly long?: boolean;
  readonly reveal?: boolean;
}

/**
 * Returns the columns of a list without `--column`. A table has names and no ids, and `--long` adds
 * all other columns. The secret is a column only with `--reveal`.
 */
export function listColumns(
  { type, columns, tableColumns, states }: ResourceCommand,
  { allProjects, format = 'table', long, reveal }: ListColumnFlags,
): string[] {
  const first = format === 'table' ? tableColumns : columns;
  const owner = type.owner !== undefined && allProjects === true ? [type.owner] : [];
  const others = long === true ? [...columnsOf(type), ...(states?.columns ?? [])] : [];
  return [...new Set([...first, ...owner, ...others])].filter(
    (name) => reveal === true || type.fields[name]?.secret !== true,
  );
}
