import type { Problem } from './errors.ts';
import type { Field } from './field.ts';
import type { Settings } from './settings.ts';

/** One resource as it is kept: its id, its fields and its timestamps, by name. */
export type Row = Readonly<Record<string, unknown>>;

/** What can be done with a collection. */
export const OPERATIONS = ['create', 'list', 'get', 'update', 'delete'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** How a list filter compares: the value as it is, or in the comparison form of the type's unique field. */
export type FilterForm = 'exact' | 'unique';

/** Gives `size` octets from the system's random source. */
export type RandomBytes = (size: number) => Buffer;

/** A new resource's fields, and members that only the answer to its creation shows. */
export interface Completed {
  readonly fields: Row;
  readonly shownOnce?: Row;
}

/**
 * The definition of one resource type. Routes, filters, columns, the OpenAPI document and command-line
 * flags are all read off it; nothing else knows which fields a resource has.
 */
export interface ResourceType {
  /** The collection's name: the path segment, the list's member and the table. */
  readonly collection: string;
  /** What one is called in error types and ids: `tld` gives `tld_not_found` and `tld_id`. */
  readonly noun: string;
  /** What one is called in messages: `Could not find Tld`. */
  readonly title: string;
  /** What a resource of this type is, in a sentence or two. */
  readonly description: string;
  readonly operations: readonly Operation[];
  /** The fields between `id` and `created_at`, in the order in which they are shown. */
  readonly fields: Readonly<Record<string, Field>>;
  /** The field whose comparison form no two resources share. */
  readonly unique: { readonly field: string; comparisonForm(value: string): string };
  readonly filters: Readonly<Record<string, FilterForm>>;
  /** Fills in what a creation left out. */
  complete?(fields: Row, randomBytes: RandomBytes): Completed;
  /** What is wrong with the given members beyond what each field's kind says. */
  problems?(given: Row, settings: Settings): Problem[];
  /** What an operator should hear about a resource that was accepted all the same. */
  advice?(row: Row): string[];
}

/** The fields every resource may be sorted by. */
export const SORT_KEYS = ['created_at', 'id', 'updated_at', 'name'] as const;
export type SortKey = (typeof SORT_KEYS)[number];

/** The members that the service sets and no caller may. */
export const READ_ONLY_MEMBERS = ['id', 'created_at', 'updated_at', 'links'] as const;

/** The column that holds the comparison form of a type's unique field. */
export function uniqueColumn(type: ResourceType): string {
  return `${type.unique.field}_key`;
}

/** The names of the fields that callers see, in order, between `id` and `created_at`. */
export function shownFields(type: ResourceType): string[] {
  return Object.keys(type.fields).filter((name) => type.fields[name]?.hidden !== true);
}
