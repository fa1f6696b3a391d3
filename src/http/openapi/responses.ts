import { STATUS_CODES } from 'node:http';
import { EXAMPLE_ID } from '../../domain/model/error-entry.ts';
import { ERRORS, typeOf, type ErrorCode } from '../../domain/model/errors.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { REQUEST_ID_HEADER, WARNING_HEADER } from '../request/context.ts';
import type { Content, Examples, HeaderObject, OrReference, ResponseObject } from './document.ts';
import { ETAG } from './parameters.ts';
import { EXAMPLE_REQUEST_ID, schemaReference } from './schemas.ts';

export const ERRORS_ANYWHERE: readonly ErrorCode[] = [
  'bad_request',
  'method_not_allowed',
  'request_timeout',
  'request_too_large',
  'request_header_fields_too_large',
  'internal',
];

export const ERRORS_WITH_TOKEN: readonly ErrorCode[] = [
  ...ERRORS_ANYWHERE,
  'unauthenticated',
  'access_denied',
  'outside_limits',
  'too_many_requests',
  'unavailable',
];

/** The errors that only the web console gets. */
const CONSOLE_ERRORS: readonly ErrorCode[] = ['sign_in_again', 'sign_in_failed'];

export const HEADERS: Readonly<Record<string, HeaderObject>> = {
  [REQUEST_ID_HEADER]: header('The request id, which the service also logs.', EXAMPLE_REQUEST_ID),
  Location: header(
    'The absolute URL of the new resource.',
    `https://dns.example/v2/tsigkeys/${EXAMPLE_ID}`,
  ),
  'Content-Disposition': header(
    'States that the body is a file to save, and names the file.',
    'attachment; filename="transfer-key.conf"',
  ),
  ETag: header('Identifies the state in the response (RFC 9110 section 8.8.3).', ETAG),
  Allow: header('The methods that the path supports.', 'GET, HEAD, POST, OPTIONS'),
  'WWW-Authenticate': header(
    'How to authenticate (RFC 6750). Contains `error="insufficient_scope"` if the token is valid.',
    'Bearer',
  ),
  [WARNING_HEADER]: header(
    'Warnings about the resource, as a list of strings (RFC 9651 section 3.1). Absent if there are no warnings.',
    '"hmac-md5 must not be used (RFC 8945 section 6)"',
  ),
  'Retry-After': header('The number of seconds to wait before a retry.', 5, {
    type: 'integer',
    minimum: 0,
  }),
};

function header(
  description: string,
  example: unknown,
  schema: JsonSchema = { type: 'string' },
): HeaderObject {
  return { description, schema, example };
}

/** Returns the headers of a response: the id of the request, and `others`. */
export function headers(...others: string[]): Record<string, OrReference<HeaderObject>> {
  return Object.fromEntries(
    [REQUEST_ID_HEADER, ...others].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

const ERROR_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** The statuses of errors that close a connection before a request has an id. */
const STATUSES_WITHOUT_ID: readonly number[] = [408, 431];

export function json(schema: JsonSchema, examples?: Examples): Content {
  return { 'application/json': { schema, ...(examples === undefined ? {} : { examples }) } };
}

/** Returns one response for each status of an error, by name, with all errors about `types`. */
export function sharedResponses(types: readonly ResourceType[]): Record<string, ResponseObject> {
  const known = (Object.keys(ERRORS) as ErrorCode[]).filter(
    (code) => !CONSOLE_ERRORS.includes(code),
  );
  const statuses = [...new Set(known.map((code) => ERRORS[code].status))];
  const errors = statuses.map((status): [string, ResponseObject] => {
    const codes = known.filter((code) => ERRORS[code].status === status);
    return [responseName(status), describeErrors(status, codes, types)];
  });
  const notModified = {
    description: 'Nothing has changed since the response with this `ETag`.',
    headers: headers('ETag'),
  };
  return { NotModified: notModified, ...Object.fromEntries(errors) };
}

function describeErrors(
  status: number,
  codes: readonly ErrorCode[],
  types: readonly ResourceType[],
): ResponseObject {
  const errors = codes.map((code) => {
    // Only a new resource can be a duplicate.
    const concerned = types.filter(
      ({ operations }) => code !== 'duplicate' || operations.includes('create'),
    );
    return { code, names: [...new Set(concerned.map((type) => typeNameOf(code, type)))] };
  });
  const lines = errors.map(
    ({ code, names }) => `- ${names.map((name) => `\`${name}\``).join(', ')}: ${ERRORS[code].when}`,
  );
  const type = { enum: [...new Set(errors.flatMap(({ names }) => names))] };
  return {
    description: lines.join('\n'),
    ...(STATUSES_WITHOUT_ID.includes(status)
      ? {}
      : { headers: headers(...(ERROR_HEADERS[status] ?? [])) }),
    content: json({ ...schemaReference('Error'), properties: { code: { const: status }, type } }),
  };
}

/** Returns the `type` of an error in responses to requests about resources of `type`. */
export function typeNameOf(code: ErrorCode, type: ResourceType): string {
  return typeOf(code).replace('{noun}', type.noun);
}

/** Returns references to the shared responses for `codes`, by status. */
export function errorResponses(codes: readonly ErrorCode[]): Record<string, { $ref: string }> {
  return Object.fromEntries(
    codes.map((code) => [ERRORS[code].status, responseReference(ERRORS[code].status)]),
  );
}

export function responseReference(status: number): { $ref: string } {
  return { $ref: `#/components/responses/${responseName(status)}` };
}

/** Returns the standard name of a status as one word: `NotFound`. */
function responseName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
}
