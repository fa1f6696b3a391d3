import { anyText, nullable, timestamp } from '../core/field.ts';
import { described, list, responseObject } from '../core/object.ts';
import type { Clock } from '../core/ports.ts';
import { keyStatesPart } from '../rotation/key-states.ts';
import { unusedSince, usesOf } from './key-uses.ts';
import type { KeyPlace, StoredUse, UseReader } from './ports.ts';

export const USE_STATES = keyStatesPart({
  members: {
    unused_since: described(
      nullable(timestamp()),
      'The time since when the logs of all its name servers show every use, and none of this key. Null if it may be in use.',
    ),
    uses_unknown_on: described(
      list(anyText()),
      'The names of the name servers whose logs do not show every use.',
    ),
    uses_known_since: described(
      list(
        responseObject({
          name_server: described(anyText(), 'The name of the name server.'),
          since: described(timestamp(), 'The time since when its log shows every use.'),
        }),
      ),
      'How far the logs of the other name servers reach back.',
    ),
  },
  example: {
    unused_since: null,
    uses_unknown_on: ['ns1'],
    uses_known_since: [{ name_server: 'ns2', since: '2030-01-01T12:00:00.000000' }],
  },
  async valuesOf(
    { uses: reader, clock }: { readonly uses: Pick<UseReader, 'uses'>; readonly clock: Clock },
    keys: readonly { readonly id: string }[],
    places: readonly (readonly KeyPlace[])[],
  ) {
    const read = places.flat().filter(({ server }) => server.evidence !== null);
    const servers = [...new Set(read.map(({ server }) => server.id))];
    const ids = keys.map(({ id }) => id);
    const nothing = { uses: [], full: new Set<string>() };
    const found = servers.length === 0 ? nothing : await reader.uses(ids, servers);
    const byKey = new Map<string, StoredUse[]>(ids.map((id) => [id, []]));
    for (const use of found.uses) byKey.get(use.keyId)?.push(use);
    const now = clock();
    return keys.map(({ id }, index) => {
      const uses = { uses: byKey.get(id) ?? [], full: found.full };
      return unusedSince(usesOf(id, places[index] ?? [], uses, now));
    });
  },
});
