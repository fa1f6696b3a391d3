import { timestamp, type Field, type FieldReference, type JsonSchema } from '../core/field.ts';
import { shownFields, sortFields, uniqueOf, type ResourceType } from '../core/resource.ts';
import { capitalised } from '../core/text/capitalised.ts';
import { RESOURCE_TYPES } from './resources.ts';

type FieldKind =
  'text' | 'enumeration' | 'boolean' | 'number' | 'timestamp' | 'reference' | 'list' | 'map';

/** A field as the forms, lists and filters of the web console need it. */
export interface FieldDefinition {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly description: string;
  readonly required: boolean;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly choices?: readonly { readonly value: unknown; readonly note?: string }[];
  readonly secret?: true;
  readonly set: 'create' | 'always' | 'never';
  readonly nullable: boolean;
  readonly refers_to?: FieldReference;
}

export interface ResourceDefinition {
  readonly singular: string;
  readonly unique: string;
  readonly sort_keys: readonly string[];
  readonly filters: readonly string[];
  readonly fields: readonly FieldDefinition[];
}

const TIMESTAMP_PATTERN = timestamp().schema.pattern;

let definitions: Readonly<Record<string, ResourceDefinition>> | undefined;

export function resourceDefinitions(): Readonly<Record<string, ResourceDefinition>> {
  definitions ??= Object.fromEntries(
    RESOURCE_TYPES.map((type) => [type.collection, describeResource(type)]),
  );
  return definitions;
}

function describeResource(type: ResourceType): ResourceDefinition {
  const { words, filters, references = {}, selectors = {} } = type;
  return {
    singular: words.one,
    unique: uniqueOf(type).field,
    sort_keys: Object.keys(sortFields(type)),
    filters: [filters, references, selectors, type.computedFilters, type.timeFilters].flatMap(
      (some = {}) => Object.keys(some),
    ),
    fields: shownFields(type).flatMap((name) => {
      const field = type.fields[name];
      return field === undefined ? [] : [describeField(type, name, field)];
    }),
  };
}

function describeField(type: ResourceType, name: string, field: Field): FieldDefinition {
  const { schema, description, example, onCreate, secret, refersTo } = field;
  const set = setOf(type, field);
  const choices = choicesOf(field);
  const definition: { -readonly [Member in keyof FieldDefinition]: FieldDefinition[Member] } = {
    name,
    label: field.label ?? labelOf(name),
    kind: kindOf(field),
    description,
    required: onCreate === 'required',
    set,
    nullable: typesOf(schema).includes('null'),
  };
  if (onCreate !== 'required' && onCreate.default !== undefined && set !== 'never')
    definition.default = onCreate.default;
  if (secret === true) definition.secret = true;
  else if (example !== null) definition.example = example;
  if (choices.length > 0) definition.choices = choices;
  if (refersTo !== undefined) definition.refers_to = refersTo;
  return definition;
}

function setOf({ operations }: ResourceType, { set = 'always' }: Field): FieldDefinition['set'] {
  if (set === 'by the service' || set === 'hidden') return 'never';
  return set === 'once' || !operations.includes('update') ? 'create' : 'always';
}

function kindOf({ schema, refersTo }: Field): FieldKind {
  const [type = 'string'] = typesOf(schema);
  if (type === 'array') return 'list';
  if (type === 'object') return 'map';
  if (refersTo !== undefined) return 'reference';
  if (schema.enum !== undefined) return 'enumeration';
  if (type === 'boolean') return 'boolean';
  if (type === 'integer') return 'number';
  return schema.pattern === TIMESTAMP_PATTERN ? 'timestamp' : 'text';
}

function typesOf({ type = [] }: JsonSchema): readonly string[] {
  return [type].flat();
}

function choicesOf({ schema, choiceNotes = {} }: Field) {
  const values = (schema.enum ?? schema.items?.enum ?? []).filter((value) => value !== null);
  return values.map((value) => {
    const note = typeof value === 'string' ? choiceNotes[value] : undefined;
    return note === undefined ? { value } : { value, note };
  });
}

/** Returns the label of a field from its name: `pool_id` becomes `Pool`. */
function labelOf(name: string): string {
  const words = name.replace(/_id$/, '').replaceAll('_', ' ');
  return words === 'ttl' ? 'TTL' : capitalised(words);
}
