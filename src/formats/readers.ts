import type { ImportFormat } from './detect.ts';
import { readBindClauses } from './read-bind.ts';
import { readDhcpdClauses } from './read-dhcpd.ts';
import { readKnotKeys } from './read-knot.ts';
import { readColonLines, readPdnsutilLines } from './read-lines.ts';
import { readNsdKeys } from './read-nsd.ts';
import type { IncludeRules, KeyReader } from './reader.ts';

/** The rules of BIND, which ISC DHCP shares. */
const OF_BIND: IncludeRules = {
  relativeTo: 'working directory',
  mayMatchNothing: false,
  braces: false,
  skipsFolders: false,
};

export const IMPORT_FORMATS: Readonly<Record<string, KeyReader>> = {
  bind: {
    source: 'BIND key clauses (tsig-keygen, named.conf)',
    includes: OF_BIND,
    read: readBindClauses,
  },
  knot: {
    source: 'Knot DNS configuration (keymgr -t, knot.conf)',
    includes: { relativeTo: 'file', mayMatchNothing: true, braces: false, skipsFolders: true },
    read: readKnotKeys,
  },
  nsd: {
    source: 'NSD configuration (nsd.conf)',
    includes: {
      relativeTo: 'working directory',
      mayMatchNothing: true,
      braces: true,
      skipsFolders: false,
    },
    read: readNsdKeys,
  },
  pdnsutil: { source: 'pdnsutil list-tsig-keys', read: readPdnsutilLines },
  lines: {
    source: '`algorithm:name:secret` lines (kdig, dig -y)',
    read: readColonLines,
  },
  dhcpd: {
    source: 'ISC DHCP key clauses (dhcpd.conf)',
    includes: OF_BIND,
    read: readDhcpdClauses,
  },
} satisfies Readonly<Record<ImportFormat, KeyReader>>;
