import { dhcpdKeys } from '../formats/read-dhcpd.ts';
import type { ReadIncluded } from '../formats/reader.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import type { ServerConfiguration } from './access.ts';
import { placesIn } from './places.ts';

/** ISC DHCP is a client: its keys open nothing there. Throws `KeyFileError`. */
export function readDhcpdAccess(
  text: string,
  include?: ReadIncluded,
  path = 'dhcpd.conf',
): ServerConfiguration {
  const { placeOf, read, unread } = placesIn(path, include);
  const found = dhcpdKeys(text, read).flatMap(({ entry, use }) =>
    'key' in entry ? [{ key: entry.key, place: placeOf(entry), use }] : [],
  );
  return {
    keys: found.map(({ key, place }) => ({ key, place })),
    zones: [],
    references: found.map(({ key, place, use }) => ({
      key: comparisonForm(key.name),
      role: use === undefined ? ('requester' as const) : ('control' as const),
      place,
    })),
    unread,
    findings: [],
  };
}
