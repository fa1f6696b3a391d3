import { readKnotAccess } from '../../../brands/knot/access.ts';
import { readKnotKeys } from '../../../formats/read-knot.ts';
import { readerOf } from './reader.ts';

export const read = readerOf(readKnotKeys, readKnotAccess);
