import { STATUS_CODES } from 'node:http';
import {
  ERRORS,
  exampleError,
  type ErrorCode,
  type ServiceError,
} from '../../domain/model/errors.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { CALLER_ID_HEADER, REQUEST_ID_HEADER, WARNING_HEADER } from '../request/context.ts';
import { errorResponse, type ErrorResponseSettings } from '../request/errors.ts';
import type {
  Content,
  Example,
  Examples,
  HeaderObject,
  OperationObject,
  OrReference,
  ResponseObject,
} from './document.ts';
import { EXAMPLE_ID } from '../../domain/model/error-entry.ts';
import { EXAMPLE_REQUEST_ID, UPDATED_AT } from './examples.ts';
import { schemaReference } from './schemas.ts';

export interface ApiSettings {
  /** The base URL of the service in the description, without a trailing slash. */
  readonly base: string;
  readonly version: string;
  readonly guides: string;
  readonly defaultLimit: number;
  /** Whether responses show a created or updated zone as pending. */
  readonly pendingStatus: boolean;
  readonly errors: ErrorResponseSettings;
}

export const ETAG = `"${EXAMPLE_ID}/${UPDATED_AT}"`;

export const ERRORS_ANYWHERE: readonly ErrorCode[] = [
  'bad_request',
  'method_not_allowed',
  'request_timeout',
  'request_too_large',
  'request_header_fields_too_large',
  'internal',
];

const ERRORS_WITH_TOKEN: readonly ErrorCode[] = [
  ...ERRORS_ANYWHERE,
  'unauthenticated',
  'access_denied',
  'outside_limits',
  'too_many_requests',
  'unavailable',
];

export const ID_ERRORS: readonly ErrorCode[] = ['invalid_uuid', 'resource_not_found'];

export const BODY_ERRORS: readonly ErrorCode[] = [
  'unsupported_content_type',
  'unsupported_content_encoding',
  'empty_request_body',
  'invalid_json',
  'invalid_object',
];

/** What the operations on a collection and the actions state about themselves. */
export interface Described extends Pick<
  OperationObject,
  'operationId' | 'summary' | 'description' | 'parameters'
> {
  readonly tag: string;
  /** The right that a caller needs, besides a valid token. */
  readonly right?: string | undefined;
  readonly body: { readonly schemaName: string; readonly examples: Examples } | undefined;
  readonly status: number;
  readonly success: ResponseObject;
  /** Whether a request with the `ETag` of the current state gets 304. */
  readonly isConditional: boolean;
  /** The errors, in addition to those of every request with a token. */
  readonly errors: readonly ErrorCode[];
  readonly ownErrors?: ErrorExamples;
}

/** Returns an operation that needs a token. The examples of its errors refer to `type`. */
export function describeOperation(
  settings: ApiSettings,
  type: ResourceType,
  { tag, right, body, status, success, isConditional, errors, ownErrors, ...described }: Described,
): OperationObject {
  const { operationId, summary, description, parameters = [] } = described;
  const need = right === undefined ? 'Needs a valid token.' : `Needs the right \`${right}\`.`;
  return {
    operationId,
    summary,
    description: `${description}\n\n${need}`,
    tags: [tag],
    security: [{ token: [] }, { bearer: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: json(schemaReference(body.schemaName), body.examples),
          },
        }),
    responses: {
      [status]: success,
      ...(isConditional ? { 304: NOT_MODIFIED } : {}),
      ...errorResponses(settings, type, [...ERRORS_WITH_TOKEN, ...errors], ownErrors),
    },
  };
}

type ErrorExamples = Readonly<Partial<Record<ErrorCode, ServiceError>>>;

/** Errors that close a connection before a request has an id. */
const ERRORS_WITHOUT_ID: readonly ErrorCode[] = [
  'request_timeout',
  'request_header_fields_too_large',
];

export function describeHeaders(
  { base }: ApiSettings,
  { collection }: ResourceType,
): Record<string, HeaderObject> {
  const text = (description: string, example: string): HeaderObject => ({
    description,
    schema: { type: 'string' },
    example,
  });
  return {
    [REQUEST_ID_HEADER]: text('The request id, which the service also logs.', EXAMPLE_REQUEST_ID),
    Location: text(
      'The absolute URL of the new resource.',
      `${base}/v2/${collection}/${EXAMPLE_ID}`,
    ),
    'Content-Disposition': text(
      'States that the body is a file to save, and names the file.',
      'attachment; filename="transfer-key.conf"',
    ),
    ETag: text('Identifies the state in the response (RFC 9110 section 8.8.3).', ETAG),
    Allow: text('The methods that the path supports.', 'GET, HEAD, POST, OPTIONS'),
    'WWW-Authenticate': text(
      'How to authenticate (RFC 6750). Contains `error="insufficient_scope"` if the token is valid.',
      'Bearer',
    ),
    [CALLER_ID_HEADER]: text(
      'The id of the token that the caller uses. For a caller without a token resource, the id of the caller.',
      EXAMPLE_ID,
    ),
    [WARNING_HEADER]: text(
      'Warnings about the resource, as a list of strings (RFC 9651 section 3.1). Absent if there are no warnings.',
      '"hmac-md5 must not be used (RFC 8945 section 6)"',
    ),
    'Retry-After': {
      description: 'The number of seconds to wait before a retry.',
      schema: { type: 'integer', minimum: 0 },
      example: 5,
    },
  };
}

