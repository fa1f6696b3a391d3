import { randomBytes, randomInt } from 'node:crypto';
import { findBrand } from '../../brands/brands.ts';
import { rightsIn, type DesiredKey, type Zones } from '../../brands/desired-state.ts';
import type { Right } from '../../access/rights.ts';
import { eachInSlices } from '../../core/scheduling/slicer.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import type { Expectation } from '../../net/probe.ts';
import { newSlicer } from '../../net/slices.ts';

/** The keys that a name server is expected to accept and to refuse. */
export interface KeyPlan {
  readonly acceptedKeys: readonly DesiredKey[];
  readonly removedKeys: readonly RemovedKey[];
  /** Keys among `accepted` that the name server must refuse in some zone. */
  readonly restrictedKeys?: readonly RestrictedKey[];
}

/** A key, and a right that it does not have in every zone. */
export interface RestrictedKey {
  readonly key: DesiredKey;
  readonly right: Right;
  /** The zones in which the key had the right before the pass, if this process knows them. */
  readonly former: Zones | undefined;
}

export interface RemovedKey {
  readonly id: string;
  readonly name: string;
  /** The key with its former secret. Undefined if this process does not know the secret. */
  readonly former: DesiredKey | undefined;
}

/** Also returns the ids of keys without a zone. Keys for all zones are tested in `zone`. */
export async function expectationsOf(
  { acceptedKeys, removedKeys, restrictedKeys = [] }: KeyPlan,
  driver: string,
  zones: readonly string[],
  zone: string | undefined,
): Promise<{ readonly expectations: Expectation[]; readonly untestable: readonly string[] }> {
  const expectations: Expectation[] = [];
  const untestable: string[] = [];
  const probed = zone === undefined ? undefined : comparisonForm(zone);
  const zoneIn = (some: Zones) =>
    some === 'all' || (probed !== undefined && some.includes(probed)) ? zone : some[0];
  for (const key of acceptedKeys)
    for (const check of checksOf(key, driver)) {
      const tested = zoneIn((check === 'query' ? undefined : key.access[check]) ?? 'all');
      if (tested === undefined) untestable.push(key.id);
      else expectations.push({ key, check, zone: tested, accepted: true });
    }
  for (const removed of removedKeys) {
    const key = removed.former ?? withRandomSecret(removed);
    const { access = {} } = removed.former ?? {};
    const tested = zoneIn(access.transfer ?? access.update ?? 'all');
    if (tested !== undefined)
      expectations.push({ key, check: 'transfer', zone: tested, accepted: false });
  }
  let pool: Set<string> | undefined;
  const isInPool = (name: string) => (pool ??= new Set(zones)).has(name);
  await eachInSlices(newSlicer(), restrictedKeys, ({ key, right, former }) => {
    const tested = zoneWithout(key, right, former, zones, isInPool);
    if (tested !== undefined)
      expectations.push({ key, check: right, zone: tested, accepted: false });
  });
  return { expectations, untestable };
}

function checksOf({ access }: DesiredKey, driver: string): readonly Expectation['check'][] {
  const rights = rightsIn(access);
  if (rights.length > 0) return rights;
  // A key that opens nothing must still be known: other lists and requesters may name it.
  return findBrand(driver)?.hidesUnlistedKeys === true ? [] : ['query'];
}

function withRandomSecret({ id, name }: RemovedKey): Expectation['key'] {
  return { id, name, algorithm: 'hmac-sha256', secret: randomBytes(32).toString('base64') };
}

/**
 * Returns a zone in which a key must not have a right, at random: one that the key has lost, or else
 * any. Returns undefined if there is none.
 */
function zoneWithout(
  { access }: DesiredKey,
  right: Right,
  former: Zones | undefined,
  zones: readonly string[],
  isInPool: (zone: string) => boolean,
): string | undefined {
  const own = access[right] ?? [];
  if (own === 'all') return undefined;
  const granted = new Set(own);
  // To read each zone for each key takes 10^8 steps with 1,000 keys and 100,000 zones.
  const oneOf = (some: readonly string[], isWanted: (zone: string) => boolean) => {
    const start = some.length === 0 ? 0 : randomInt(some.length);
    for (let step = 0; step < some.length; step += 1) {
      const zone = some[(start + step) % some.length];
      if (zone !== undefined && !granted.has(zone) && isWanted(zone)) return zone;
    }
    return undefined;
  };
  const lost = former === undefined || former === 'all' ? undefined : oneOf(former, isInPool);
  return lost ?? oneOf(zones, () => true);
}
