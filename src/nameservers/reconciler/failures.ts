import type { Failure } from '../../domain/delivery/ports.ts';
import { ServiceError } from '../../domain/model/errors.ts';
import { DriverError } from '../driver.ts';

/** Returns the code and the message of a failed pass. */
export function failureOf(cause: unknown): Failure {
  if (cause instanceof DriverError) return { code: cause.code, message: cause.message };
  if (cause instanceof ServiceError) return { code: cause.code, message: cause.message };
  if (cause instanceof Error && ['AbortError', 'TimeoutError'].includes(cause.name))
    return { code: 'timeout', message: 'the pass did not end in time' };
  return { code: 'internal', message: cause instanceof Error ? cause.message : 'unknown failure' };
}

/** The maximum length of a message about one key in the report of an agent. */
const MAX_MESSAGE = 400;

/** Returns a failure with a message that is short enough for a report on many keys. */
export function briefly({ code, message }: Failure): Failure {
  return { code, message: message.slice(0, MAX_MESSAGE) };
}
