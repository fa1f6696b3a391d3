import { detectFormat, type ImportFormat } from '../../formats/detect.ts';
import { FILES } from '../brands.ts';
import type { Configuration } from './readers/reader.ts';

interface Reader {
  read(text: string): Configuration;
}

/** Each is loaded when a text needs it. */
const READERS: Readonly<Record<ImportFormat, () => Promise<Reader>>> = {
  bind: () => import('./readers/bind.ts'),
  dhcpd: () => import('./readers/dhcpd.ts'),
  knot: () => import('./readers/knot.ts'),
  lines: () => import('./readers/lines.ts'),
  nsd: () => import('./readers/nsd.ts'),
  pdnsutil: () => import('./readers/pdnsutil.ts'),
};

const UNKNOWN_FORMAT = `pasted text: no keys in a form that Tsigil knows: ${FILES.join(', ')}, dhcpd.conf, the output of pdnsutil list-tsig-keys, or lines such as hmac-sha256:name:secret`;

/**
 * Reads a configuration that somebody pasted. Throws an error that quotes no secret for a text that
 * cannot be parsed, or has an unknown format.
 */
export async function readConfiguration(text: string): Promise<Configuration> {
  const format = detectFormat(text);
  if (format === undefined) throw new Error(UNKNOWN_FORMAT);
  return (await READERS[format]()).read(text);
}
