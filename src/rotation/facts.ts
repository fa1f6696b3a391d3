import type { KeyOnServer } from '../delivery/delivery-ports.ts';
import type { Lifecycle, Lineage } from '../resources/lineage.ts';
import type { NameServer } from '../resources/name-server.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import { ownReferences } from '../resources/reference-rules.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
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
  {
    delivery,
    clients: { clientsOf },
    clock,
    rotations,
  }: Pick<RotationDependencies, 'delivery' | 'clients' | 'clock' | 'rotations'>,
  { row, lineage, key, successor }: Rotation,
): Promise<RotationFacts> {
  const now = clock();
  const { windowMs } = rotations;
  const [former = [], next = []] = await delivery.ofKeys([key, successor]);
  const clients = await clientsOf(
    { id: key.id, places: former },
    { id: successor.id, places: next },
    { now, windowMs, overlapMs: (row.overlap_seconds ?? 0) * 1000 },
  );
  const moved = clients.successorUsers ?? [];
  return {
    ...clients,
    now,
    unverifiedServers: next.filter((place) => !isVerified(successor, place)).map(nameOf),
    consumers: lineage.consumers.map(({ name, address }) => ({
      name,
      hasMoved: address !== null && moved.includes(address),
    })),
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

function nameOf({ server }: KeyOnServer): string {
  return server.name;
}

function referencesTo({ name }: Pick<Tsigkey, 'name'>, server: NameServer): string[] {
  return ownReferences(server)
    .filter(({ key }) => key === comparisonForm(name))
    .map(({ place }) => `${server.name}: ${place}`);
}
