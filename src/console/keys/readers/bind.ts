import { readBindRights } from '../../../brands/bind/access-rights.ts';
import { readBindClauses } from '../../../formats/read-bind.ts';
import { readerOf } from './reader.ts';

export const read = readerOf(readBindClauses, (...given) => readBindRights(...given).rights);
