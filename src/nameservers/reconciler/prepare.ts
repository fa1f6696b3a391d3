import { randomUUID } from 'node:crypto';
import { AGENT_FORMAT, type Job } from '../../domain/delivery/agent-protocol.ts';
import type { DesiredKey, Right } from '../../domain/delivery/desired-state.ts';
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
  const gone = goneOf(desired, former).filter((row) => blocked === null || isExplained(row));
  await nextIfOver(slicer);
  const state = { zones, keys, kept: blocked === null ? kept : [] };
  const isWhole = blocked === null && server.held === null;
  const hash = isWhole ? wholeHash : hashOf(state);
  await nextIfOver(slicer);
  const rows = new Map(former.map((row) => [row.keyId, row]));
  const [fresh, others]: [DesiredKey[], DesiredKey[]] = [[], []];
  await eachInSlices(slicer, keys, (key) => {
    const row = rows.get(key.id);
    const isDelivered = row?.state === 'delivered' && row.deliveredVersion === key.version;
    if (isDelivered) others.push(key);
    else fresh.push(key);
  });
  const isWide = ({ id }: DesiredKey) => rows.get(id)?.error?.code === TOO_WIDE;
  const isSlow = probes === 'due' && fresh.length === 0 && gone.length === 0;
  const wide = others.filter(isWide);
  const chosen =
    probes === 'all'
      ? others
      : isSlow
        ? verifiedFirst(others, rows).slice(0, dueProbes(others.length))
        : others.slice(Math.floor(random() * others.length)).slice(0, 1);
  const sample = [...new Set([...wide.slice(0, dueProbes(wide.length)), ...chosen])];
  const accepted = [...fresh, ...sample];
  const known = new Set([
    ...all.map(({ id }) => id),
    ...desired.undeliverable.map(({ key }) => key.id),
  ]);
  const isLacking = (id: string) => {
    const row = rows.get(id);
    return row !== undefined && !isOnServer(row);
  };
  const lacking = desired.undeliverable.filter(
    ({ key, code }) => code !== UNREADABLE || !rows.has(key.id) || isLacking(key.id),
  );
  const wanted = new Set(keys.map(({ id }) => id));
  const withheld = isWhole ? [] : all.filter(({ id }) => !wanted.has(id));
  await nextIfOver(slicer);
  return {
    former,
    revived: [
      ...renamed,
      ...former.flatMap((row): Delivery[] =>
        row.state === 'removing' && wanted.has(row.keyId) ? [{ ...row, state: 'pending' }] : [],
      ),
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
        ...former.flatMap((row) => (isOnServer(row) ? [] : [row.keyName])),
      ],
      is_applied:
        isWhole &&
        hash === claim.appliedHash &&
        former.every(({ state: of }) => of === 'delivered' || of === 'undeliverable'),
      accepted: accepted.map(({ id }) => id),
      restricted: restrictedOf(
        [...fresh, ...sample.filter(isWide)],
        sample.filter((key) => !isWide(key)),
        server.rights,
        zones,
        random,
      ),
      refused: gone.map(({ keyId: id, keyName: name }) => ({ id, name })),
      taken: former.flatMap(({ keyId: id, error }) =>
        error?.code === 'name_taken' ? [{ id, code: 'name_taken', message: error.message }] : [],
      ),
      is_slow: isSlow,
      is_refused: claim.refusals > 0,
      changes: outbox.length,
      retired: [...(desired.retired ?? [])],
      evidence: server.evidence,
      log_position: claim.logPosition,
    },
    plan: {
      hash: isWhole ? hash : null,
      rights: server.rights,
      blocked,
      outbox,
      probes: probes === 'all' ? 'all' : isSlow ? 'due' : 'none',
      refusals: claim.refusals,
      wanted: all.length + lacking.length,
      withheld: withheld.filter(({ id }) => !isLacking(id)).length,
      accepted: accepted.map(({ id, name, version }) => ({ id, name, version })),
      fresh: fresh.filter(({ id }) => !rows.has(id)).map(({ id }) => id),
      gone: gone.map(({ keyId }) => keyId),
      undeliverable: undeliverableRows(desired, rows, now),
      left: former.flatMap(({ keyId, state: of, appliedAt }) =>
        of === 'undeliverable' && appliedAt === null && !known.has(keyId) ? [keyId] : [],
      ),
    },
  };
}

/**
 * Returns each suspected key, and one of the other keys, with a right of the name server that it does
 * not have in every zone. Keys that open everything are left out.
 */
function restrictedOf(
  suspected: readonly DesiredKey[],
  others: readonly DesiredKey[],
  rights: readonly Right[],
  zones: readonly string[],
  random: () => number,
): Job['restricted'] {
  const restricted = (keys: readonly DesiredKey[]) =>
    keys.flatMap(({ id, access }) => {
      const missing = rights.filter((right) => {
        const own = access[right] ?? [];
        return own !== 'all' && own.length < zones.length;
      });
      const right = missing[Math.floor(random() * missing.length)];
      return right === undefined ? [] : [{ id, right }];
    });
  return [...restricted(suspected), ...restricted(others).slice(0, 1)];
}

/**
 * Returns the deliveries of keys that the name server may have with other names than they have now:
 * each with its present name, and that of a removed key with the former one. Otherwise no record
 * would say that the former name is Tsigil's, and the name server would accept it for ever.
 */
function renamedOf(keys: readonly DesiredKey[], stored: readonly Delivery[]): Delivery[] {
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  return stored.flatMap((row): Delivery[] => {
    const keyName = names.get(row.keyId) ?? row.keyName;
    if (keyName === row.keyName || !isOnServer(row)) return [];
    return [
      { ...row, keyName, state: 'pending' },
      { ...row, keyId: randomUUID(), state: 'removing', error: null },
    ];
  });
}

/** Returns whether a name server may have a key. */
export function isOnServer({ state, appliedAt }: Delivery): boolean {
  return state !== 'undeliverable' || appliedAt !== null;
}

/** Returns the keys that the name server may have but should not have. */
function goneOf({ state }: Desire, former: readonly Delivery[]): Delivery[] {
  const wanted = new Set([...state.keys, ...(state.kept ?? [])].map(({ id }) => id));
  return former.filter(({ keyId }) => !wanted.has(keyId)).filter(isOnServer);
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

/** Sorts keys by the time of their last verification, the oldest first. */
function verifiedFirst(
  keys: readonly DesiredKey[],
  rows: ReadonlyMap<string, Delivery>,
): readonly DesiredKey[] {
  return keys
    .map((key) => ({ key, at: rows.get(key.id)?.verifiedAt ?? '' }))
    .sort((one, other) => (one.at < other.at ? -1 : 1))
    .map(({ key }) => key);
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
