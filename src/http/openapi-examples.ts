import { readBody } from '../domain/body.ts';
import type { Field } from '../domain/field.ts';
import { shownFields, type Operation, type RandomBytes, type ResourceType, type Row } from '../domain/resource.ts';
import { MAX_LIMIT, type Settings } from '../domain/settings.ts';
import type { Example } from './openapi-document.ts';

/**
 * The examples of a resource type, made from its fields' examples by the code that serves requests,
 * so that the service takes and gives what they show.
 */

export const EXAMPLE_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';
export const EXAMPLE_REQUEST_ID = 'req-0f6c3a52-8d7e-4b1f-9c55-3e2d1a0b9f87';
export const CREATED_AT = '2026-01-31T12:00:00.123456';
export const UPDATED_AT = '2026-02-01T08:30:00.654321';

/** Examples are good under every setting. */
const LENIENT: Settings = { strictTsigkeys: false, defaultLimit: MAX_LIMIT };

/** Octets that nobody takes for random ones. */
const exampleBytes: RandomBytes = (size) => Buffer.from(Array.from({ length: size }, (_, index) => index));

/** The fields of `type` that callers see, in order. */
export function fieldsOf(type: ResourceType): [string, Field][] {
  return Object.entries(type.fields).filter(([name]) => shownFields(type).includes(name));
}

/** The members that only the answer to a creation has, with an example of each. */
export function shownOnce(type: ResourceType): Row {
  return create(type, wholeBody(type)).shownOnce ?? {};
}

/** Request bodies that `operation` takes, by name; none for operations without a body. */
export function requestExamples(type: ResourceType, operation: Operation): Record<string, Example<Row>> {
  if (operation === 'create') return creationBodies(type);
  if (operation !== 'update') return {};
  return { partial: { summary: 'One member given.', value: examplesOf(fieldsOf(type).slice(-1)) } };
}

/** What `operation` answers, by name; to each of `requestExamples` under the same name. */
export function answerExamples(type: ResourceType, operation: Operation, base: string): Record<string, Example<Row>> {
  const resource = show(type, base, create(type, wholeBody(type)).fields);
  switch (operation) {
    case 'create':
      return Object.fromEntries(
        Object.entries(creationBodies(type)).map(([name, { summary, value }]) => {
          const { fields, shownOnce } = create(type, value);
          return [name, { summary, value: { ...show(type, base, fields), ...shownOnce } }];
        }),
      );
    case 'list':
      return { page: { summary: 'The only page.', value: { [type.collection]: [resource], links: { self: `${base}/v2/${type.collection}` } } } };
    case 'get':
      return { resource: { summary: 'Never updated.', value: resource } };
    case 'update':
      return { partial: { summary: 'One member given.', value: { ...resource, updated_at: UPDATED_AT } } };
    case 'delete':
      return {};
  }
}

/** With every member, and with as few as will do. */
function creationBodies(type: ResourceType): Record<string, Example<Row>> {
  const complete = { summary: 'Every member given.', value: wholeBody(type) };
  const required = fieldsOf(type).filter(([, { onCreate }]) => onCreate === 'required');
  if (required.length === Object.keys(complete.value).length) return { complete };
  const made = fieldsOf(type).flatMap(([name, { onCreate }]) => (onCreate !== 'required' && onCreate.default === undefined ? [`\`${name}\``] : []));
  const summary = `Only the required members given${made.length === 0 ? '' : `; the service makes the ${made.join(', ')}`}.`;
  return { complete, shortest: { summary, value: examplesOf(required) } };
}

function wholeBody(type: ResourceType): Row {
  return examplesOf(fieldsOf(type));
}

function examplesOf(fields: [string, Field][]): Row {
  return Object.fromEntries(fields.map(([name, { example }]) => [name, example]));
}

function create(type: ResourceType, body: Row): { fields: Row; shownOnce?: Row } {
  const fields = readBody(type, body, true, LENIENT);
  return type.complete?.(fields, exampleBytes) ?? { fields };
}

function show(type: ResourceType, base: string, fields: Row): Row {
  const members = shownFields(type).map((name) => [name, fields[name]] as const);
  const links = { self: `${base}/v2/${type.collection}/${EXAMPLE_ID}` };
  return { id: EXAMPLE_ID, ...Object.fromEntries(members), created_at: CREATED_AT, updated_at: null, links };
}
