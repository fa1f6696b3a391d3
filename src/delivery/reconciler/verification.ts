import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { rightsIn, type DesiredKey } from '../../brands/desired-state.ts';
import type { Fault } from '../../core/fault.ts';
import { parseDnsAddress } from '../../core/text/dns-address.ts';
import { NetError } from '../../net/faults.ts';
import { verifyExpectations, type Learned } from '../../net/probe.ts';
import { expectationsOf, type KeyPlan } from './expectations.ts';
import { createJudge, type LoadedKeys } from './judge.ts';
import { PROBES_PER_SECOND } from './schedule.ts';
import { findOpen, probeZoneOf, type ProbedServer } from './unsigned.ts';

export interface VerifyPlan extends KeyPlan {
  /** `Driver.loadedKeys`, for keys that the name server denies to know. */
  readonly loadedKeys?: LoadedKeys | undefined;
  /** What earlier parts of the same verification have learned. */
  readonly learned?: Lessons;
}

/** What one part of a verification learns for the next. */
export interface Lessons extends Learned {
  /** The zone in which keys for all zones are tested. */
  zone?: string | undefined;
  /** Whether the name server refused unsigned requests. */
  isClosed?: boolean;
}

export interface Verdict {
  /** The keys that do not behave as expected, by id. */
  readonly failures: ReadonlyMap<string, Fault>;
  /** Set if the name server grants rights to unsigned requests. */
  readonly open: Fault | undefined;
}

/** `zones` are those of its pool. Stops to repeat unmet checks once `isInterrupted` is true. */
export type Verify = (
  server: ProbedServer,
  zones: readonly string[],
  plan: VerifyPlan,
  signal: AbortSignal,
  isInterrupted: () => Promise<boolean>,
) => Promise<Verdict>;

/** The number of keys that a scheduled verification probes at the same time. */
const KEYS_AT_ONCE = 4;

/**
 * Verifies that a name server accepts keys, each for one of its rights at random, with at most 20
 * probes per second. Ends early if `isInterrupted` returns true. `verified` is the number of keys
 * that were verified.
 */
export async function verifySlowly(
  verify: Verify,
  server: ProbedServer,
  zones: readonly string[],
  { acceptedKeys: keys, restrictedKeys = [], loadedKeys }: Omit<VerifyPlan, 'removedKeys'>,
  isInterrupted: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Verdict & { readonly verified: number }> {
  const failures = new Map<string, Fault>();
  // A change is verified with requests over TCP, as secondary servers send them.
  const learned: Lessons = { serials: new Map(), prefersUdp: true };
  for (let start = 0; ; start += KEYS_AT_ONCE) {
    const part = keys.slice(start, start + KEYS_AT_ONCE);
    const began = performance.now();
    const plan = {
      acceptedKeys: part.map(withOneRight),
      removedKeys: [],
      learned,
      loadedKeys,
      restrictedKeys: restrictedKeys.filter(({ key }) => part.includes(key)),
    };
    const verdict = await verify(server, zones, plan, signal, isInterrupted);
    for (const [id, failure] of verdict.failures) failures.set(id, failure);
    const verified = start + part.length;
    const { open } = verdict;
    if (open !== undefined || verified === keys.length) return { failures, open, verified };
    const rest = (part.length * 1000) / PROBES_PER_SECOND - (performance.now() - began);
    if (rest > 0) await pause(rest, undefined, { signal });
    if (await isInterrupted()) return { failures, open, verified };
  }
}

function withOneRight(key: DesiredKey): DesiredKey {
  const rights = rightsIn(key.access);
  if (rights.length < 2) return key;
  const right = rights[randomInt(rights.length)] ?? 'transfer';
  return { ...key, access: { [right]: key.access[right] } };
}

export const verifyByQueries: Verify = async (server, zones, plan, signal, isInterrupted) => {
  const address = parseDnsAddress(server.address);
  const learned: Lessons = plan.learned ?? { serials: new Map() };
  const zone = (learned.zone ??= await probeZoneOf(server, address, zones));
  const { expectations, untestable } = await expectationsOf(plan, server.driver, zones, zone);
  const failures = new Map(untestable.map((id) => [id, NO_ZONE]));
  if (address === undefined) return { failures, open: undefined };
  const outcomes = await verifyExpectations(
    address,
    expectations,
    Date.now,
    signal,
    isInterrupted,
    learned,
  );
  const judge = createJudge(server, address, zone, plan, outcomes);
  let open: Fault | undefined;
  for (const outcome of outcomes) {
    const judgement = await judge(outcome);
    if (judgement === undefined) continue;
    const { id } = outcome.expectation.key;
    const { fault, isMinor } = judgement;
    if (fault.code === 'open') open ??= fault;
    else if (!isMinor || !failures.has(id)) failures.set(id, fault);
  }
  if (zone === undefined || open !== undefined || learned.isClosed === true)
    return { failures, open };
  try {
    open = await findOpen(address, zone);
    learned.isClosed = open === undefined;
    return { failures, open };
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    const failure = { code: 'unreachable', message: error.message };
    for (const { id } of [...plan.acceptedKeys, ...plan.removedKeys])
      if (!failures.has(id)) failures.set(id, failure);
    return { failures, open: undefined };
  }
};

const NO_ZONE: Fault = {
  code: 'not_verified',
  message: 'the pool has no zone to test keys with. Set the probe_zone of the name server',
};
