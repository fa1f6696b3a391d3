import { randomUUID } from 'node:crypto';
import { AGENT_FORMAT, type Job } from '../agent-protocol.ts';
import { idsOf, type DesiredKey } from '../../brands/desired-state.ts';
import { hashOf, isMassRemoval } from '../desire.ts';
import type { Claim, Delivery, DeliveryStore, Desire, PassPlan } from '../delivery-ports.ts';
import type { Fault } from '../../core/fault.ts';
import { nextIfOver, type Slicer } from '../../core/scheduling/slicer.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { newSlicer } from '../../net/slices.ts';
import { isOnServer, rowsById, surplusOf, undeliverableRow, UNREADABLE } from './delivery-rows.ts';
import { newStamp, nextStamps, withoutBlocked, withoutHeld } from './hold.ts';
import { readDesired, type LastRead, type ReadState } from './last-read.ts';
import { chooseSample, restrictedOf, type Sample } from './sample.ts';

export interface PreparedPass {
  readonly job: Job & { readonly state: NonNullable<Job['state']> };
  /** What recording the result needs, without secrets. */
  readonly plan: PassPlan;
  readonly former: readonly Delivery[];
  /** The deliveries of renamed keys, and of removed keys that the name server should have again. */
  readonly revived: readonly Delivery[];
}

/** `last` is what this process read last for the name server. */
export async function preparePass(
  store: Pick<DeliveryStore, 'outbox' | 'desired' | 'deliveries'>,
  claim: Claim,
  now: string,
  random: () => number,
  last: LastRead = {},
): Promise<PreparedPass> {
  const slicer = newSlicer();
  // Read the outbox before the state. A change that commits in between is then in the state, and
  // its row remains.
  const outbox = await store.outbox(claim.server.id);
  const read = await readDesired(store, claim, outbox, last, now);
  await nextIfOver(slicer);
  const target = await targetOf(claim, read, slicer);
  const { state, former, removals } = target;
  const sample = await chooseSample(claim, state.keys, former, removals, random, slicer);
  const job = jobOf(claim, read.desired, target, sample, random);
  await nextIfOver(slicer);
  return {
    former,
    revived: target.revived,
    job: { ...job, changes: outbox.length },
    plan: {
      outbox,
      probes: probesOf(claim, sample),
      state: plannedState(claim, read.desired, target),
      keys: plannedKeys(read.desired, target, sample, now),
    },
  };
}

interface Target {
  readonly state: PreparedPass['job']['state'];
  readonly hash: string;
  /** Why a part of the desired state waits for a confirmation, or null. */
  readonly blocked: Fault | null;
  /** The rest of the desired state. Null if `state` is the whole. */
  readonly withheld: Job['withheld'];
  /** The deliveries before the pass, with those of renamed keys. */
  readonly former: readonly Delivery[];
  readonly revived: PreparedPass['revived'];
  readonly removals: readonly Delivery[];
}

async function targetOf(
  claim: Claim,
  { desired, hash, former: stored }: ReadState,
  slicer: Slicer,
): Promise<Target> {
  const { zones, keys: all, kept = [] } = desired.state;
  const surplus = surplusOf(desired, stored);
  const blocked = blockedBy(claim, surplus, stored.filter(isOnServer).length);
  await nextIfOver(slicer);
  const isHeld = claim.server.held !== null;
  const isWhole = blocked === null && !isHeld;
  const unheld = isHeld ? withoutHeld(all, stored) : all;
  const keys = blocked === null ? unheld : withoutBlocked(unheld, stored);
  const renamed = renamedOf(keys, stored);
  const former = renamed.length === 0 ? stored : withRenamed(stored, renamed);
  const removals = former === stored ? surplus : surplusOf(desired, former);
  await nextIfOver(slicer);
  const state = { zones, keys, kept: blocked === null ? kept : [] };
  const wanted = idsOf(keys);
  const withheld = {
    keys: all.filter(({ id }) => !wanted.has(id)),
    kept: blocked === null ? [] : kept,
  };
  const restored = former
    .filter((row) => row.state === 'removing' && wanted.has(row.keyId))
    .map((row): Delivery => ({ ...row, state: 'pending' }));
  await nextIfOver(slicer);
  return {
    state,
    hash: isWhole ? hash : hashOf(state),
    blocked,
    withheld: isWhole ? null : withheld,
    former,
    revived: [...renamed, ...restored],
    removals: blocked === null ? removals : removals.filter(isExplained),
  };
}

function jobOf(
  { server, fence, ...claim }: Claim,
  desired: Desire,
  { state, hash, withheld, former, removals }: Target,
  sample: Sample,
  random: () => number,
): Omit<PreparedPass['job'], 'changes'> {
  const { id, name, driver, address, probe_zone } = server;
  const isApplied = ({ state: of }: Delivery) => of === 'delivered' || of === 'undeliverable';
  return {
    format: AGENT_FORMAT,
    tag: hash,
    fence,
    name_server: { id, name, driver, address, probe_zone },
    stamps: nextStamps(newStamp(), undefined, claim.stamps),
    state,
    withheld,
    is_held: server.held !== null,
    owned: former.filter(isOnServer).map(({ keyName }) => keyName),
    further: [
      ...desired.undeliverable.map(({ key }) => comparisonForm(key.name)),
      ...former.filter((row) => !isOnServer(row)).map(({ keyName }) => keyName),
    ],
    is_applied: withheld === null && hash === claim.appliedHash && former.every(isApplied),
    accepted: acceptedIn(sample).map((key) => key.id),
    restricted: restrictedOf(sample, server.rights, state.zones, random),
    refused: removals.map(({ keyId, keyName, removal }) => ({
      id: keyId,
      name: keyName,
      successor: nameOf(state.keys, removal?.successorId) ?? null,
      compromised: removal?.isCompromised === true,
    })),
    taken: former
      .filter(({ error }) => error?.code === 'name_taken')
      .map(({ keyId, error }) => ({
        id: keyId,
        code: 'name_taken',
        message: error?.message ?? '',
      })),
    is_slow: sample.isSlow,
    retired: [...(desired.retiredNames ?? [])],
    evidence: server.evidence,
    log_position: claim.logPosition,
  };
}