export function headers(...others: string[]): Record<string, OrReference<HeaderObject>> {
  return Object.fromEntries(
    [REQUEST_ID_HEADER, ...others].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

/** The response to a request with the `ETag` of the current state. */
const NOT_MODIFIED: ResponseObject = {
  description: 'Nothing has changed since the response with this `ETag`.',
  headers: headers('ETag'),
};

export function json(schema: JsonSchema, examples: Examples): Content {
  return { 'application/json': { schema, examples } };
}

/**
 * Returns the responses that mean the same for all operations, by name. Their examples refer to
 * `type`.
 */
export function sharedResponses(
  settings: ApiSettings,
  type: ResourceType,
): Record<string, ResponseObject> {
  const shared = byStatus(settings, type, ERRORS_WITH_TOKEN);
  return Object.fromEntries(
    shared.map(([status, codes]) => [responseName(status), describe(settings, type, codes)]),
  );
}

/**
 * Returns the error responses for `codes`, by status. Their examples refer to `type`. If the errors
 * of a status are those of a shared response, returns a reference to the shared response. The
 * examples in `own` replace the default examples.
 */
export function errorResponses(
  settings: ApiSettings,
  type: ResourceType,
  codes: readonly ErrorCode[],
  own: ErrorExamples = {},
): Record<string, OrReference<ResponseObject>> {
  const shared = new Map(byStatus(settings, type, ERRORS_WITH_TOKEN));
  return Object.fromEntries(
    byStatus(settings, type, codes).map(([status, met]) => {
      const isShared = shared.get(status)?.join() === met.join();
      return [
        status,
        isShared
          ? { $ref: `#/components/responses/${responseName(status)}` }
          : describe(settings, type, met, own),
      ];
    }),
  );
}

/** Returns the standard name of a status as one word: `NotFound`. */
function responseName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
}

function byStatus(
  settings: ApiSettings,
  type: ResourceType,
  codes: readonly ErrorCode[],
): [number, ErrorCode[]][] {
  const statuses = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = exampleResponse(settings, type, code);
    statuses.set(status, [...(statuses.get(status) ?? []), code].sort());
  }
  return [...statuses].sort(([one], [other]) => one - other);
}

/** Returns the response for any of `codes`, which all have the same status. */
function describe(
  settings: ApiSettings,
  type: ResourceType,
  codes: readonly ErrorCode[],
  own: ErrorExamples = {},
): ResponseObject {
  const responses = codes.map((code) => ({
    code,
    ...exampleResponse(settings, type, code, own[code]),
  }));
  const sent = Object.keys(describeHeaders(settings, type)).filter((name) =>
    responses.some(({ headers }) => headers.includes(name.toLowerCase())),
  );
  const examples = new Map<string, Example>();
  for (const { code, body } of responses) {
    // If missing rights return 403, `access_denied` also has the type `forbidden`.
    const same = examples.get(body.type);
    examples.set(body.type, {
      summary: [same?.summary ?? [], ERRORS[code].when].flat().join(' '),
      value: same?.value ?? body,
    });
  }
  return {
    description: responses.map(({ code }) => ERRORS[code].when).join('\n\n'),
    ...(codes.every(isWithoutId) ? {} : { headers: headers(...sent) }),
    content: json(errorSchema(responses.map(({ body }) => body)), Object.fromEntries(examples)),
  };
}

function errorSchema(bodies: readonly ErrorBody[]): JsonSchema {
  const type = { enum: [...new Set(bodies.map((body) => body.type))] };
  return { ...schemaReference('Error'), properties: { code: { const: bodies[0]?.code }, type } };
}

interface ErrorBody {
  readonly code: number;
  readonly type: string;
}

/** Returns the error response that the service sends for `code`. */
function exampleResponse(
  settings: ApiSettings,
  type: ResourceType,
  code: ErrorCode,
  example = exampleError(code, type),
): { status: number; headers: string[]; body: ErrorBody } {
  const requestId = isWithoutId(code) ? undefined : EXAMPLE_REQUEST_ID;
  const { status, headers, body } = errorResponse(example, requestId, settings.errors);
  // The request guard adds `Allow`, so the error does not contain this header.
  return {
    status,
    headers: [...Object.keys(headers), ...(code === 'method_not_allowed' ? ['allow'] : [])],
    body: JSON.parse(body) as ErrorBody,
  };
}

function isWithoutId(code: ErrorCode): boolean {
  return ERRORS_WITHOUT_ID.includes(code);
}
