import { comparisonForm } from '../../domain/text/dns-name.ts';
import type { PowerdnsApi } from './powerdns-api.ts';

/** The keys that a zone of PowerDNS accepts, and the networks that may update it. */
export interface Grants {
  readonly transfer: readonly string[];
  readonly update: readonly string[];
  /**
   * If this list has networks, `update` must have keys. Otherwise everyone in the networks could
   * update.
   */
  readonly updateFrom: readonly string[];
}

/** The kinds of metadata with the keys for transfers and updates, and the networks for updates. */
const TRANSFER_KEYS = 'TSIG-ALLOW-AXFR';
const UPDATE_KEYS = 'TSIG-ALLOW-DNSUPDATE';
const UPDATE_NETWORKS = 'ALLOW-DNSUPDATE-FROM';
const EVERYWHERE = ['0.0.0.0/0', '::/0'];

/** Reads the grants of a zone. Returns undefined if there is no zone. Throws `DriverError`. */
export async function readGrants(api: PowerdnsApi, zone: string): Promise<Grants | undefined> {
  const metadata = await api.metadata(zone);
  if (metadata === undefined) return undefined;
  return {
    transfer: (metadata.get(TRANSFER_KEYS) ?? []).map(comparisonForm),
    update: (metadata.get(UPDATE_KEYS) ?? []).map(comparisonForm),
    updateFrom: metadata.get(UPDATE_NETWORKS) ?? [],
  };
}

/**
 * Changes the keys of a zone from `present` to `target`. Returns the new grants, or undefined if
 * nothing differs. PowerDNS accepts unsigned updates from a network if the list of keys is empty.
 * This function therefore adds networks after keys, and removes networks before keys. PowerDNS
 * refuses a list of keys for transfers if one of the keys does not exist. This function therefore
 * leaves out deleted keys. Throws `DriverError`.
 */
export async function writeGrants(
  api: PowerdnsApi,
  zone: string,
  present: Grants,
  target: Pick<Grants, 'transfer' | 'update'>,
  exists: (name: string) => boolean,
): Promise<Grants | undefined> {
  const changesTransfer = !isEqual(present.transfer, target.transfer);
  const changesUpdate = !isEqual(present.update, target.update);
  if (!changesTransfer && !changesUpdate) return undefined;
  const transfer = changesTransfer ? target.transfer.filter(exists) : target.transfer;
  if (changesTransfer) await api.setTransferKeys(zone, transfer);
  let { updateFrom } = present;
  if (changesUpdate && target.update.length === 0) {
    updateFrom = [];
    await api.setMetadata(zone, UPDATE_NETWORKS, updateFrom);
  }
  if (changesUpdate) await api.setMetadata(zone, UPDATE_KEYS, target.update);
  if (changesUpdate && target.update.length > 0 && updateFrom.length === 0) {
    updateFrom = EVERYWHERE;
    await api.setMetadata(zone, UPDATE_NETWORKS, updateFrom);
  }
  return { transfer, update: target.update, updateFrom };
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
