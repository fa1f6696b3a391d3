import type { ReadIncluded } from '../key-formats/reader.ts';
import type { ServerConfiguration } from './access.ts';
import { readBindAccess } from './bind.ts';
import { readKnotAccess } from './knot.ts';
import { readNsdAccess } from './nsd.ts';

type AccessReader = (text: string, include: ReadIncluded, path: string) => ServerConfiguration;

/** The readers of access lists, by the names of import formats that contain them. */
export const ACCESS_READERS: Readonly<Record<string, AccessReader | undefined>> = {
  bind: readBindAccess,
  knot: readKnotAccess,
  nsd: readNsdAccess,
};

/** Returns whether a configuration says where its keys are used, unlike a plain file of keys. */
export function saysUses({ zones, references, unread }: ServerConfiguration): boolean {
  const isUse = ({ role }: { role: string }) => role !== 'control' && role !== 'session';
  return zones.length > 0 || unread.length > 0 || references.some(isUse);
}
