import { ERRORS, type ErrorCode } from '../../src/domain/model/errors.ts';

/** All codes of errors. */
// the keys of the table are the codes
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];
