import { randomUUID } from 'node:crypto';
import { AGENT_FORMAT, type Job } from '../../domain/delivery/agent-protocol.ts';
import { idsOf, type DesiredKey, type Right } from '../../domain/delivery/desired-state.ts';
import { hashOf, isMassRemoval } from '../../domain/delivery/desire.ts';
import type {
  Claim,
  Delivery,
  DeliveryStore,
  Desire,
  PassPlan,
} from '../../domain/delivery/delivery-ports.ts';
import type { Fault } from '../../domain/model/fault.ts';
import { eachInSlices, nextIfOver } from '../../domain/scheduling/slicer.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { newSlicer } from '../slices.ts';
import { readDesired, type LastRead } from './last-read.ts';
import { newStamp, nextStamps, withoutBlocked, withoutHeld } from './hold.ts';
import { dueProbes } from './schedule.ts';

/** The code of a key whose secret is lost or cannot be decrypted. */
export const UNREADABLE = 'unreadable_secret';

/** The code of a key that the name server also accepts where its grants do not permit it. */
export const TOO_WIDE = 'too_wide';

/** The code of a key that the configuration of its zone does not let do what it may. */
export const NOT_ADMITTED = 'not_admitted';

/** A pass that is ready to be made. */
export interface PreparedPass {
  readonly job: Job & { readonly state: NonNullable<Job['state']> };
  /** What recording the result needs, without secrets. */
  readonly plan: PassPlan;
  readonly former: readonly Delivery[];
  /** The deliveries of renamed keys, and of removed keys that the name server should have again. */
  readonly revived: readonly Delivery[];
}

/**
 * Reads the outbox and then the desired state, and returns the job and what its result is recorded
 * with. `last` is what this process read last for the name server.
 */
