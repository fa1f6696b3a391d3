import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { isObject } from '../../src/core/field.ts';
import { givenFields, type ResourceType } from '../../src/core/resource.ts';
import type {
  ApiDocument,
  Content,
  OperationObject,
  OrReference,
  ResponseObject,
} from '../../src/http/openapi/document.ts';
import type { ApiResponse, Client } from './client.ts';

const JSON_BODY = 'application/json';

/** The methods of a path, as members of a path item. */
export const DOCUMENTED_METHODS = ['post', 'get', 'put', 'patch', 'delete'] as const;

/**
 * Returns `node`, or the value in `document` to which it refers. Throws for a reference to a
 * missing value.
 */
export function resolve<T extends object>(document: ApiDocument, node: OrReference<T>): T {
  if (!('$ref' in node)) return node;
  const target = node.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>((parent, name) => (isObject(parent) ? parent[name] : undefined), document);
  if (target === undefined) throw new Error(`The document has no value at '${node.$ref}'`);
  return target as T;
}

/** Returns the OpenAPI document of the service. */
export async function readDocument({ get }: Client): Promise<ApiDocument> {
  return (await get('/openapi.json')).body as ApiDocument;
}

/**
 * Returns the operation for a method and a path template in the document. Throws if the document
 * has no such operation.
 */
export function operationAt(document: ApiDocument, path: string, method: string): OperationObject {
  const operation =
    document.paths[path]?.[method.toLowerCase() as (typeof DOCUMENTED_METHODS)[number]];
  if (operation === undefined) throw new Error(`The document has no ${method} ${path}`);
  return operation;
}

/**
 * Returns the response that the document describes for an operation and a status. Throws if the
 * document describes no such response.
 */
export function responseTo(
  document: ApiDocument,
  path: string,
  method: string,
  status: number,
): ResponseObject {
  const response = operationAt(document, path, method).responses[status];
  if (response === undefined) throw new Error(`${method} ${path} may not return ${status}`);
  return resolve(document, response);
}

/** Returns the examples of a JSON body, by name. */
export function examplesOf(content: Content | undefined): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(content?.[JSON_BODY]?.examples ?? {}).map(([name, { value }]) => [name, value]),
  );
}

/**
 * Returns a body for the creation of a resource with the examples of its fields, or for an update with
 * the first of them.
 */
export function exampleBody(type: ResourceType, method: string): Record<string, unknown> {
  const fields = Object.entries(type.fields).filter(
    ([name, { set }]) => givenFields(type).includes(name) && (method === 'POST' || set !== 'once'),
  );
  const shown = method === 'POST' ? fields : fields.slice(0, 1);
  return Object.fromEntries(shown.map(([name, { example }]) => [name, example]));
}

/**
 * Validates `value` against a JSON Schema of the document. Returns the errors, or undefined if
 * `value` is valid.
 */
function complaints(document: ApiDocument, schema: object, value: unknown): unknown {
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = compile(document, schema);
    validators.set(schema, validate);
  }
  return validate(value) ? undefined : validate.errors;
}

/** Returns whether `value` lacks a member that a JSON Schema of the document requires. */
export function missesRequired(document: ApiDocument, schema: object, value: unknown): boolean {
  const errors = complaints(document, schema, value) as { keyword: string }[] | undefined;
  return (errors ?? []).some(({ keyword }) => keyword === 'required');
}

/** A cache of compiled schemas, because compiling a schema takes longer than a validation. */
const validators = new WeakMap<object, ValidateFunction>();

function compile(document: ApiDocument, schema: object): ValidateFunction {
  const formats = {
    uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    uri: (text: string) => URL.canParse(text),
    'date-time': /^[\d-]+T[\d:]+Z$/,
  };
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats });
  return ajv.compile({ $id: 'api', components: document.components, ...schema });
}

/**
 * Expects that the document allows the status, the significant headers and the body of `response`.
 */
export function expectDocumented(
  document: ApiDocument,
  path: string,
  method: string,
  response: ApiResponse,
): void {
  const documented = responseTo(document, path, method, response.status);
  const names = new Set(Object.keys(documented.headers ?? {}).map((name) => name.toLowerCase()));
  const meaningful = Object.keys(document.components.headers).map((name) => name.toLowerCase());
  for (const name of meaningful.filter((name) => response.headers.has(name)))
    expect([...names]).toContain(name);
  const [mediaType, content] = Object.entries(documented.content ?? {})[0] ?? [];
  expect(response.headers.get('content-type')?.split(';')[0]).toBe(mediaType);
  if (content === undefined) expect(response.text).toBe('');
  else
    expect(
      complaints(document, content.schema, mediaType === JSON_BODY ? response.body : response.text),
    ).toBeUndefined();
}

/** Expects an error of this type, and that the document allows it. */
export function expectDocumentedError(
  document: ApiDocument,
  path: string,
  method: string,
  response: ApiResponse,
  type: string,
): void {
  expectDocumented(document, path, method, response);
  expect((response.body as { type: string }).type, response.text).toBe(type);
}

/** Settings that make `stranger` a known role without the right to any operation. */
export const KNOWN_STRANGER = {
  TSIGIL_POLICY: JSON.stringify({ hard_delete: ['admin', 'stranger'] }),
};
