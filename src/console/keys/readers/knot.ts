import { readKnotAccess } from '../../../domain/access/knot.ts';
import { readKnotKeys } from '../../../formats/read-knot.ts';
import { readerOf } from './reader.ts';

export const read = readerOf(readKnotKeys, readKnotAccess);
