import { comparisonForm } from '../../core/text/dns-name.ts';
import type { PowerdnsApi } from './api.ts';

/** The keys that a zone of PowerDNS accepts, and the networks that may update it. */
export interface Grants {
  readonly transfer: readonly string[];
  readonly update: readonly string[];
  /**
   * The networks that may update the zone. If this list has networks, `update` must have keys.
   * Otherwise anyone in the networks could update the zone.
   */
  readonly updateFrom: readonly string[];
  /** The networks that an operator set, which are kept here while `updateFrom` omits them. */
  readonly formerFrom: readonly string[];
  /** The key of the zone's own requests, which an operator set. PowerDNS uses no further one. */
  readonly requester: string | undefined;
}

export const TRANSFER_KEYS = 'TSIG-ALLOW-AXFR';
export const UPDATE_KEYS = 'TSIG-ALLOW-DNSUPDATE';
const UPDATE_NETWORKS = 'ALLOW-DNSUPDATE-FROM';
export const REQUEST_KEYS = 'AXFR-MASTER-TSIG';
const FORMER_NETWORKS = 'X-TSIGIL-DNSUPDATE-FROM';
const EVERYWHERE = ['0.0.0.0/0', '::/0'];

/** The grants of a zone as read last, and the digest of its metadata. */
export interface ReadGrants {
  readonly digest: string;
  readonly grants: Grants;
}

/**
 * Reads the grants of a zone. Returns `former` if nothing has changed since, and undefined if there
 * is no zone. Throws `DriverError`.
 */
export async function readGrants(
  api: PowerdnsApi,
  zone: string,
  former?: ReadGrants,
): Promise<ReadGrants | undefined> {
  const read = await api.metadata(zone, former?.digest);
  if (read === undefined) return undefined;
  const { digest, kinds: metadata } = read;
  if (metadata === undefined) return former;
  const [requester] = metadata.get(REQUEST_KEYS) ?? [];
  const grants = {
    transfer: (metadata.get(TRANSFER_KEYS) ?? []).map(comparisonForm),
    update: (metadata.get(UPDATE_KEYS) ?? []).map(comparisonForm),
    updateFrom: metadata.get(UPDATE_NETWORKS) ?? [],
    formerFrom: metadata.get(FORMER_NETWORKS) ?? [],
    requester: requester === undefined ? undefined : comparisonForm(requester),
  };
  return { digest, grants };
}

/**
 * Returns `grants` with the keys in `update` for updates. Without keys, no network may update. With
 * keys, the former networks of an operator may update again. If there are none, `addsNetworks` adds
 * all networks.
 */
export function withUpdateKeys(
  grants: Grants,
  update: readonly string[],
  addsNetworks: boolean,
): Grants {
  const { updateFrom } = grants;
  const formerFrom = isOperators(updateFrom) ? updateFrom : grants.formerFrom;
  if (update.length === 0 && grants.update.length > 0)
    return { ...grants, update, updateFrom: [], formerFrom };
  if (update.length === 0 || updateFrom.length > 0) return { ...grants, update };
  if (formerFrom.length > 0) return { ...grants, update, updateFrom: formerFrom };
  return { ...grants, update, updateFrom: addsNetworks ? EVERYWHERE : [] };
}

function isSame(one: Grants, other: Grants): boolean {
  return (['transfer', 'update', 'updateFrom'] as const).every((list) =>
    isEqual(one[list], other[list]),
  );
}

/**
 * Returns the new grants, or undefined if nothing differs. Throws `DriverError`. PowerDNS accepts
 * unsigned updates from a network if the list of keys is empty, and replaces a list without a
 * transaction, so that it is briefly empty. Networks are therefore removed before the keys change,
 * and added afterwards. PowerDNS refuses a list of keys for transfers if one of the keys does not
 * exist. Deleted keys are therefore left out.
 */
export async function writeGrants(
  api: PowerdnsApi,
  zone: string,
  present: Grants,
  target: Grants,
  exists: (name: string) => boolean,
): Promise<Grants | undefined> {
  if (isSame(present, target)) return undefined;
  const changesTransfer = !isEqual(present.transfer, target.transfer);
  const changesUpdate = !isEqual(present.update, target.update);
  const transfer = changesTransfer ? target.transfer.filter(exists) : target.transfer;
  if (changesTransfer) await api.setTransferKeys(zone, transfer);
  let { updateFrom, formerFrom } = present;
  if (changesUpdate) {
    if (isOperators(updateFrom)) {
      formerFrom = updateFrom;
      await api.setMetadata(zone, FORMER_NETWORKS, formerFrom);
    }
    if (updateFrom.length > 0) await api.setMetadata(zone, UPDATE_NETWORKS, []);
    updateFrom = [];
    await api.setMetadata(zone, UPDATE_KEYS, target.update);
  }
  if (!isEqual(updateFrom, target.updateFrom)) {
    ({ updateFrom } = target);
    await api.setMetadata(zone, UPDATE_NETWORKS, updateFrom);
    if (isOperators(updateFrom)) {
      formerFrom = [];
      await api.setMetadata(zone, FORMER_NETWORKS, formerFrom);
    }
  }
  return { ...present, transfer, update: target.update, updateFrom, formerFrom };
}

/** Returns whether an operator has set these networks. */
function isOperators(networks: readonly string[]): boolean {
  return networks.length > 0 && !isEqual(networks, EVERYWHERE);
}

/** Returns whether two lists have the same members in the same order. */
export function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
