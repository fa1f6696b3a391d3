import type { ErrorDetails, ErrorEntry, Problem } from './error-entry.ts';
import { ERRORS, type About, type ErrorCode } from './error-table.ts';
import { firstOf } from './text/first-of.ts';
import { withoutTokens } from './text/token-form.ts';

export type { ErrorDetails, Named, Problem } from './error-entry.ts';
export { ERRORS, MAX_NAMED, type About, type ErrorCode } from './error-table.ts';
export type { ZoneNameRefusal } from './zone-name-refusal.ts';

type ErrorArguments = {
  [Code in ErrorCode]: undefined extends About<Code>
    ? [code: Code, about?: About<Code>, details?: ErrorDetails]
    : [code: Code, about: About<Code>, details?: ErrorDetails];
}[ErrorCode];

function problemWithoutTokens({ path, message, validator }: Problem): Problem {
  const masked = path.map((step) => (typeof step === 'string' ? withoutTokens(step) : step));
  return { path: masked, message: withoutTokens(message), validator };
}

/** Returns the `type` of responses with this code. `{noun}` stands for that of a resource type. */
export function typeOf(code: ErrorCode): string {
  const entry: ErrorEntry<unknown> = ERRORS[code];
  return entry.type ?? code;
}

/**
 * An error that callers may see. The service sends `message` to the caller, and logs
 * `details.cause`. Any other error becomes `internal`, and the service does not send its message.
 * The constructor masks tokens in messages and problems.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly type: string;
  readonly details: ErrorDetails;

  constructor(...[code, about, details = {}]: ErrorArguments) {
    const entry: ErrorEntry<unknown> = ERRORS[code];
    super(withoutTokens(entry.message(about)), { cause: details.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.type = typeOf(code).replace('{noun}', entry.typeIn?.(about).noun ?? '');
    this.details =
      details.problems === undefined
        ? details
        : { ...details, problems: details.problems.map(problemWithoutTokens) };
  }
}

const MAX_PROBLEMS = 50;

/** `what` names the body. Messages about a list item begin with the index of the item. */
export function invalidObject(what: string, problems: readonly Problem[]): ServiceError {
  const messages = firstOf(problems, MAX_PROBLEMS, ({ path, message }) =>
    typeof path[1] === 'number' ? `item ${path[1]}: ${message}` : message,
  );
  return new ServiceError(
    'invalid_object',
    { what, messages },
    { problems: problems.slice(0, MAX_PROBLEMS) },
  );
}

export function isUnavailable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'unavailable';
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
