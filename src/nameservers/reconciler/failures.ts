import type { Fault } from '../../domain/model/fault.ts';
import { ServiceError } from '../../domain/model/errors.ts';
import { DriverError } from '../driver.ts';

export function failureOf(cause: unknown): Fault {
  if (cause instanceof DriverError || cause instanceof ServiceError)
    return { code: cause.code, message: cause.message };
  if (cause instanceof Error && ['AbortError', 'TimeoutError'].includes(cause.name))
    return { code: 'timeout', message: 'the pass did not end in time' };
  return { code: 'internal', message: cause instanceof Error ? cause.message : 'unknown failure' };
}
