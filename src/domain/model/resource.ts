import type { ErrorCode, Problem } from './errors.ts';
import type { Field, ValueOf } from './field.ts';
import type { Caller } from './caller.ts';
import { COMMON_SORT_KEYS, type Settings } from './settings.ts';

/** The fields of a resource type by their names. */
export type Fields = Readonly<Record<string, Field>>;

/** The members that the service sets on every resource. */
export type ServiceMembers = { readonly id: string; readonly created_at: string; readonly updated_at: string | null };

/** A resource of a type with the fields `F`, as the store holds it. */
export type ResourceOf<F extends Fields> = ServiceMembers & { readonly [Name in keyof F]: ValueOf<F[Name]> };

/** A resource of any type: its id, its fields and its timestamps, by name. */
export type Row = ResourceOf<Fields>;

/** The members of a resource that a request gives, checked. Those whose value is invalid are undefined. */
export type Given<F extends Fields = Fields> = { readonly [Name in keyof F]?: ValueOf<F[Name]> | undefined };

/** A resource that is about to be created: `admit` still has to fill in the fields whose default is undefined. */
export type Draft<F extends Fields = Fields> = ServiceMembers & DraftFields<F>;

/** The fields of a resource that is about to be created. */
export type DraftFields<F extends Fields = Fields> = {
  readonly [Name in keyof F]: F[Name] extends { readonly onCreate: { readonly default: undefined } }
    ? ValueOf<F[Name]> | undefined
    : ValueOf<F[Name]>;
};

