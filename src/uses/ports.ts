import type { KeyUse } from '../delivery/log-protocol.ts';
import type { NameServer } from '../resources/name-server.ts';

/** What the log of a name server shows of one key and one client. */
export interface StoredUse extends Omit<KeyUse, 'key'> {
  readonly keyId: string;
  readonly serverId: string;
}

export interface KeyUses {
  /** The last use first. */
  readonly uses: readonly StoredUse[];
  /** The ids of the name servers with as many uses as are stored, so that others may be missing. */
  readonly full: ReadonlySet<string>;
}

/** A name server whose log may show a key. */
export interface KeyPlace {
  readonly server: NameServer;
  readonly status: { readonly isServed: boolean };
}

export interface UseReader {
  /** Returns the refused uses of retired keys on all name servers. */
  usesOfRetired(keyIds: readonly string[]): Promise<readonly StoredUse[]>;
  uses(keyIds: readonly string[], serverIds: readonly string[]): Promise<KeyUses>;
}
