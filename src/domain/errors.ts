import { withoutTokens } from './token-form.ts';

/**
 * Every way in which the service refuses a request. The set is closed: one table in `http/errors.ts`
 * gives each code its status and `type`, and the compiler finds a code that has none.
 */
export type ErrorCode =
  | 'access_denied'
  | 'bad_request'
  | 'duplicate'
  | 'empty_request_body'
  | 'forbidden'
  | 'illegal_child'
  | 'illegal_parent'
  | 'internal'
  | 'invalid_json'
  | 'invalid_limit'
  | 'invalid_marker'
  | 'invalid_object'
  | 'invalid_operation'
  | 'invalid_sort_dir'
  | 'invalid_sort_key'
  | 'invalid_tsigkey'
  | 'invalid_uuid'
  | 'invalid_zone_name'
  | 'last_administrator'
  | 'marker_not_found'
  | 'method_not_allowed'
  | 'missing_project_id'
  | 'no_valid_pool_found'
  | 'not_exportable'
  | 'not_found'
  | 'over_quota'
  | 'request_header_fields_too_large'
  | 'request_timeout'
  | 'request_too_large'
  | 'resource_not_found'
  | 'too_many_requests'
  | 'unauthenticated'
  | 'unavailable'
  | 'unsupported_content_type'
  | 'zone_has_sub_zone';

/** One thing wrong with one member of a request body. */
export interface Problem {
  /** Where the member is, from the outside in: `['name']`, `['masters', 0]`. */
  readonly path: readonly (string | number)[];
  /** What is wrong, as a sentence about the member. Never holds a secret's value. */
  readonly message: string;
  /** The rule that was broken: `required`, `additionalProperties`, `readOnly`, `type`, `format`. */
  readonly validator: string;
}

function problemWithoutTokens({ path, message, validator }: Problem): Problem {
  const masked = path.map((step) => (typeof step === 'string' ? withoutTokens(step) : step));
  return { path: masked, message: withoutTokens(message), validator };
}

/** What a `ServiceError` may carry besides its code and message. */
export interface ErrorDetails {
  /** The resource type's noun, for codes whose `type` names it: `tld` gives `tld_not_found`. */
  readonly subject?: string;
  /** Everything wrong with the body, for `invalid_object`. */
  readonly problems?: readonly Problem[];
  /** How long the caller should wait before it tries again. */
  readonly retryAfterSeconds?: number;
  /** What happened underneath. Goes to the log, never to the caller. */
  readonly cause?: unknown;
}

/**
 * A refusal that its caller may read: `message` is written for the caller, `details.cause` for the log.
 * Anything else that is thrown counts as `internal` and shows the caller nothing. Tokens in the message and in problems are masked.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(withoutTokens(message), { cause: details.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.details = details.problems === undefined ? details : { ...details, problems: details.problems.map(problemWithoutTokens) };
  }
}
