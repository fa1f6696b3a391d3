import type { ErrorCode, Problem } from './errors.ts';
import type { Field, JsonSchema, ValueOf } from './field.ts';
import type { Caller } from './caller.ts';
import type { Condition, FilterForm, Keyed, TimeFilter, Unique } from './query.ts';
import { commonSortKeys, type Settings } from './settings.ts';
import type { Unreadable } from './unreadable.ts';

export type Fields = Readonly<Record<string, Field>>;

/** The members that the service sets. `updated_at` is absent if `withoutUpdatedAt`. */
type ServiceMembers = {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at?: string | null;
};

export type ResourceOf<F extends Fields> = ServiceMembers & {
  readonly [Name in keyof F]: F[Name] extends { readonly secret: true }
    ? ValueOf<F[Name]> | Unreadable
    : ValueOf<F[Name]>;
};

export type Resource = ResourceOf<Fields>;

/** The members in a request, after validation. Those with an invalid value are undefined. */
export type Given<F extends Fields = Fields> = {
  readonly [Name in keyof F]?: ValueOf<F[Name]> | undefined;
};

/** A resource before its creation. `admit` sets the fields whose default is undefined. */
export type Draft<F extends Fields = Fields> = ServiceMembers & DraftFields<F>;

export type DraftFields<F extends Fields = Fields> = {
  readonly [Name in keyof F]: F[Name] extends { readonly onCreate: { readonly default: undefined } }
    ? ValueOf<F[Name]> | undefined
    : ValueOf<F[Name]>;
};