/** What can be done with a collection. */
export const OPERATIONS = ['create', 'list', 'get', 'update', 'delete'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A value that a column can hold. */
export type Value = string | number;

/** One condition on a column. `matches` takes a pattern in which `*` stands for any run of characters and all else for itself. */
export interface Condition {
  readonly column: string;
  readonly test: '=' | '<>' | '<' | '>' | 'matches';
  readonly value: Value;
}

/** One page of a list, in the order (sort column, id). Null sorts before everything else. */
export interface ListQuery {
  readonly limit: number;
  readonly sortColumn: string;
  readonly descending: boolean;
  readonly conditions: readonly Condition[];
  /** The row after which the page begins: its sort value and id. */
  readonly after?: { readonly sortValue: unknown; readonly id: string } | undefined;
}

/** A computed filter of a list, and which of its two values rows must have. */
export interface WantedAnswer {
  readonly name: string;
  readonly wanted: boolean;
}

/** One page of a list for a caller. */
export interface PageQuery extends ListQuery {
  /** Computed filters by their names, which rows must pass as well as the conditions. */
  readonly questions?: { readonly wanted: readonly WantedAnswer[]; readonly settings: Settings };
  /** Whether to count all rows that meet the conditions. */
  readonly count?: boolean;
  /** The page may end before its limit once its rows are sure to be longer than this, in bytes. It has one row at least. */
  readonly maxBytes?: number;
}

/** One page of a list. */
export interface Page<F extends Fields = Fields> {
  readonly rows: ResourceOf<F>[];
  /** Whether rows may follow. */
  readonly more: boolean;
  /** How many rows meet the conditions, wherever the page begins; undefined if they were not counted. */
  readonly total: number | undefined;
}

/** Reads what is committed. Every method throws `unavailable` when the database cannot answer. */
export interface Reader {
  get<F extends Fields>(type: ResourceType<F>, id: string): Promise<ResourceOf<F> | undefined>;
  /** The rows whose `column`, which must have an index, equals one of `values`. */
  find<F extends Fields>(type: ResourceType<F>, column: string, values: readonly string[]): Promise<ResourceOf<F>[]>;
  /** Which of `values` some row has in `column`, which must have an index. It reads that index and no row. */
  present(type: ResourceType, column: string, values: readonly string[]): Promise<Set<string>>;
  list<F extends Fields>(type: ResourceType<F>, query: ListQuery): Promise<ResourceOf<F>[]>;
  count(type: Pick<ResourceType, 'collection'>, conditions: readonly Condition[]): Promise<number>;
  /** Tells whether any row of a collection meets all `conditions`. */
  exists(type: Pick<ResourceType, 'collection'>, conditions: readonly Condition[]): Promise<boolean>;
}

/** How a list filter compares: the text as it is, as a number, or in the comparison form of the type's unique field. */
export type FilterForm = 'exact' | 'integer' | 'unique';

/** A filter that no column answers: it asks, with what else is kept, which of some rows it is true of. */
export interface Question<F extends Fields = Fields> {
  /** What it asks, in a sentence. */
  readonly description: string;
  /** The right it needs beside that to list. Rows of every project are asked about. */
  readonly right?: string;
  /** Answers for each row, in order. */
  ask(rows: readonly ResourceOf<F>[], reader: Reader, settings: Settings): Promise<boolean[]>;
}

/** A change that a transaction is about to make. */
export type Change<F extends Fields = Fields> =
  | { readonly operation: 'create'; readonly row: Draft<F> }
  | { readonly operation: 'update'; readonly row: ResourceOf<F>; readonly current: ResourceOf<F>; readonly given: Given<F> }
  | { readonly operation: 'delete'; readonly row: ResourceOf<F> };

/** What the rules about a change may use, beside the transaction. */
export interface Admission {
  readonly caller: Caller;
  readonly settings: Settings;
  /** Tells whether the caller has a right. */
  may(right: string): boolean;
  /** `size` octets from the system's random source. */
  randomBytes(size: number): Buffer;
  /** The moment of the change, as a timestamp of the API. */
  readonly now: string;
}

/** The row as it will be kept, and members that only the answer to its creation shows. */
export interface Admitted<F extends Fields = Fields> {
  readonly row: ResourceOf<F>;
  readonly shownOnce?: Readonly<Record<string, unknown>>;
}

/** A column that is stored for searches, beside those of the fields. */
export interface Lookup<F extends Fields = Fields> {
  /** The column's value for a resource. */
  valueOf(row: ResourceOf<F>): string;
}

/** Checks fields where they are written, and infers the type of each. */
export function defineFields<const F extends Fields>(fields: F): F {
  return fields;
}

/** Checks a definition where it is written, and infers the type of its resource from its fields. */
export function defineResource<const F extends Fields>(definition: ResourceType<F>): ResourceType<F> {
  return definition;
}

/**
 * The definition of one resource type. Routes, filters, columns, the OpenAPI document and command-line
 * flags are all read off it; nothing else knows which fields a resource has.
 */
export interface ResourceType<F extends Fields = Fields> {
  /** The collection's name: the path segment, the list's member and the table. */
  readonly collection: string;
  /** What one is called in error types and ids: `tld` gives `tld_not_found` and `tld_id`. */
  readonly noun: string;
  /** What one is called in messages: `Could not find Tld`. */
  readonly title: string;
  /** What a resource of this type is, in a sentence or two. */
  readonly description: string;
  readonly operations: readonly Operation[];
  /** The roles that may do an operation when no policy says otherwise; administrators where none is named. */
  readonly roles?: Readonly<Partial<Record<Operation, readonly string[]>>>;
  /** The statuses of successes that are not the ordinary ones; a deletion with 202 shows what was deleted. */
  readonly statuses?: Readonly<Partial<Record<Operation, number>>>;
  /** What the answer that shows a deleted resource says otherwise than the resource did. */
  readonly deleted?: Partial<ResourceOf<F>>;
  /** The fields between `id` and `created_at`, in the order in which they are shown. */
  readonly fields: F;
  /** The field by which resources are told apart, and the form in which its values compare. */
  readonly unique: { readonly field: keyof F & string; comparisonForm(value: string): string };
  /** Columns that are kept for look-ups, beside that of the unique field, and how they follow from a row. */
  readonly lookups?: Readonly<Record<string, Lookup<F>>>;
  /** The field with the project that owns a resource. Callers see those of their own project. */
  readonly owner?: keyof F & string;
  /** Sort keys beside the common ones, and their columns. */
  readonly sortKeys?: Readonly<Record<string, string>>;
  readonly filters: { readonly [Name in keyof F]?: FilterForm };
  readonly questions?: Readonly<Record<string, Question<F>>>;
  /** The members that only the answer to a creation shows. */
  readonly shownOnce?: Readonly<Record<string, Pick<Field, 'schema' | 'description' | 'example'>>>;
  /** Whether responses that show these resources name the caller's id, so that a client knows which of them it uses. */
  readonly identifiesCaller?: boolean;
  /** The errors by which the rules in `rules.ts` refuse each operation. */
  readonly refusals?: Readonly<Partial<Record<Operation, readonly ErrorCode[]>>>;
  /**
   * What is wrong with the given members beyond what each field's kind says; those that their kind refused are there, as
   * undefined. `current` is the resource that an update changes.
   */
  problems?(given: Given<F>, settings: Settings, current: ResourceOf<F> | undefined): Problem[];
  /** What an operator should know about a resource that is accepted, a sentence each. */
  warnings?(row: ResourceOf<F>): string[];
}

/** The sort keys of a type, and the column of each. */
export function sortColumns(type: ResourceType): Readonly<Record<string, string>> {
  return { ...Object.fromEntries(COMMON_SORT_KEYS.map((key) => [key, key])), ...type.sortKeys };
}

/** The members that the service sets on every resource and no caller may. */
const READ_ONLY_MEMBERS: readonly string[] = ['id', 'created_at', 'updated_at', 'links'];

/** Tells whether `member` is shown but never taken from a caller. */
export function isReadOnly(type: ResourceType, member: string): boolean {
  return READ_ONLY_MEMBERS.includes(member) || type.fields[member]?.set === 'by the service';
}

/** The column that holds the comparison form of a type's unique field. */
export function uniqueColumn(type: ResourceType): string {
  return `${type.unique.field}_key`;
}

/** `derive`, done once for each type. */
export function perType<T>(derive: (type: ResourceType) => T): (type: ResourceType) => T {
  const derived = new Map<ResourceType, T>();
  return (type) => {
    const known = derived.get(type);
    if (known !== undefined) return known;
    const value = derive(type);
    derived.set(type, value);
    return value;
  };
}

/** The names of the fields that callers see, in order, between `id` and `created_at`. */
export const shownFields = perType((type): readonly string[] => Object.keys(type.fields).filter((name) => type.fields[name]?.set !== 'hidden'));

/** The names of the fields that callers may give when they create a resource. */
export const givenFields = perType((type): readonly string[] => shownFields(type).filter((name) => !isReadOnly(type, name)));
