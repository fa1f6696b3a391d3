import type { ErrorCode, Problem } from './errors.ts';
import type { Field, ValueOf } from './field.ts';
import type { Caller } from './caller.ts';
import type { Condition } from './query.ts';
import { commonSortKeys, type Settings } from './settings.ts';

/** The fields of a resource type by their names. */
export type Fields = Readonly<Record<string, Field>>;

/** The members that the service sets on every resource; `updated_at` is absent where the type is `withoutUpdatedAt`. */
export type ServiceMembers = {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at?: string | null;
};

/** A resource of a type with the fields `F`, as the store holds it. */
export type ResourceOf<F extends Fields> = ServiceMembers & {
  readonly [Name in keyof F]: ValueOf<F[Name]>;
};

/** A resource of any type: its id, its fields and its timestamps, by name. */
export type Resource = ResourceOf<Fields>;

/** The members of a resource that a request gives, checked. Those whose value is invalid are undefined. */
export type Given<F extends Fields = Fields> = {
  readonly [Name in keyof F]?: ValueOf<F[Name]> | undefined;
};

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

/** Reads by index alone: what computed filters and the checks of names may do. `Reader` does this and more. */
export interface IndexReader {
  /** Returns the resources whose value in a look-up of the type is one of `values`. */
  find<F extends Fields>(
    type: ResourceType<F>,
    lookup: string,
    values: readonly string[],
  ): Promise<ResourceOf<F>[]>;
  /** Returns those of `values` that a resource has in a look-up of the type. Reads the index and no resource. */
  present(type: ResourceType, lookup: string, values: readonly string[]): Promise<Set<string>>;
  /** Returns true if any resource of a type meets all `conditions`. */
  exists(type: ResourceType, conditions: readonly Condition[]): Promise<boolean>;
}

/** How a list filter compares: the text as it is, as a number, or in the comparison form of the type's unique field. */
export type FilterForm = 'exact' | 'integer' | 'unique';

/** A filter computed from other resources instead of a field. The store evaluates it on some resources at a time. */
export interface Question<F extends Fields = Fields> {
  /** What it asks, in a sentence. */
  readonly description: string;
  /** The right it needs beside that to list. Rows of every project are asked about. */
  readonly right?: string;
  /** Answers for each resource, in order. */
  ask(
    resources: readonly ResourceOf<F>[],
    reader: IndexReader,
    settings: Settings,
  ): Promise<boolean[]>;
}

/** A change that a transaction is about to make. */
export type Change<F extends Fields = Fields> =
  | { readonly operation: 'create'; readonly resource: Draft<F> }
  | {
      readonly operation: 'update';
      readonly resource: ResourceOf<F>;
      readonly current: ResourceOf<F>;
      readonly given: Given<F>;
    }
  | { readonly operation: 'delete'; readonly resource: ResourceOf<F> };

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

/** The resource as it will be kept, and members that only the answer to its creation shows. */
export interface Admitted<F extends Fields = Fields> {
  readonly resource: ResourceOf<F>;
  readonly shownOnce?: Readonly<Record<string, unknown>>;
}

/** What resources are found by, besides their ids and the unique field: a field as it is, or a value that follows from the resource. */
export type Lookup<F extends Fields = Fields> =
  { readonly field: keyof F & string } | DerivedLookup<F>;

/** A look-up by a value that follows from the resource, and that the store keeps for it. */
export interface DerivedLookup<F extends Fields = Fields> {
  /** `uniqueForm` is the comparison form of the unique field, or empty for a type without one. */
  valueOf(resource: ResourceOf<F>, uniqueForm: string): string;
}

/** A field in whose values no two resources of a type compare as equal. */
export interface Unique {
  readonly field: string;
  /** The field within whose values that holds: two resources that differ in it may have the same value in `field`. */
  readonly per?: string;
  /** Returns the form in which values compare. */
  comparisonForm(value: string): string;
}

/** Checks fields where they are written, and infers the type of each. */
export function defineFields<const F extends Fields>(fields: F): F {
  return fields;
}

/** Checks a definition where it is written, and infers the type of its resource from its fields. */
export function defineResource<const F extends Fields>(
  definition: ResourceType<F>,
): ResourceType<F> {
  return definition;
}

/**
 * The definition of one resource type. Routes, filters, the store's tables, the OpenAPI document and command-line
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
  /** What no two resources have in common besides their ids. Absent where resources may be alike, such as entries of a journal. */
  readonly unique?: Unique & { readonly field: keyof F & string; readonly per?: keyof F & string };
  /** True for resources that never change and so have no `updated_at`. */
  readonly withoutUpdatedAt?: boolean;
  /** What resources are found by, besides `id` and the comparison form of the unique field, which is a look-up with the field's name. */
  readonly lookups?: Readonly<Record<string, Lookup<F>>>;
  /** The field with the project that owns a resource. Callers see those of their own project. */
  readonly owner?: keyof F & string;
  /** Sort keys besides the common ones, and the field of each. */
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
  warnings?(resource: ResourceOf<F>): string[];
}

/** Returns what tells resources of a type apart. Throws `Error` for a type whose resources may be alike. */
export function uniqueOf<F extends Fields>({ collection, unique }: ResourceType<F>): Unique {
  if (unique === undefined) throw new Error(`The collection ${collection} has no unique field`);
  return unique;
}

/** Returns the timestamps that resources of a type have, in the order in which they are shown. */
export function timestampsOf<F extends Fields>({
  withoutUpdatedAt = false,
}: ResourceType<F>): readonly string[] {
  return withoutUpdatedAt ? ['created_at'] : ['created_at', 'updated_at'];
}

/** Returns what the service sets on a resource that is created at `now`. */
export function newMembers(type: ResourceType, id: string, now: string): ServiceMembers {
  return type.withoutUpdatedAt === true
    ? { id, created_at: now }
    : { id, created_at: now, updated_at: null };
}

/** Tells whether `member` is shown but never taken from a caller. */
export function isReadOnly(type: ResourceType, member: string): boolean {
  return (
    member === 'id' ||
    member === 'links' ||
    timestampsOf(type).includes(member) ||
    type.fields[member]?.set === 'by the service'
  );
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
export const shownFields = perType((type): readonly string[] =>
  Object.keys(type.fields).filter((name) => type.fields[name]?.set !== 'hidden'),
);

/** The names of the members of a resource that callers see, in order, without `links`. */
export const shownMembers = perType((type): readonly string[] => [
  'id',
  ...shownFields(type),
  ...timestampsOf(type),
]);

/** The sort keys of a type, and the field of each: the common ones that its resources have, and its own. */
export const sortFields = perType((type): Readonly<Record<string, string>> => {
  return { ...Object.fromEntries(commonSortKeys(type).map((key) => [key, key])), ...type.sortKeys };
});

/** The names of the fields that callers may give when they create a resource. */
export const givenFields = perType((type): readonly string[] =>
  shownFields(type).filter((name) => !isReadOnly(type, name)),
);
