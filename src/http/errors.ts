import type { FastifyError } from 'fastify';
import { ServiceError, type ErrorCode } from '../domain/errors.ts';

/** The form of every JSON answer. */
export const JSON_TYPE = 'application/json; charset=UTF-8';

/** Status and `type` of each code; `{subject}` in a type is the resource type's noun. */
export const STATUS_OF_CODE: Readonly<Record<ErrorCode, readonly [status: number, type: string]>> = {
  access_denied: [401, 'access_denied'],
  bad_request: [400, 'bad_request'],
  duplicate: [409, 'duplicate_{subject}'],
  empty_request_body: [400, 'empty_request_body'],
  forbidden: [403, 'forbidden'],
  illegal_child: [403, 'illegal_child'],
  illegal_parent: [403, 'illegal_parent'],
  internal: [500, 'unknown'],
  invalid_json: [400, 'invalid_json'],
  invalid_limit: [400, 'invalid_limit'],
  invalid_marker: [400, 'invalid_marker'],
  invalid_object: [400, 'invalid_object'],
  invalid_operation: [400, 'invalid_operation'],
  invalid_sort_dir: [400, 'invalid_sort_dir'],
  invalid_sort_key: [400, 'invalid_sort_key'],
  invalid_tsigkey: [400, 'invalid_tsigkey'],
  invalid_uuid: [400, 'invalid_uuid'],
  invalid_zone_name: [400, 'invalid_zone_name'],
  last_administrator: [409, 'last_administrator'],
  marker_not_found: [400, 'marker_not_found'],
  method_not_allowed: [405, 'method_not_allowed'],
  missing_project_id: [401, 'missing_project_id'],
  no_valid_pool_found: [404, 'no_valid_pool_found'],
  not_exportable: [409, 'not_exportable'],
  not_found: [404, 'not_found'],
  over_quota: [413, 'over_quota'],
  request_header_fields_too_large: [431, 'request_header_fields_too_large'],
  request_timeout: [408, 'request_timeout'],
  request_too_large: [413, 'request_too_large'],
  resource_not_found: [404, '{subject}_not_found'],
  too_many_requests: [429, 'too_many_requests'],
  unauthenticated: [401, 'unauthorized'],
  unavailable: [503, 'service_unavailable'],
  unsupported_content_type: [415, 'unsupported_content_type'],
  zone_has_sub_zone: [400, 'zone_has_sub_zone'],
};

/** An error answer, ready to be sent. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How the errors about rights are told. */
export interface ErrorSettings {
  readonly insufficientRightsStatus: 401 | 403;
}

/** What decides the answers to errors. */
export interface AnswerSettings extends ErrorSettings {
  /** What 401 answers tell callers who are not known, and those who lack a right; one for each way of being known. */
  readonly challenges: readonly { readonly unknownCaller: string; readonly missingRight: string }[];
}

/** The status of an error, and its `type`. */
export function statusAndType({ code, details }: ServiceError, settings: ErrorSettings): readonly [status: number, type: string] {
  if (code === 'access_denied' && settings.insufficientRightsStatus === 403) return [403, 'forbidden'];
  const [status, type] = STATUS_OF_CODE[code];
  return [status, type.replace('{subject}', details.subject ?? '')];
}

/** The answer to a request that failed with `error`, which is what `toServiceError` made of whatever was thrown. */
export function errorAnswer(error: ServiceError, requestId: string | undefined, settings: AnswerSettings): ErrorAnswer {
  const { problems, retryAfterSeconds } = error.details;
  const [status, type] = statusAndType(error, settings);
  const headers: Record<string, string> = { 'content-type': JSON_TYPE };
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  // RFC 9110 section 15.5.2 wants a challenge in every 401, section 11.6.1 has several in one field.
  const kind = error.code === 'access_denied' ? 'missingRight' : 'unknownCaller';
  if (status === 401) headers['www-authenticate'] = settings.challenges.map((challenge) => challenge[kind]).join(', ');
  if (error.code === 'unauthenticated')
    return { status, headers, body: JSON.stringify({ error: { code: 401, title: 'Unauthorized', message: error.message } }) };
  const errors = problems?.map(({ path, message, validator }) => ({ path, message, validator }));
  const body = { code: status, type, message: error.message, request_id: requestId, ...(errors === undefined ? {} : { errors: { errors } }) };
  return { status, headers, body: JSON.stringify(body) };
}

/** The framework's and Node's own errors that a caller can cause, by their codes. */
const FOREIGN_CODES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['request_too_large', 'The request body is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_content_type', 'The Content-Type must be application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad_request', 'The request body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['bad_request', 'The URL is not properly encoded'],
  HPE_HEADER_OVERFLOW: ['request_header_fields_too_large', 'The request head is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time'],
};

/** Whatever was thrown, as a `ServiceError`. What is neither ours nor known to be the caller's doing becomes `internal`. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code, statusCode } = error as Partial<FastifyError>;
  const foreign = code === undefined ? undefined : FOREIGN_CODES[code];
  if (foreign !== undefined) return new ServiceError(foreign[0], foreign[1], { cause: error });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ServiceError('bad_request', 'The request cannot be understood', { cause: error });
  }
  return new ServiceError('internal', 'An internal error occurred; the service log tells more under this request id', { cause: error });
}
