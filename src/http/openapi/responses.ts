import { STATUS_CODES } from 'node:http';
import { ERRORS, typeOf, type ErrorCode } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/field.ts';
import type { ResourceType } from '../../core/resource.ts';
import { WARNING_HEADER } from '../request/context.ts';
import type { Content, Examples, Reference, ResponseObject } from './document.ts';
import { schemaReference } from './schemas.ts';

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

export const HEADERS = Object.fromEntries(
  Object.entries({
    Location: 'The absolute URL of the new resource.',
    'Content-Disposition': 'States that the body is a file to save, and names the file.',
    ETag: 'Identifies the state in the response (RFC 9110 section 8.8.3).',
    Allow: 'The methods that the path supports.',
    'WWW-Authenticate':
      'How to authenticate (RFC 6750). Contains `error="insufficient_scope"` if the token is valid.',
    [WARNING_HEADER]:
      'Warnings about the resource, as a list of strings (RFC 9651 section 3.1). Absent if there are no warnings.',
    'Retry-After': 'The number of seconds to wait before a retry.',
  }).map(([name, description]) => [
    name,
    { description, schema: { type: name === 'Retry-After' ? 'integer' : 'string' } },
  ]),
);

export function response(
  description: string,
  headerNames: readonly string[] = [],
  content?: Content,
): ResponseObject {
  const headers = Object.fromEntries(
    headerNames.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
  return {
    description,
    ...(headerNames.length === 0 ? {} : { headers }),
    ...(content === undefined ? {} : { content }),
  };
}

export function json(schema: JsonSchema, examples?: Examples): Content {
  return { 'application/json': { schema, ...(examples === undefined ? {} : { examples }) } };
}

const ERROR_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Returns one response for each status of an error, by name, with all errors about `types`. */
export function sharedResponses(types: readonly ResourceType[]): Record<string, ResponseObject> {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(
    (code) => !CONSOLE_ERRORS.includes(code),
  );
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))];
  const errors = statuses.map((status): [string, ResponseObject] => {
    const own = codes.filter((code) => ERRORS[code].status === status);
    return [responseName(status), describeErrors(status, own, types)];
  });
  const unchanged = 'Nothing has changed since the response with this `ETag`.';
  return { NotModified: response(unchanged, ['ETag']), ...Object.fromEntries(errors) };
}

function describeErrors(
  status: number,
  codes: readonly ErrorCode[],
  types: readonly ResourceType[],
): ResponseObject {
  const errors = codes.map((code) => {
    // Only a resource that callers create can be a duplicate.
    const concerned = types.filter((type) => code !== 'duplicate' || type.operations.length > 0);
    const names = [...new Set(concerned.map((type) => typeNameOf(code, type)))];
    return { names, when: ERRORS[code].when };
  });
  const lines = errors.map(
    ({ names, when }) => `- ${names.map((name) => `\`${name}\``).join(', ')}: ${when}`,
  );
  const type = { enum: [...new Set(errors.flatMap(({ names }) => names))] };
  return response(
    lines.join('\n'),
    ERROR_HEADERS[status],
    json({ ...schemaReference('Error'), properties: { code: { const: status }, type } }),
  );
}

/** Returns the `type` of an error in responses to requests about resources of `type`. */
export function typeNameOf(code: ErrorCode, type: ResourceType): string {
  return typeOf(code).replace('{noun}', type.noun);
}

export function errorResponses(codes: readonly ErrorCode[]): Record<number, Reference> {
  const statuses = codes.map((code) => ERRORS[code].status);
  return Object.fromEntries(statuses.map((status) => [status, responseReference(status)]));
}

export function responseReference(status: number): Reference {
  return { $ref: `#/components/responses/${responseName(status)}` };
}

/** Returns the standard name of a status as one word: `NotFound`. */
function responseName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
}
