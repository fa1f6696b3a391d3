import { comparisonForm } from '../../domain/text/dns-name.ts';
import type { PowerdnsApi } from './powerdns-api.ts';

/** The keys that a zone of PowerDNS accepts, and the networks that may update it. */
export interface Grants {
  readonly transfer: readonly string[];
  readonly update: readonly string[];
  /** If it is not empty, `update` must not be empty, because everyone there could update. */
  readonly updateFrom: readonly string[];
}

const UPDATE_KEYS = 'TSIG-ALLOW-DNSUPDATE';
const UPDATE_NETWORKS = 'ALLOW-DNSUPDATE-FROM';
const EVERYWHERE = ['0.0.0.0/0', '::/0'];

/** Reads the grants of a zone. Returns undefined if there is no zone. Throws `DriverError`. */
export async function readGrants(
  api: PowerdnsApi,
  zone: string,
  signal: AbortSignal,
): Promise<Grants | undefined> {
  const transfer = await api.transferKeys(zone, signal);
  if (transfer === undefined) return undefined;
  const update = await api.metadata(zone, UPDATE_KEYS, signal);
  const updateFrom = await api.metadata(zone, UPDATE_NETWORKS, signal);
  return { transfer, update: update.map(comparisonForm), updateFrom };
}

/**
 * Changes the keys of a zone from `present` to `target`. Returns the new grants, or undefined if
 * nothing differs. PowerDNS accepts unsigned updates from a network if the list of keys is empty.
 * Networks are therefore added after keys, and removed before them. Throws `DriverError`.
 */
export async function writeGrants(
  api: PowerdnsApi,
  zone: string,
  present: Grants,
  target: Pick<Grants, 'transfer' | 'update'>,
  signal: AbortSignal,
): Promise<Grants | undefined> {
  const changesTransfer = !isEqual(present.transfer, target.transfer);
  const changesUpdate = !isEqual(present.update, target.update);
  if (!changesTransfer && !changesUpdate) return undefined;
  if (changesTransfer) await api.setTransferKeys(zone, target.transfer, signal);
  let { updateFrom } = present;
  if (changesUpdate && target.update.length === 0) {
    updateFrom = [];
    await api.setMetadata(zone, UPDATE_NETWORKS, updateFrom, signal);
  }
  if (changesUpdate) await api.setMetadata(zone, UPDATE_KEYS, target.update, signal);
  if (changesUpdate && target.update.length > 0 && updateFrom.length === 0) {
    updateFrom = EVERYWHERE;
    await api.setMetadata(zone, UPDATE_NETWORKS, updateFrom, signal);
  }
  return { transfer: target.transfer, update: target.update, updateFrom };
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