export async function preparePass(
  store: Pick<DeliveryStore, 'outbox' | 'desired' | 'deliveries'>,
  claim: Claim,
  now: string,
  random: () => number,
  last: LastRead = {},
): Promise<PreparedPass> {
  const { server, fence, probes } = claim;
  const slicer = newSlicer();
  // Read the outbox before the state. A change that commits in between is then in the state, and
  // its row remains.
  const outbox = await store.outbox(server.id);
  const read = await readDesired(store, claim, outbox, last, now);
  const { desired, hash: wholeHash, former: stored } = read;
  await nextIfOver(slicer);
  const unwanted = goneOf(desired, stored);
  const blocked = blockedBy(claim, unwanted, stored.filter(isOnServer).length);
  await nextIfOver(slicer);
  const { zones, keys: all, kept = [] } = desired.state;
  const unheld = server.held === null ? all : withoutHeld(all, stored);
  const keys = blocked === null ? unheld : withoutBlocked(unheld, stored);
  const renamed = renamedOf(keys, stored);
  const replaced = new Set(renamed.map(({ keyId }) => keyId));
  const unchanged = stored.filter(({ keyId }) => !replaced.has(keyId));
  const former = renamed.length === 0 ? stored : [...unchanged, ...renamed];
  const present = former.filter(isOnServer);
  const unneeded = former === stored ? unwanted : goneOf(desired, former);
  const gone = unneeded.filter((row) => blocked === null || isExplained(row));
  await nextIfOver(slicer);
  const state = { zones, keys, kept: blocked === null ? kept : [] };
  const isWhole = blocked === null && server.held === null;
  const hash = isWhole ? wholeHash : hashOf(state);
  await nextIfOver(slicer);
  const rows = rowsById(former);
  const [fresh, others]: [DesiredKey[], Verified[]] = [[], []];
  await eachInSlices(slicer, keys, (key) => {
    const row = rows.get(key.id);
    const isDelivered = row?.state === 'delivered' && row.deliveredVersion === key.version;
    if (isDelivered) others.push({ key, row });
    else fresh.push(key);
  });
  const isWide = ({ row }: Verified) => row.error?.code === TOO_WIDE;
  const isSlow = probes === 'due' && fresh.length === 0 && gone.length === 0;
  // A slow verification tests one right of a key, which may be one that the key has.
  const isRefused = ({ row }: Verified) => row.error?.code === NOT_ADMITTED;
  const unrefused = isSlow ? others.filter((each) => !isRefused(each)) : others;
  const faulty = unrefused.filter((each) => isWide(each) || isRefused(each));
  const choose = () => {
    if (probes === 'all') return others;
    if (isSlow) return longestUnverified(unrefused, dueProbes(unrefused.length));
    return others.slice(Math.floor(random() * others.length)).slice(0, 1);
  };
  const dueOrNone = isSlow ? 'due' : 'none';
  const suspected = longestUnverified(faulty, dueProbes(faulty.length));
  const sample = [...new Set([...suspected, ...choose()])];
  const accepted = [...fresh, ...sample.map(({ key }) => key)];
  const isLacking = (id: string) => {
    const row = rows.get(id);
    return row !== undefined && !isOnServer(row);
  };
  const lacking = desired.undeliverable.filter(
    ({ key, code }) => code !== UNREADABLE || !rows.has(key.id) || isLacking(key.id),
  );
  const wanted = idsOf(keys);
  const undeliverable = new Set(desired.undeliverable.map(({ key }) => key.id));
  const withheld = isWhole ? [] : all.filter(({ id }) => !wanted.has(id));
  await nextIfOver(slicer);
  return {
    former,
    revived: [
      ...renamed,
      ...former
        .filter((row) => row.state === 'removing' && wanted.has(row.keyId))
        .map((row): Delivery => ({ ...row, state: 'pending' })),
    ],
    job: {
      format: AGENT_FORMAT,
      tag: hash,
      fence,
      name_server: {
        id: server.id,
        name: server.name,
        driver: server.driver,
        address: server.address,
        probe_zone: server.probe_zone,
      },
      stamps: nextStamps(newStamp(), undefined, claim.stamps),
      state,
      withheld: isWhole ? null : { keys: withheld, kept: blocked === null ? [] : kept },
      is_held: server.held !== null,
      owned: present.map(({ keyName }) => keyName),
      further: [
        ...desired.undeliverable.map(({ key }) => comparisonForm(key.name)),
        ...former.filter((row) => !isOnServer(row)).map(({ keyName }) => keyName),
      ],
      is_applied:
        isWhole &&
        hash === claim.appliedHash &&
        former.every(({ state: of }) => of === 'delivered' || of === 'undeliverable'),
      accepted: accepted.map(({ id }) => id),
      restricted: restrictedOf(
        {
          fresh,
          wide: sample.filter(isWide).map(({ key }) => key),
          others: sample.filter((each) => !isWide(each)).map(({ key }) => key),
        },
        server.rights,
        zones,
        random,
      ),
      refused: gone.map(({ keyId: id, keyName: name, removal }) => ({
        id,
        name,
        successor: nameOf(keys, removal?.successorId) ?? null,
        compromised: removal?.isCompromised === true,
      })),
      taken: former
        .filter(({ error }) => error?.code === 'name_taken')
        .map(({ keyId: id, error }) => ({
          id,
          code: 'name_taken',
          message: error?.message ?? '',
        })),
      is_slow: isSlow,
      is_refused: claim.refusals > 0,
      changes: outbox.length,
      retired: [...(desired.retired ?? [])],
      evidence: server.evidence,
      log_position: claim.logPosition,
    },
    plan: {
      outbox,
      probes: probes === 'all' ? probes : dueOrNone,
      refusals: claim.refusals,
      state: {
        hash: isWhole ? hash : null,
        rights: server.rights,
        blocked,
        keysWanted: all.length + lacking.length,
        keysWithheld: withheld.filter(({ id }) => !isLacking(id)).length,
      },
      keys: {
        accepted: accepted.map(({ id, name, version }) => ({ id, name, version })),
        additions: fresh.filter(({ id }) => !rows.has(id)).map(({ id }) => id),
        removals: gone.map(({ keyId }) => keyId),
        undeliverable: undeliverableRows(desired, rows, now),
        orphans: former
          .filter(({ state: of, appliedAt }) => of === 'undeliverable' && appliedAt === null)
          .map(({ keyId }) => keyId)
          .filter((id) => !idsOf(all).has(id) && !undeliverable.has(id)),
      },
    },
  };
}

/**
 * Returns keys with a right of the name server that they do not have in every zone: each wide key with
 * all such rights, each fresh key and one of the others with one. Each one is refused, and adds a
 * line to the log of the name server. Keys that open everything are left out.
 */
function restrictedOf(
  { fresh, wide, others }: Readonly<Record<'fresh' | 'wide' | 'others', readonly DesiredKey[]>>,
  rights: readonly Right[],
  zones: readonly string[],
  random: () => number,
): Job['restricted'] {
  const missing = ({ id, access }: DesiredKey) =>
    rights.flatMap((right) => {
      const own = access[right] ?? [];
      return own === 'all' || own.length >= zones.length ? [] : [{ id, right }];
    });
  const oneOf = (key: DesiredKey) => {
    const found = missing(key);
    return found.slice(Math.floor(random() * found.length)).slice(0, 1);
  };
  return [...wide.flatMap(missing), ...fresh.flatMap(oneOf), ...others.flatMap(oneOf).slice(0, 1)];
}

/**
 * Returns the deliveries of keys that the name server may have with other names than they have now:
 * each with its present name, and that of a removed key with the former one. Otherwise no record
 * would say that the former name is Tsigil's, and the name server would accept it for ever.
 */
