import { readPdnsutilLines } from '../../../formats/read-lines.ts';
import { readerOf } from './reader.ts';

export const read = readerOf(readPdnsutilLines);
