import { ERRORS, ServiceError } from '../../core/errors.ts';
import { isObject } from '../../core/field.ts';

export const JSON_TYPE = 'application/json; charset=UTF-8';

/** The media types of files, by the extensions of their names. All other files are plain text. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  py: 'text/x-python',
};

export function mediaTypeOf(file: string): string {
  return MEDIA_TYPES[file.split('.').at(-1) ?? ''] ?? 'text/plain';
}

/** The content type of JSON lines: one JSON value a line, in UTF-8. */
export const LINES_TYPE = 'application/x-ndjson';

interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ErrorResponseSettings {
  readonly insufficientRightsStatus: 401 | 403;
  /**
   * The challenges in 401 responses, one for each way to authenticate. Each challenge has one form
   * for unknown callers and one form for callers without a right.
   */
  readonly challenges: readonly { readonly unknownCaller: string; readonly missingRight: string }[];
}

/** Returns the response to a request that failed with `error`, the result of `toServiceError`. */
export function errorResponse(
  error: ServiceError,
  requestId: string | undefined,
  settings: ErrorResponseSettings,
): ErrorResponse {
  const { problems, retryAfterSeconds } = error.details;
  const isForbidden = error.code === 'access_denied' && settings.insufficientRightsStatus === 403;
  const [status, type] = isForbidden ? [403, 'forbidden'] : [ERRORS[error.code].status, error.type];
  const headers: Record<string, string> = { 'content-type': JSON_TYPE };
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  // RFC 9110 section 12.5.3: tells this 415 from that of a media type.
  if (error.code === 'unsupported_content_encoding') headers['accept-encoding'] = 'identity';
  // RFC 9110 section 15.5.2 requires a challenge in every 401. Section 11.6.1 allows several
  // challenges in one field.
  const kind = error.code === 'access_denied' ? 'missingRight' : 'unknownCaller';
  if (status === 401)
    headers['www-authenticate'] = settings.challenges
      .map((challenge) => challenge[kind])
      .join(', ');
  const errors = problems?.map(({ path, message, validator }) => ({ path, message, validator }));
  const body = {
    code: status,
    type,
    message: error.message,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors: { errors } }),
    // Keystone's form in addition: keystoneauth reads the message of `error`, and no other one.
    ...(error.code === 'unauthenticated'
      ? { error: { code: status, title: 'Unauthorized', message: error.message } }
      : {}),
  };
  return { status, headers, body: JSON.stringify(body) };
}

/** The errors of Fastify and Node.js that a caller can cause, by code. */
const FOREIGN_ERRORS: Readonly<Record<string, (cause: unknown) => ServiceError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (cause) =>
    new ServiceError('request_too_large', undefined, { cause }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (cause) =>
    new ServiceError('unsupported_content_type', undefined, { cause }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: (cause) =>
    new ServiceError(
      'bad_request',
      'The length of the request body differs from Content-Length. Send a body of this length.',
      { cause },
    ),
  FST_ERR_BAD_URL: (cause) =>
    new ServiceError(
      'bad_request',
      'The URL is not properly encoded. Percent-encode it as UTF-8.',
      { cause },
    ),
  HPE_HEADER_OVERFLOW: (cause) =>
    new ServiceError('request_header_fields_too_large', undefined, { cause }),
  ERR_HTTP_REQUEST_TIMEOUT: (cause) =>
    new ServiceError('request_timeout', 'The request did not arrive in time. Send it again.', {
      cause,
    }),
};

/** An error that is no `ServiceError` and not the caller's fault becomes `internal`. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code, statusCode } = isObject(error) ? error : {};
  const known = typeof code === 'string' ? FOREIGN_ERRORS[code] : undefined;
  if (known !== undefined) return known(error);
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new ServiceError('bad_request', 'The HTTP request is malformed or not supported', {
      cause: error,
    });
  }
  return new ServiceError('internal', undefined, { cause: error });
}
