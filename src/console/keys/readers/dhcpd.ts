import { readDhcpdAccess } from '../../../access/dhcpd.ts';
import { readDhcpdClauses } from '../../../formats/read-dhcpd.ts';
import { readerOf } from './reader.ts';

export const read = readerOf(readDhcpdClauses, readDhcpdAccess);
