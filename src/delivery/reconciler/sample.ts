import type { Job } from '../agent-protocol.ts';
import type { Claim, Delivery } from '../delivery-ports.ts';
import type { DesiredKey } from '../../brands/desired-state.ts';
import type { Right } from '../../access/rights.ts';
import { eachInSlices, type Slicer } from '../../core/scheduling/slicer.ts';
import { isDelivered, isRefused, rowsById, TOO_WIDE } from './delivery-rows.ts';
import { dueProbes } from './schedule.ts';

export interface Sample {
  /** The keys that the name server does not have yet in their present version. */
  readonly additions: readonly DesiredKey[];
  /** Some of the other keys. */
  readonly deliveredKeys: readonly DeliveredKey[];
  /** Whether to send few queries per second, because nothing changes. */
  readonly isSlow: boolean;
}

interface DeliveredKey {
  readonly key: DesiredKey;
  readonly row: Delivery;
}

/**
 * Chooses the keys to verify: all additions, the faulty keys in turn, and of the others those that
 * the claim asks for, or one at random. `removals` are the keys that the pass removes.
 */
export async function chooseSample(
  { probes }: Pick<Claim, 'probes'>,
  keys: readonly DesiredKey[],
  former: readonly Delivery[],
  removals: readonly Delivery[],
  random: () => number,
  slicer: Slicer,
): Promise<Sample> {
  const rows = rowsById(former);
  const additions: DesiredKey[] = [];
  const delivered: DeliveredKey[] = [];
  await eachInSlices(slicer, keys, (key) => {
    const row = rows.get(key.id);
    if (row !== undefined && isDelivered(row, key.version)) delivered.push({ key, row });
    else additions.push(key);
  });
  const isSlow = probes === 'due' && additions.length + removals.length === 0;
  // A slow verification tests one right of a key, which may be one that the key has.
  const candidates = isSlow ? delivered.filter(({ row }) => !isRefused(row)) : delivered;
  const faulty = candidates.filter(({ row }) => isWide(row) || isRefused(row));
  const choose = () => {
    if (probes === 'all') return delivered;
    if (isSlow) return longestUnverified(candidates, dueProbes(candidates.length));
    return delivered.slice(Math.floor(random() * delivered.length)).slice(0, 1);
  };
  const suspects = longestUnverified(faulty, dueProbes(faulty.length));
  return { additions, deliveredKeys: [...new Set([...suspects, ...choose()])], isSlow };
}

function isWide({ error }: Delivery): boolean {
  return error?.code === TOO_WIDE;
}

/** Returns the `count` keys whose last verification is the longest ago. */
function longestUnverified(keys: readonly DeliveredKey[], count: number): readonly DeliveredKey[] {
  const time = ({ row }: DeliveredKey) => row.verifiedAt ?? '';
  const latest = keys.map(time).sort()[Math.min(count, keys.length) - 1] ?? '';
  return keys
    .filter((key) => time(key) <= latest)
    .sort((one, other) => (time(one) < time(other) ? -1 : 1))
    .slice(0, count);
}

/**
 * Returns keys with a right of the name server that they do not have in every zone: each wide key with
 * all such rights, each addition and one of the others with one. Each one is refused, and adds a
 * line to the log of the name server. Keys that open everything are left out.
 */
export function restrictedOf(
  { additions, deliveredKeys }: Sample,
  rights: readonly Right[],
  zones: readonly string[],
  random: () => number,
): Job['restricted'] {
  const wide = deliveredKeys.filter(({ row }) => isWide(row));
  const others = deliveredKeys.filter(({ row }) => !isWide(row));
  const lackingRights = ({ id, access }: DesiredKey) =>
    rights.flatMap((right) => {
      const own = access[right] ?? [];
      return own === 'all' || own.length >= zones.length ? [] : [{ id, right }];
    });
  const oneOf = (key: DesiredKey) => {
    const all = lackingRights(key);
    return all.slice(Math.floor(random() * all.length)).slice(0, 1);
  };
  return [
    ...wide.flatMap(({ key }) => lackingRights(key)),
    ...additions.flatMap(oneOf),
    ...others.flatMap(({ key }) => oneOf(key)).slice(0, 1),
  ];
}
