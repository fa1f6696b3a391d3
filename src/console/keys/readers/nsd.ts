import { readNsdAccess } from '../../../brands/nsd/access.ts';
import { readNsdKeys } from '../../../formats/read-nsd.ts';
import { readerOf } from './reader.ts';

export const read = readerOf(readNsdKeys, readNsdAccess);
