import type { Fault } from '../../core/fault.ts';
import { ServiceError } from '../../core/errors.ts';
import { DriverError } from '../../brands/driver.ts';

export function failureOf(cause: unknown): Fault {
  if (cause instanceof DriverError || cause instanceof ServiceError)
    return { code: cause.code, message: cause.message };
  if (cause instanceof Error && ['AbortError', 'TimeoutError'].includes(cause.name))
    return { code: 'timeout', message: 'the pass did not end in time' };
  return { code: 'internal', message: cause instanceof Error ? cause.message : 'unknown failure' };
}
