import type { ErrorDetails, ErrorEntry, Named, Problem } from './error-entry.ts';
import { ERRORS, type About, type ErrorCode } from './error-table.ts';
import { withoutTokens } from '../text/token-form.ts';

export type { ErrorDetails, Named, Problem } from './error-entry.ts';
export { ERRORS, type About, type ErrorCode } from './error-table.ts';
export type { ZoneNameRefusal } from './zone-name-refusal.ts';

/** All codes of errors. */
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[]; // the keys of the table are the codes

/** The code of an error, what its message depends on, and its details. */
export type ErrorArguments = {
  [Code in ErrorCode]: undefined extends About<Code>
    ? [code: Code, about?: About<Code>, details?: ErrorDetails]
    : [code: Code, about: About<Code>, details?: ErrorDetails];
}[ErrorCode];

function problemWithoutTokens({ path, message, validator }: Problem): Problem {
  const masked = path.map((step) => (typeof step === 'string' ? withoutTokens(step) : step));
  return { path: masked, message: withoutTokens(message), validator };
}

/** The `type` of responses with this code; `{noun}` in it stands for the noun of a resource type. */
export function typeOf(code: ErrorCode): string {
  const entry: ErrorEntry<unknown> = ERRORS[code];
  return entry.type ?? code;
}

/**
 * An error that the caller may read: `message` is for the caller, `details.cause` for the log.
 * Anything else that is thrown counts as `internal` and shows the caller nothing. Tokens in the message and in problems are masked.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  /** The `type` of the response. */
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

/** Returns an example of the error with this code, as requests on resources of `type` get it. */
export function exampleError(code: ErrorCode, type: Named): ServiceError {
  const entry: ErrorEntry<unknown> = ERRORS[code];
  return new ServiceError(
    ...([code, entry.example?.(type), entry.exampleDetails] as ErrorArguments),
  ); // an entry's example is what its message takes
}
