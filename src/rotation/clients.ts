import type { KeyOnServer } from '../delivery/delivery-ports.ts';
import type { RetiredKey } from '../resources/lineage.ts';

/** What is known of the clients of a key that is being replaced, and of its successor. */
export interface ClientFacts {
  /**
   * The name servers on which not every use of a whole day is known, or whose configuration cannot be
   * read. Null if the key has no name server.
   */
  readonly unknownOn: readonly string[] | null;
  /** The clients that were seen with the former key during the overlap, but not with the successor. */
  readonly remainingClients: readonly string[];
  /** The clients that were seen with the former key just now: within the window. */
  readonly users: readonly string[];
  /** The clients that were seen with the successor, or null if others may use it. */
  readonly successorUsers: readonly string[] | null;
}

/** A key by its id, and the name servers that should have it or still have it. */
export interface PlacedKey {
  readonly id: string;
  readonly places: readonly KeyOnServer[];
}

export interface ClientWindow {
  /** In the timestamp format of the API. */
  readonly now: string;
  readonly windowMs: number;
  readonly overlapMs: number;
}

/** A use of a retired key, which name servers refused. */
export interface UseAfterRetirement {
  readonly id: string;
  readonly name: string;
  readonly count: number;
  readonly lastAt: string;
  readonly addresses: readonly string[];
}

export interface Clients {
  clientsOf(key: PlacedKey, successor: PlacedKey, window: ClientWindow): Promise<ClientFacts>;
  usesAfterRetirement(
    keys: readonly Pick<RetiredKey, 'id' | 'name' | 'retired_at'>[],
  ): Promise<readonly UseAfterRetirement[]>;
}

/** Without knowledge, a rotation waits for people. */
export const NOTHING_KNOWN: Clients = {
  clientsOf({ places }) {
    const names = places.map(({ server }) => server.name);
    return Promise.resolve({
      unknownOn: names.length === 0 ? null : names,
      remainingClients: [],
      users: [],
      successorUsers: null,
    });
  },
  usesAfterRetirement: () => Promise.resolve([]),
};
