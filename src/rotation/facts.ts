import { coverageText, isUse, showsWholeDay, usesOf } from '../uses/key-uses.ts';
import type { KeyOnServer } from '../delivery/delivery-ports.ts';
import type { StoredUse } from '../uses/ports.ts';
import type { Lifecycle, Lineage } from '../resources/lineage.ts';
import type { NameServer } from '../resources/name-server.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import { ownReferences } from '../resources/reference-rules.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import { earlier } from '../core/text/timestamps.ts';
import type { RotationDependencies } from './dependencies.ts';
import type { RotationFacts } from './step.ts';

/** A key that is being replaced, its row, and the key that replaces it. */
export interface Rotation {
  readonly row: Lifecycle;
  readonly lineage: Lineage;
  readonly key: Tsigkey;
  readonly successor: Tsigkey;
}

/**
 * Reads what name servers and their logs say about a rotation. A key that one log may have missed is
 * never taken as unused.
 */
export async function factsOf(
  { delivery, clock, rotations }: Pick<RotationDependencies, 'delivery' | 'clock' | 'rotations'>,
  { row, lineage, key, successor }: Rotation,
): Promise<RotationFacts> {
  const now = clock();
  const { windowMs } = rotations;
  const [former = [], next = []] = await delivery.ofKeys([key, successor]);
  const ids = [...new Set([...former, ...next].map(({ server }) => server.id))];
  const { uses = [], full = new Set<string>() } =
    ids.length === 0 ? {} : await delivery.uses([key.id, successor.id], ids);
  const seen = (id: string, since: string) =>
    addresses(uses.filter((use) => use.keyId === id && isUse(use) && use.last_at >= since));
  const start = minuteOf(earlier(now, windowMs));
  const complete = usesOf(key.id, former, { uses, full }, now).servers;
  const moved = seen(successor.id, '');
  const overlapMs = (row.overlap_seconds ?? 0) * 1000;
  return {
    now,
    unverifiedServers: next.filter((place) => !isVerified(successor, place)).map(nameOf),
    consumers: lineage.consumers.map(({ name, address }) => ({
      name,
      hasMoved: address !== null && moved.includes(address),
    })),
    unknownOn:
      complete.length === 0
        ? null
        : complete.flatMap(({ name_server: name, since }, index) => {
            if (since === null) return [name];
            if (!showsWholeDay(since, now, windowMs))
              return [`${name} (${coverageText(since, now, windowMs)})`];
            const isUnread = former[index]?.server.key_references === null;
            return isUnread ? [`${name} (${UNREAD})`] : [];
          }),
    remainingClients: seen(key.id, minuteOf(earlier(now, Math.max(windowMs, overlapMs)))).filter(
      (address) => !moved.includes(address),
    ),
    users: seen(key.id, start),
    successorUsers:
      moved.length > 0 || isComplete(usesOf(successor.id, next, { uses, full }, now).servers)
        ? moved
        : null,
    references: former.flatMap(({ server, isWanted }) =>
      isWanted ? referencesTo(key, server) : [],
    ),
  };
}

/** Returns whether a name server that should have a key was last seen to accept its version. */
function isVerified({ version }: Pick<Tsigkey, 'version'>, { isWanted, delivery }: KeyOnServer) {
  return (
    !isWanted ||
    (delivery?.state === 'delivered' &&
      delivery.deliveredVersion === version &&
      delivery.error === null)
  );
}

/** Returns the minute of a time: times in logs are stored by the minute. */
export function minuteOf(timestamp: string): string {
  return timestamp.slice(0, 'YYYY-MM-DDTHH:MM'.length);
}

/** Returns whether the logs of all name servers show every use. */
function isComplete(servers: readonly { readonly since: string | null }[]): boolean {
  return servers.length > 0 && servers.every(({ since }) => since !== null);
}

function nameOf({ server }: KeyOnServer): string {
  return server.name;
}

/** Returns the clients of some uses, each once. A log without addresses shows only that there is one. */
function addresses(uses: readonly StoredUse[]): string[] {
  return [...new Set(uses.map(({ address }) => (address === '' ? NO_ADDRESS : address)))];
}

/** Why a key may be in use although no log shows it: the configuration may name it. */
const UNREAD = 'its configuration cannot be read';

const NO_ADDRESS = '(no address)';

function referencesTo({ name }: Pick<Tsigkey, 'name'>, server: NameServer): string[] {
  return ownReferences(server)
    .filter(({ key }) => key === comparisonForm(name))
    .map(({ place }) => `${server.name}: ${place}`);
}