export const OPERATIONS = ['create', 'list', 'get', 'update', 'delete'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A reader that uses only indexes, for computed filters and name checks. */
export interface IndexReader {
  find<F extends Fields>(
    type: ResourceType<F>,
    lookup: string,
    values: readonly string[],
  ): Promise<ResourceOf<F>[]>;
  /** Returns which of `values` occur in an index of the type. Reads only the index. */
  present(type: ResourceType, lookup: string, values: readonly string[]): Promise<Set<string>>;
  exists(type: ResourceType, conditions: readonly Condition[]): Promise<boolean>;
}

/** A filter computed from other resources, for one batch of resources at a time. */
interface ComputedFilter<F extends Fields = Fields> {
  readonly description: string;
  /** A right required in addition to that to list. Such a filter covers all projects. */
  readonly right?: string;
  /** Returns the value for each resource, in order. */
  evaluate(
    resources: readonly ResourceOf<F>[],
    reader: IndexReader,
    settings: Settings,
  ): Promise<boolean[]>;
}

/** A filter that selects resources by their ids. */
interface Selector {
  readonly description: string;
  readonly example: string;
  select(value: string, reader: Pick<IndexReader, 'find'>): Promise<readonly string[]>;
}

export type Change<F extends Fields = Fields> =
  | (Keyed<Draft<F>> & { readonly operation: 'create' })
  | (Keyed<ResourceOf<F>> & {
      readonly operation: 'update';
      readonly current: ResourceOf<F>;
      readonly given: Given<F>;
    })
  | (Keyed<ResourceOf<F>> & { readonly operation: 'delete' });

/** The dependencies of the rules about a change, in addition to the transaction. */
export interface Admission {
  readonly caller: Caller;
  readonly settings: Settings;
  /** Throws `access_denied` or `outside_limits` unless the caller has a right. */
  requireRight(right: string): void;
  roles(): readonly string[];
  /** Returns `size` octets from the system's random source. */
  randomBytes(size: number): Buffer;
  /** Whether the caller accepts what a rule would otherwise refuse as unsafe. */
  readonly force: boolean;
  /** The time of the change, in the timestamp format of the API. */
  readonly now: string;
  /** Returns some names that the caller can see, for a refusal that names them. */
  visibleNames(type: ResourceType, conditions: readonly Condition[]): Promise<readonly string[]>;
}

/** The part of an admission that decides what a change depends on. */
export type LockContext = Pick<Admission, 'caller' | 'settings'>;

export interface Admitted<F extends Fields = Fields> {
  readonly resource: ResourceOf<F>;
  /** Warnings that depend on other resources. */
  readonly warnings?: readonly string[];
  readonly shownOnce?: Readonly<Record<string, unknown>>;
  /** The rights of a key in single zones, if the change sets them. */
  readonly zoneRights?: ReadonlyMap<string, string>;
  /** What the audit record of this change has besides the changed fields. */
  readonly recorded?: Readonly<Record<string, [before: unknown, after: unknown]>>;
}

/** An index. The id and the unique field always have one. */
type Lookup<F extends Fields = Fields> = { readonly field: keyof F & string } | DerivedLookup<F>;

/** An index on a value that the store computes from the resource and stores with it. */
export interface DerivedLookup<F extends Fields = Fields> {
  valueOf(resource: ResourceOf<F>, uniqueForm: string): string;
}

/** A request member and list filter that refers to another resource by its name. */
export interface Reference {
  /** The type of the resource. Its unique field is the name of the resource. */
  readonly type: ResourceType;
  /** Worded to follow "apply the key to", such as "every zone of this pool". */
  readonly description: string;
  fields(id: string): Readonly<Record<string, string>>;
}

export function defineFields<const F extends Fields>(fields: F): F {
  return fields;
}

export function defineResource<const F extends Fields>(
  definition: ResourceType<F>,
): ResourceType<F> {
  return definition;
}

/** Routes, filters, tables, the OpenAPI document and command-line flags are derived from it. */
export interface ResourceType<F extends Fields = Fields> {
  /** The collection's name, also used for the path segment, the list member and the table. */
  readonly collection: string;
  /** The name of one resource, such as `tld` in the error type `tld_not_found` and in `tld_id`. */
  readonly noun: string;
  /** The name of one resource in messages, such as `Tld` in `Could not find Tld`. */
  readonly title: string;
  /** One resource and several, in headings and help. */
  readonly words: { readonly one: string; readonly many: string };
  readonly description: string;
  readonly operations: readonly Operation[];
  /** The roles for each operation, unless a policy changes them. The default: administrators. */
  readonly roles?: Readonly<Partial<Record<Operation, readonly string[]>>>;
  /** The success statuses that differ. A deletion with 202 returns the deleted resource. */
  readonly statuses?: Readonly<Partial<Record<Operation, number>>>;
  /** Whether keys apply to resources of this type. A deletion leaves them orphaned. */
  readonly hasKeys?: boolean;
  /** What differs in responses, with the status 202, if `zones.pendingStatus` is set. */
  readonly pending?: Readonly<Partial<Record<Operation, Partial<ResourceOf<F>>>>>;
  /** The fields between `id` and `created_at`, in the order of responses. */
  readonly fields: F;
  readonly unique?: Unique & { readonly field: keyof F & string; readonly per?: keyof F & string };
  /** True for resources that never change and have no `updated_at`. */
  readonly withoutUpdatedAt?: boolean;
  /** The index on the unique field's comparison form has the field's name. */
  readonly lookups?: Readonly<Record<string, Lookup<F>>>;
  /** The field with the owning project. Callers see only the resources of their project. */
  readonly owner?: keyof F & string;
  /** The sort keys in addition to the common sort keys, with the field of each key. */
  readonly sortKeys?: Readonly<Record<string, string>>;
  readonly filters: { readonly [Name in keyof F]?: FilterForm };
  /** The filters whose value names resources otherwise than by a field of theirs. */
  readonly selectors?: Readonly<Record<string, Selector>>;
  readonly computedFilters?: Readonly<Record<string, ComputedFilter<F>>>;
  readonly timeFilters?: Readonly<Record<string, TimeFilter>>;
  /** By the name of the member in requests. Responses do not contain these members. */
  readonly references?: Readonly<Record<string, Reference>>;
  /** The members that appear only in the response to a creation. */
  readonly shownOnce?: Readonly<Record<string, Pick<Field, 'schema' | 'description' | 'example'>>>;
  /** Optional members of a creation that no response has. The rules read them from the draft. */
  readonly requestOnly?: Readonly<
    Record<string, Pick<Field, 'schema' | 'parse' | 'description' | 'example'>>
  >;
  /**
   * Set if a resource is a credential: who knows what `proof` stands for may sign in with it. Each row
   * carries a MAC over the id and every field except `unsigned`, so that a row that another program
   * wrote or changed proves nothing. In such a row, the store returns an empty `proof`.
   */
  readonly credential?: {
    readonly proof: keyof F & string;
    readonly unsigned: readonly (keyof F & string)[];
  };
  /** The errors that the rules in `rules.ts` throw for each operation. */
  readonly refusals?: Readonly<Partial<Record<Operation, readonly ErrorCode[]>>>;
  /** One of them matches each new resource, if `problems` requires members only from some. */
  readonly variants?: readonly JsonSchema[];
  /** The problems that kinds do not detect. A member that its kind rejected is undefined. */
  problems?(given: Given<F>, settings: Settings, current: ResourceOf<F> | undefined): Problem[];
  /**
   * Returns warnings for the operator and the caller about an accepted resource, one sentence each.
   * Warnings are ASCII text and quote no value of the resource.
   */
  warnings?(resource: ResourceOf<F>): string[];
}

/** Throws `Error` for a type without a unique field. */
export function uniqueOf<F extends Fields>({ collection, unique }: ResourceType<F>): Unique {
  if (unique === undefined) throw new Error(`The collection ${collection} has no unique field`);
  return unique;
}

export function timestampsOf<F extends Fields>({
  withoutUpdatedAt = false,
}: ResourceType<F>): readonly string[] {
  return withoutUpdatedAt ? ['created_at'] : ['created_at', 'updated_at'];
}

export function newMembers(type: ResourceType, id: string, now: string): ServiceMembers {
  return type.withoutUpdatedAt === true
    ? { id, created_at: now }
    : { id, created_at: now, updated_at: null };
}

export function revisionOf({ id, created_at, updated_at }: Resource): string {
  return `${id}/${updated_at ?? created_at}`;
}

/** Returns whether callers can see but not set `member`. */
export function isReadOnly(type: ResourceType, member: string): boolean {
  return (
    member === 'id' ||
    member === 'links' ||
    timestampsOf(type).includes(member) ||
    type.fields[member]?.set === 'by the service'
  );
}

/** `derive` runs once for each type. */
export function perType<T>(derive: (type: ResourceType) => T): (type: ResourceType) => T {
  const derived = new Map<ResourceType, T>();
  return (type) => {
    const cached = derived.get(type);
    if (cached !== undefined) return cached;
    const value = derive(type);
    derived.set(type, value);
    return value;
  };
}

/** Returns the names of the fields that callers see, in order, between `id` and `created_at`. */
export const shownFields = perType((type): readonly string[] =>
  Object.keys(type.fields).filter((name) => type.fields[name]?.set !== 'hidden'),
);

/** Returns the names of the members that callers see, in order, without `links`. */
export const shownMembers = perType((type): readonly string[] => [
  'id',
  ...shownFields(type),
  ...timestampsOf(type),
]);

export const sortFields = perType((type): Readonly<Record<string, string>> => {
  return { ...Object.fromEntries(commonSortKeys(type).map((key) => [key, key])), ...type.sortKeys };
});

/** Returns the names of the fields that callers may set on creation. */
export const givenFields = perType((type): readonly string[] =>
  shownFields(type).filter((name) => !isReadOnly(type, name)),
);
