import type { JsonSchema } from '../../domain/model/field.ts';

/**
 * Returns the schema of a request body with its defaults in descriptions instead of `default`.
 * Client generators treat a member with `default` as always present, and would require the member
 * in requests.
 */
export function withDefaultsInWords(schema: JsonSchema): JsonSchema {
  const { default: value, ...others } = schema;
  const { description, items, properties } = schema;
  const words = `Default: \`${JSON.stringify(value)}\`.`;
  return {
    ...others,
    ...(Object.hasOwn(schema, 'default')
      ? { description: description === undefined ? words : `${description} ${words}` }
      : {}),
    ...(items === undefined ? {} : { items: withDefaultsInWords(items) }),
    ...(properties === undefined ? {} : { properties: eachProperty(properties) }),
  };
}

function eachProperty(
  properties: Readonly<Record<string, JsonSchema>>,
): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, withDefaultsInWords(property)]),
  );
}
