import type { JsonSchema } from '../../domain/model/field.ts';
import type { Operation, ResourceType } from '../../domain/model/resource.ts';
import type { ParameterObject } from './document.ts';
import { givenFieldsOf } from './examples.ts';

/**
 * Returns the schemas of the members that refer to other resources by name, in request bodies of
 * `operation`.
 */
export function referenceMembers(
  type: ResourceType,
  operation: Operation,
): Readonly<Record<string, JsonSchema>> {
  const settable = givenFieldsOf(type, operation).map(([name]) => name);
  return Object.fromEntries(
    references(type)
      .filter(({ fields }) => fields.every((field) => settable.includes(field)))
      .map(({ member, noun, example, fields }) => [
        member,
        {
          type: 'string',
          writeOnly: true,
          description: `The name of an existing ${noun}, instead of ${fields.map((field) => `\`${field}\``).join(' and ')}.`,
          examples: [example],
        },
      ]),
  );
}

/**
 * Returns the condition that a request body for a creation has either the required fields that
 * references replace, or one of these references. Empty if references replace no required field.
 */
export function referenceCondition(type: ResourceType): JsonSchema {
  const replaced = [...referredFields(type)].filter(
    (field) => type.fields[field]?.onCreate === 'required',
  );
  if (replaced.length === 0) return {};
  const members = references(type)
    .filter(({ fields }) => replaced.every((field) => fields.includes(field)))
    .map(({ member }) => [member]);
  return { anyOf: [replaced, ...members].map((required) => ({ required })) };
}

/** Returns the fields that a request body may replace with a reference. */
export function referredFields(type: ResourceType): ReadonlySet<string> {
  return new Set(references(type).flatMap(({ fields }) => fields));
}

/** Returns the list filters that refer to other resources by name. */
export function referenceParameters(type: ResourceType): ParameterObject[] {
  return references(type).map(({ member, noun, example }) => ({
    name: member,
    in: 'query',
    description: `Only resources that apply to the ${noun} with this name.`,
    schema: { type: 'string' },
    example,
  }));
}

function references(type: ResourceType) {
  return Object.entries(type.references ?? {}).map(([member, reference]) => ({
    member,
    noun: reference.type.noun,
    example: String(reference.type.fields[reference.type.unique?.field ?? '']?.example),
    fields: Object.keys(reference.fields('')),
  }));
}
