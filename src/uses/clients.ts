import { earlier } from '../core/text/timestamps.ts';
import type { RetiredKey } from '../resources/lineage.ts';
import type {
  ClientFacts,
  Clients,
  ClientWindow,
  PlacedKey,
  UseAfterRetirement,
} from '../rotation/clients.ts';
import { coverageText, isUse, showsWholeDay, usesOf } from './key-uses.ts';
import type { StoredUse, UseReader } from './ports.ts';

/** What the logs of name servers show of the clients of keys. */
export function clientsIn(reader: UseReader): Clients {
  return {
    clientsOf: (...of) => clientFacts(reader, ...of),
    async usesAfterRetirement(keys) {
      const ids = keys.map(({ id }) => id);
      const found = keys.length === 0 ? [] : await reader.usesOfRetired(ids);
      return keys.flatMap((key) => useAfterRetirement(key, found) ?? []);
    },
  };
}

/** A key that one log may have missed is never taken as unused. */
async function clientFacts(
  reader: Pick<UseReader, 'uses'>,
  key: PlacedKey,
  successor: PlacedKey,
  { now, windowMs, overlapMs }: ClientWindow,
): Promise<ClientFacts> {
  const ids = [...new Set([...key.places, ...successor.places].map(({ server }) => server.id))];
  const { uses = [], full = new Set<string>() } =
    ids.length === 0 ? {} : await reader.uses([key.id, successor.id], ids);
  const seen = (id: string, since: string) =>
    addresses(uses.filter((use) => use.keyId === id && isUse(use) && use.last_at >= since));
  const shown = ({ id, places }: PlacedKey) => usesOf(id, places, { uses, full }, now).servers;
  const complete = shown(key);
  const moved = seen(successor.id, '');
  return {
    unknownOn:
      complete.length === 0
        ? null
        : complete.flatMap(({ name_server: name, since }, index) => {
            if (since === null) return [name];
            if (!showsWholeDay(since, now, windowMs))
              return [`${name} (${coverageText(since, now, windowMs)})`];
            const isUnread = key.places[index]?.server.key_references === null;
            return isUnread ? [`${name} (${UNREAD})`] : [];
          }),
    remainingClients: seen(key.id, minuteOf(earlier(now, Math.max(windowMs, overlapMs)))).filter(
      (address) => !moved.includes(address),
    ),
    users: seen(key.id, minuteOf(earlier(now, windowMs))),
    successorUsers: moved.length > 0 || isComplete(shown(successor)) ? moved : null,
  };
}

/** Returns the minute of a time: times in logs are stored by the minute. */
function minuteOf(timestamp: string): string {
  return timestamp.slice(0, 'YYYY-MM-DDTHH:MM'.length);
}

/** Returns whether the logs of all name servers show every use. */
function isComplete(servers: readonly { readonly since: string | null }[]): boolean {
  return servers.length > 0 && servers.every(({ since }) => since !== null);
}

/** Returns the clients of some uses, each once. A log without addresses shows only that there is one. */
export function addresses(uses: readonly Pick<StoredUse, 'address'>[]): string[] {
  return [...new Set(uses.map(({ address }) => (address === '' ? NO_ADDRESS : address)))];
}

/** Why a key may be in use although no log shows it: the configuration may name it. */
const UNREAD = 'its configuration cannot be read';

const NO_ADDRESS = '(no address)';

function useAfterRetirement(
  { id, name, retired_at: retiredAt }: Pick<RetiredKey, 'id' | 'name' | 'retired_at'>,
  found: readonly StoredUse[],
): UseAfterRetirement | undefined {
  const since = minuteOf(retiredAt);
  const uses = found.filter(({ keyId, last_at: last }) => keyId === id && last >= since);
  const [first, ...others] = uses;
  if (first === undefined) return undefined;
  return {
    id,
    name,
    count: uses.reduce((sum, { count }) => sum + count, 0),
    lastAt: others.reduce((last, use) => (use.last_at > last ? use.last_at : last), first.last_at),
    addresses: [...new Set(uses.flatMap(({ address }) => (address === '' ? [] : [address])))],
  };
}
