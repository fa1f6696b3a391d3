import { ERRORS, type ErrorCode } from '../../src/domain/model/errors.ts';

/** All error codes: the keys of the table. */
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];