function probesOf({ probes }: Claim, { isSlow }: Sample): Claim['probes'] {
  if (probes === 'all') return probes;
  return isSlow ? 'due' : 'none';
}

function acceptedIn({ additions, deliveredKeys }: Sample): readonly DesiredKey[] {
  return [...additions, ...deliveredKeys.map(({ key }) => key)];
}

function plannedState(
  { server }: Claim,
  { state, undeliverable }: Desire,
  { hash, blocked, withheld, former }: Target,
): PassPlan['state'] {
  const rows = rowsById(former);
  const isLacking = (id: string) => {
    const row = rows.get(id);
    return row !== undefined && !isOnServer(row);
  };
  const lacking = undeliverable.filter(
    ({ key, code }) => code !== UNREADABLE || !rows.has(key.id) || isLacking(key.id),
  );
  return {
    hash: withheld === null ? hash : null,
    rights: server.rights,
    blocked,
    keysWanted: state.keys.length + lacking.length,
    keysWithheld: (withheld?.keys ?? []).filter(({ id }) => !isLacking(id)).length,
  };
}

function plannedKeys(
  desired: Desire,
  { former, removals }: Target,
  sample: Sample,
  now: string,
): PassPlan['keys'] {
  const rows = rowsById(former);
  const present = idsOf(desired.state.keys);
  const undeliverable = new Set(desired.undeliverable.map(({ key }) => key.id));
  return {
    accepted: acceptedIn(sample).map(({ id, name, version }) => ({ id, name, version })),
    additions: sample.additions.filter(({ id }) => !rows.has(id)).map(({ id }) => id),
    removals: removals.map(({ keyId }) => keyId),
    undeliverable: undeliverableRows(desired, rows, now),
    orphans: former
      .filter((row) => !isOnServer(row))
      .map(({ keyId }) => keyId)
      .filter((id) => !present.has(id) && !undeliverable.has(id)),
  };
}

/**
 * Returns the deliveries of keys that the name server may have with other names than they have now:
 * each with its present name, and that of a removed key with the former one. Otherwise no record
 * would say that the former name is Tsigil's, and the name server would accept it for ever.
 */
function renamedOf(keys: readonly DesiredKey[], deliveries: readonly Delivery[]): Delivery[] {
  const rows = rowsById(deliveries);
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

/** Returns deliveries with those of renamed keys, in place of their former ones. */
function withRenamed(deliveries: readonly Delivery[], renamed: readonly Delivery[]): Delivery[] {
  const replaced = rowsById(renamed);
  return [...deliveries.filter(({ keyId }) => !replaced.has(keyId)), ...renamed];
}

function nameOf(keys: readonly DesiredKey[], id: string | null | undefined): string | undefined {
  return id == null ? undefined : keys.find((key) => key.id === id)?.name;
}

/**
 * Returns why a pass needs a confirmation: it would remove most keys, or their rights, and the
 * database does not state why. Keys that callers deleted or moved are `removing`.
 */
function blockedBy(
  { server, isConfirmed, appliedRights }: Claim,
  surplus: readonly Delivery[],
  present: number,
): Fault | null {
  if (isConfirmed) return null;
  const unexplained = surplus.filter((row) => !isExplained(row)).length;
  const staying = present - surplus.length;
  const lost = appliedRights.filter((right) => !server.rights.includes(right));
  const lostKeys = lost.length === 0 ? 0 : (staying * lost.length) / appliedRights.length;
  // Keys that callers delete meanwhile do not confirm the removal of the others.
  const isStillBlocked = server.state === 'blocked' && unexplained + lostKeys > 0;
  if (!isStillBlocked && !isMassRemoval(unexplained + lostKeys, present)) return null;
  const rights = lost.map((right) => `'${right}'`).join(' and ');
  const parts = [
    ...(unexplained === 0 ? [] : [`${unexplained} of ${present} keys`]),
    ...(lostKeys === 0 ? [] : [`the right ${rights} of ${staying} keys`]),
  ];
  const message = `The pass would remove ${parts.join(', and ')}. To confirm this, run: tsigil nameserver reconcile ${server.name} --confirm`;
  return { code: 'blocked_removal', message };
}

function isExplained({ state }: Delivery): boolean {
  return state === 'removing';
}

function undeliverableRows(
  { undeliverable }: Desire,
  rows: ReadonlyMap<string, Delivery>,
  now: string,
): Delivery[] {
  return undeliverable.flatMap(({ key, code, message }) => {
    const { id, version } = key;
    const inForm = { id, name: comparisonForm(key.name), version };
    return undeliverableRow(inForm, { code, message }, rows.get(id), now) ?? [];
  });
}