function renamedOf(keys: readonly DesiredKey[], stored: readonly Delivery[]): Delivery[] {
  const rows = rowsById(stored);
  const renamed: Delivery[] = [];
  for (const { id, name: keyName } of keys) {
    const row = rows.get(id);
    if (row === undefined || row.keyName === keyName || !isOnServer(row)) continue;
    renamed.push(
      { ...row, keyName, state: 'pending' },
      { ...row, keyId: randomUUID(), state: 'removing', error: null },
    );
  }
  return renamed;
}

const maps = new WeakMap<readonly Delivery[], ReadonlyMap<string, Delivery>>();

/** Returns deliveries by the ids of their keys. A pass asks several times. */
export function rowsById(deliveries: readonly Delivery[]): ReadonlyMap<string, Delivery> {
  const known = maps.get(deliveries) ?? new Map(deliveries.map((row) => [row.keyId, row]));
  maps.set(deliveries, known);
  return known;
}

function nameOf(keys: readonly DesiredKey[], id: string | null | undefined): string | undefined {
  return id == null ? undefined : keys.find((key) => key.id === id)?.name;
}

/** Returns whether a name server may have a key. */
export function isOnServer({ state, appliedAt }: Delivery): boolean {
  return state !== 'undeliverable' || appliedAt !== null;
}

/** Returns the keys that the name server may have but should not have. */
export function goneOf({ state }: Desire, former: readonly Delivery[]): Delivery[] {
  const wanted = idsOf(state.keys);
  const kept = new Set(state.kept?.map(({ id }) => id));
  return former.filter((row) => !wanted.has(row.keyId) && !kept.has(row.keyId) && isOnServer(row));
}

/**
 * Returns why a pass needs a confirmation: it would remove most keys, or their rights, and the
 * database does not state why. Keys that callers deleted or moved are `removing`.
 */
function blockedBy(
  { server, isConfirmed, appliedRights }: Claim,
  unwanted: readonly Delivery[],
  present: number,
): Fault | null {
  if (isConfirmed) return null;
  const gone = unwanted.filter((row) => !isExplained(row)).length;
  const staying = present - unwanted.length;
  const lost = appliedRights.filter((right) => !server.rights.includes(right));
  const lostKeys = lost.length === 0 ? 0 : (staying * lost.length) / appliedRights.length;
  // Keys that callers delete meanwhile do not confirm the removal of the others.
  const isStillBlocked = server.state === 'blocked' && gone + lostKeys > 0;
  if (!isStillBlocked && !isMassRemoval(gone + lostKeys, present)) return null;
  const rights = lost.map((right) => `'${right}'`).join(' and ');
  const parts = [
    ...(gone === 0 ? [] : [`${gone} of ${present} keys`]),
    ...(lostKeys === 0 ? [] : [`the right ${rights} of ${staying} keys`]),
  ];
  const message = `The pass would remove ${parts.join(', and ')}. To confirm this, run: tsigil nameserver reconcile ${server.name} --confirm`;
  return { code: 'blocked_removal', message };
}

/** Returns whether a caller deleted or moved the key. */
function isExplained({ state }: Delivery): boolean {
  return state === 'removing';
}

/** A key that the name server has, and its delivery. */
interface Verified {
  readonly key: DesiredKey;
  readonly row: Delivery;
}

/** Returns the `count` keys whose last verification is the longest ago. */
function longestUnverified(keys: readonly Verified[], count: number): readonly Verified[] {
  const time = ({ row }: Verified) => row.verifiedAt ?? '';
  const latest = keys.map(time).sort()[Math.min(count, keys.length) - 1] ?? '';
  return keys
    .filter((key) => time(key) <= latest)
    .sort((one, other) => (time(one) < time(other) ? -1 : 1))
    .slice(0, count);
}

/** Returns the changed rows of undeliverable keys. */
function undeliverableRows(
  { undeliverable }: Desire,
  rows: ReadonlyMap<string, Delivery>,
  now: string,
): Delivery[] {
  return undeliverable.flatMap(({ key, code, message }) => {
    const given = { id: key.id, name: comparisonForm(key.name), version: key.version };
    return undeliverableRow(given, { code, message }, rows.get(key.id), now) ?? [];
  });
}

/**
 * Returns the row of a key that cannot be delivered, or undefined if it is unchanged. A name server
 * keeps a key whose secret is lost or cannot be decrypted.
 */
export function undeliverableRow(
  { id, name, version }: { readonly id: string; readonly name: string; readonly version: number },
  error: Fault,
  row: Delivery | undefined,
  now: string,
): Delivery | undefined {
  if (
    row?.state === 'undeliverable' &&
    row.deliveredVersion === version &&
    row.error?.message === error.message
  )
    return undefined;
  const isKept = error.code === UNREADABLE && row !== undefined;
  const appliedAt = row?.state === 'undeliverable' ? row.appliedAt : (row?.appliedAt ?? now);
  return {
    keyId: id,
    keyName: name,
    state: 'undeliverable',
    deliveredVersion: version,
    error,
    appliedAt: isKept ? appliedAt : null,
    verifiedAt: isKept ? row.verifiedAt : null,
  };
}
