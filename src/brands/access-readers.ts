import type { ReadIncluded } from '../formats/reader.ts';
import type { ServerConfiguration } from '../access/access.ts';
import { readBindAccess } from './bind/access.ts';
import { readDhcpdAccess } from '../access/dhcpd.ts';
import { readKnotAccess } from './knot/access.ts';
import { readNsdAccess } from './nsd/access.ts';

/** Reads who may do what on a name server. `path` is the path of the text, for places. */
type AccessReader = (text: string, include: ReadIncluded, path: string) => ServerConfiguration;

/** The readers of access lists, by the names of import formats that contain them. */
export const ACCESS_READERS: Readonly<Record<string, AccessReader | undefined>> = {
  bind: readBindAccess,
  dhcpd: readDhcpdAccess,
  knot: readKnotAccess,
  nsd: readNsdAccess,
};
