import { readNsdAccess } from '../../../domain/access/nsd.ts';
import { readNsdKeys } from '../../../formats/read-nsd.ts';
import { readerOf } from './reader.ts';

export const read = readerOf(readNsdKeys, readNsdAccess);
