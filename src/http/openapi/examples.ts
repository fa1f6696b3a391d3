import { EXAMPLE_ID } from '../../domain/model/error-entry.ts';
import { DEFAULT_POOL_ID, DEFAULT_POOL_NAME, pool } from '../../domain/resources/pool.ts';
import { readCreation } from '../../domain/operations/body.ts';
import { ServiceError } from '../../domain/model/errors.ts';
import type { Field } from '../../domain/model/field.ts';
import {
  givenFields,
  newMembers,
  shownFields,
  type Operation,
  type ResourceType,
} from '../../domain/model/resource.ts';
import { pendingMembers } from '../../domain/model/response.ts';
import { LENIENT } from '../../domain/model/settings.ts';
import type { Example } from './document.ts';

/**
 * The functions below build the examples of a resource type from the examples of its fields. They
 * use the code that serves requests, so the service accepts and returns these examples.
 */

type Body = Readonly<Record<string, unknown>>;

export const EXAMPLE_REQUEST_ID = 'req-0f6c3a52-8d7e-4b1f-9c55-3e2d1a0b9f87';
export const CREATED_AT = '2026-01-31T12:00:00.123456';
export const UPDATED_AT = '2026-02-01T08:30:00.654321';

/** Returns the fields of `type` that callers see, in order. */
export function fieldsOf(type: ResourceType): [string, Field][] {
  return Object.entries(type.fields).filter(([name]) => shownFields(type).includes(name));
}

/** Returns the fields of `type` that callers may set in a request body of `operation`, in order. */
export function givenFieldsOf(type: ResourceType, operation: Operation): [string, Field][] {
  return fieldsOf(type).filter(
    ([name, { set }]) =>
      givenFields(type).includes(name) && (operation === 'create' || set !== 'once'),
  );
}

/**
 * Returns request bodies that `operation` accepts, by name. Empty for operations without a body.
 */
export function requestExamples(
  type: ResourceType,
  operation: Operation,
): Record<string, Example<Body>> {
  if (operation === 'create') return creationBodies(type);
  if (operation !== 'update') return {};
  return {
    partial: {
      summary: 'One member.',
      value: examplesOf(givenFieldsOf(type, 'update').slice(0, 1)),
    },
  };
}

/**
 * Returns the responses of `operation` by name. The response to an example of `requestExamples` has
 * the same name.
 */
export function responseExamples(
  type: ResourceType,
  operation: Operation,
  settings: { readonly base: string; readonly pendingStatus: boolean },
): Record<string, Example<Body>> {
  const { base } = settings;
  const resource = show(type, base, wholeBody(type));
  const pending = pendingMembers(type, operation, settings);
  switch (operation) {
    case 'create':
      return Object.fromEntries(
        Object.entries(creationBodies(type)).map(([name, { summary, value }]) => {
          return [
            name,
            {
              summary,
              value: {
                ...show(type, base, withIds(type, value)),
                ...examplesOf(Object.entries(type.shownOnce ?? {})),
                ...pending,
              },
            },
          ];
        }),
      );
    case 'list':
      return { page: { summary: 'The only page.', value: onlyPage(type, base, resource) } };
    case 'get':
      return { resource: { summary: 'Never updated.', value: resource } };
    case 'update':
      return {
        partial: {
          summary: 'One member.',
          value: { ...resource, updated_at: UPDATED_AT, ...pending },
        },
      };
    case 'delete':
      return type.statuses?.delete === undefined
        ? {}
        : { resource: { summary: 'Before deletion.', value: { ...resource, ...type.deleted } } };
  }
}

function onlyPage(type: ResourceType, base: string, resource: Body): Body {
  const metadata = type.owner === undefined ? {} : { metadata: { total_count: 1 } };
  return {
    [type.collection]: [resource],
    links: { self: `${base}/v2/${type.collection}` },
    ...metadata,
  };
}

/**
 * Returns one body with every member and one with the required members only. The service accepts
 * both bodies, one after the other.
 */
function creationBodies(type: ResourceType): Record<string, Example<Body>> {
  const complete = { summary: 'Every member.', value: wholeBody(type) };
  const required = requiredFields(type);
  if (required.length === Object.keys(complete.value).length) return { complete };
  const made = givenFieldsOf(type, 'create').flatMap(([name, { onCreate }]) =>
    onCreate !== 'required' && onCreate.default === undefined ? [`\`${name}\``] : [],
  );
  const named = Object.entries(type.references ?? {}).find(
    ([, { type: referred, fields }]) =>
      referred === pool && required.some(([name]) => Object.hasOwn(fields(''), name)),
  );
  const summary = `Only the required members${named === undefined ? '' : ', with the pool by its name'}${made.length === 0 ? '' : `; the service generates the ${made.join(', ')}`}.`;
  const replaced = Object.keys(named?.[1].fields('') ?? {});
  const others = required
    .filter(([name]) => !replaced.includes(name))
    .map(([name, field]): [string, Field] => [
      name,
      { ...field, example: field.otherExample ?? field.example },
    ]);
  const value = { ...examplesOf(others), ...(named && { [named[0]]: DEFAULT_POOL_NAME }) };
  return { complete, shortest: { summary, value } };
}

/** Returns an example of a request body with the id of the pool instead of its name. */
function withIds({ references = {} }: ResourceType, body: Body): Body {
  const members = Object.entries(body).flatMap(([name, value]) =>
    Object.entries(references[name]?.fields(DEFAULT_POOL_ID) ?? { [name]: value }),
  );
  return Object.fromEntries(members);
}

/**
 * Returns the fields that a request to create a resource requires, by definition or by the type's
 * rules.
 */
export function requiredFields(type: ResourceType): [string, Field][] {
  const fields = givenFieldsOf(type, 'create');
  const required = fields.filter(([, { onCreate }]) => onCreate === 'required');
  try {
    readCreation(type, examplesOf(required), LENIENT);
    return required;
  } catch (error) {
    const missed =
      error instanceof ServiceError
        ? (error.details.problems ?? []).map(({ path }) => path[0])
        : [];
    return fields.filter(
      ([name, { onCreate }]) => onCreate === 'required' || missed.includes(name),
    );
  }
}

function wholeBody(type: ResourceType): Body {
  return examplesOf(givenFieldsOf(type, 'create'));
}

function examplesOf(fields: [string, { readonly example: unknown }][]): Body {
  return Object.fromEntries(fields.map(([name, { example }]) => [name, example]));
}

/**
 * Returns the resource that a request body creates. The values that the service sets come from the
 * fields' examples.
 */
function show(type: ResourceType, base: string, body: Body): Body {
  const stored = readCreation(type, body, LENIENT);
  const members = fieldsOf(type).map(
    ([name, { set, example }]) =>
      [name, set === 'by the service' ? example : (stored[name] ?? example)] as const,
  );
  const links = { self: `${base}/v2/${type.collection}/${EXAMPLE_ID}` };
  const { id, ...timestamps } = newMembers(type, EXAMPLE_ID, CREATED_AT);
  return { id, ...Object.fromEntries(members), ...timestamps, links };
}

/** Returns the `ServiceError` that `work` throws. Throws `Error` if `work` does not throw one. */
export function thrownBy(work: () => unknown): ServiceError {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
  }
  throw new Error('The example must throw a ServiceError');
}
