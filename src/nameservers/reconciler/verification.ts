import { randomBytes, randomInt } from 'node:crypto';
import type { Check, CheckResult } from '../../domain/dns/key-check.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { listName } from '../../domain/brands/brand.ts';
import { findBrand } from '../../domain/brands/brands.ts';
import {
  rightsIn,
  type DesiredKey,
  type Right,
  type Zones,
} from '../../domain/delivery/desired-state.ts';
import type { Fault } from '../../domain/model/fault.ts';
import type { NameServer as Stored } from '../../domain/resources/name-server.ts';

import { eachInSlices } from '../../domain/scheduling/slicer.ts';
import { parseDnsAddress } from '../../domain/text/dns-address.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { shellCommand } from '../../domain/text/shell-word.ts';
import type { NameServer as NameServerAddress } from '../../net/dns.ts';
import { NetError } from '../../net/faults.ts';
import { unmet, type Requirement } from '../driver.ts';
import { newSlicer } from '../slices.ts';
import {
  findOpenRights,
  findServedZone,
  serves,
  verifyExpectations,
  type Expectation,
  type Learned,
  type Outcome,
} from '../../net/probe.ts';
import { PROBES_PER_SECOND } from './schedule.ts';

/** The members of a name server that determine where it is verified. */
type NameServer = Pick<Stored, 'name' | 'address' | 'probe_zone'> & { readonly driver: string };

/** The keys that a name server is expected to accept and to refuse. */
export interface VerifyPlan {
  readonly accepted: readonly DesiredKey[];
  /** The keys that were removed. */
  readonly refused: readonly RemovedKey[];
  /** Keys among `accepted` that the name server must refuse in some zone. */
  readonly restricted?: readonly RestrictedKey[];
  /** `Driver.loadedKeys`, for keys that the name server denies to know. */
  readonly loadedKeys?: LoadedKeys | undefined;
  /** What earlier parts of the same verification have found. */
  readonly found?: Found;
}

type LoadedKeys = () => Promise<(key: DesiredKey) => boolean>;

/** What one part of a verification finds for the next. */
export interface Found extends Learned {
  /** The zone in which keys for all zones are tested. */
  zone?: string | undefined;
  /** Whether the name server refused unsigned requests. */
  isClosed?: boolean;
}

/** A key, and a right that it does not have in every zone. */
export interface RestrictedKey {
  readonly key: DesiredKey;
  readonly right: Right;
  /** The zones in which the key had the right before the pass, if this process knows them. */
  readonly former: Zones | undefined;
}

/** A key that was removed. */
export interface RemovedKey {
  readonly id: string;
  readonly name: string;
  /** The key with its former secret. Undefined if this process does not know the secret. */
  readonly former: DesiredKey | undefined;
}

/** The result of a verification. */
export interface Verdict {
  /** The keys that do not behave as expected, by id. */
  readonly failures: ReadonlyMap<string, Fault>;
  /** Set if the name server grants rights to unsigned requests. */
  readonly open: Fault | undefined;
}

/**
 * A function that verifies a name server with signed and unsigned requests. `zones` are the zones
 * of its pool. Stops to repeat unmet checks once `isInterrupted` returns true.
 */
export type Verify = (
  server: NameServer,
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
  server: NameServer,
  zones: readonly string[],
  { accepted: keys, restricted = [], loadedKeys }: Omit<VerifyPlan, 'refused'>,
  isInterrupted: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Verdict & { readonly verified: number }> {
  const failures = new Map<string, Fault>();
  // A change is verified with requests over TCP, as secondary servers send them.
  const found: Found = { serials: new Map(), prefersUdp: true };
  for (let start = 0; ; start += KEYS_AT_ONCE) {
    const part = keys.slice(start, start + KEYS_AT_ONCE);
    const began = performance.now();
    const plan = {
      accepted: part.map(withOneRight),
      refused: [],
      found,
      loadedKeys,
      restricted: restricted.filter(({ key }) => part.includes(key)),
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

/**
 * Checks that a name server refuses unsigned transfers and updates. `responds` is false if the name
 * server does not respond.
 */
export async function checkUnsigned(
  server: NameServer,
  zones: readonly string[],
): Promise<Requirement & { readonly responds: boolean }> {
  const requirement = 'The name server refuses unsigned transfers and updates.';
  const failed = (message: string, hint: string, responds = true) => ({
    ...unmet(requirement, { message, hint }),
    responds,
  });
  const address = parseDnsAddress(server.address);
  const zone = await probeZoneOf(server, address, zones);
  if (address === undefined || zone === undefined)
    return failed(
      'The pool has no zone for a test query.',
      'Set the member `probe_zone` of the name server.',
    );
  try {
    if (!(await serves({ server: address, zone })))
      return failed(`${notServed(server, zone)}.`, NOT_SERVED_HINT);
    const open = await findOpen(address, zone);
    if (open === undefined) return { requirement, ok: true, responds: true };
    return failed(
      `T${open.message.slice(1)}.`,
      'Configure the name server to refuse unsigned transfers and updates.',
    );
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    const problem = `The name server does not respond to queries: ${error.message}.`;
    return failed(problem, 'Check the member `address` of the name server.', false);
  }
}

const NOT_SERVED_HINT =
  'Set the member `probe_zone` of the name server to a zone that it serves, or configure the zone there.';

function notServed({ name }: NameServer, zone: string): string {
  return `${name} does not serve '${zone.replace(/\.$/, '')}.': set probe_zone`;
}

/**
 * Returns the zone in which to test keys that apply to all zones. Returns undefined if the pool has
 * no zone.
 */
async function probeZoneOf(
  { probe_zone: chosen }: NameServer,
  address: NameServerAddress | undefined,
  zones: readonly string[],
): Promise<string | undefined> {
  return chosen ?? (address === undefined ? zones[0] : await findServedZone(address, zones));
}

/**
 * Returns a failure with the rights that a name server grants to unsigned requests. Returns
 * undefined if it grants none.
 */
async function findOpen(address: NameServerAddress, zone: string): Promise<Fault | undefined> {
  const rights = await findOpenRights({ server: address, zone });
  return rights.length === 0 ? undefined : openIn(zone, rights);
}

/** Returns no rights for a name server that does not respond. Throws other errors. */
function noRights(error: unknown): readonly Right[] {
  if (error instanceof NetError) return [];
  throw error;
}

function openIn(zone: string, rights: readonly Right[]): Fault {
  const message = `the name server accepts unsigned requests for zone '${zone}': ${rights.join(', ')}`;
  return { code: 'open', message };
}

const NO_ZONE: Fault = {
  code: 'not_verified',
  message: 'the pool has no zone to test keys with. Set the probe_zone of the name server',
};

/** Verifies a name server with DNS requests over the network. */
export const verifyByQueries: Verify = async (server, zones, plan, signal, isInterrupted) => {
  const address = parseDnsAddress(server.address);
  const found: Found = plan.found ?? { serials: new Map() };
  const zone = (found.zone ??= await probeZoneOf(server, address, zones));
  const failures = new Map<string, Fault>();
  const expectations: Expectation[] = [];
  const unknownSecrets = new Set<string>();
  const { hidesUnlistedKeys } = findBrand(server.driver) ?? {};
  const probed = zone === undefined ? undefined : comparisonForm(zone);
  const zoneIn = (some: Zones) =>
    some === 'all' || (probed !== undefined && some.includes(probed)) ? zone : some[0];
  // A key that opens nothing must still be known: other lists and requesters may name it.
  const ofUnlisted: readonly Expectation['check'][] = hidesUnlistedKeys === true ? [] : ['query'];
  for (const key of plan.accepted) {
    const rights = rightsIn(key.access);
    const checks = rights.length > 0 ? rights : ofUnlisted;
    for (const check of checks) {
      const tested = zoneIn((check === 'query' ? undefined : key.access[check]) ?? 'all');
      if (tested === undefined) failures.set(key.id, NO_ZONE);
      else expectations.push({ key, check, zone: tested, accepted: true });
    }
  }
  for (const { id, name, former } of plan.refused) {
    if (former === undefined) unknownSecrets.add(id);
    const { access = {} } = former ?? {};
    const tested = zoneIn(access.transfer ?? access.update ?? 'all');
    const key = former ?? {
      id,
      name,
      algorithm: 'hmac-sha256',
      secret: randomBytes(32).toString('base64'),
    };
    if (tested !== undefined)
      expectations.push({ key, check: 'transfer', zone: tested, accepted: false });
  }
  const removed = new Set(plan.refused.map(({ id }) => id));
  let pool: Set<string> | undefined;
  const isInPool = (name: string) => (pool ??= new Set(zones)).has(name);
  await eachInSlices(newSlicer(), plan.restricted ?? [], ({ key, right, former }) => {
    const tested = zoneWithout(key, right, former, zones, isInPool);
    if (tested !== undefined)
      expectations.push({ key, check: right, zone: tested, accepted: false });
  });
  if (address === undefined) return { failures, open: undefined };
  const outcomes = await verifyExpectations(
    address,
    expectations,
    Date.now,
    signal,
    isInterrupted,
    found,
  );
  const refusal = refusalsOf(outcomes, plan, server);
  let open: Fault | undefined;
  const openRights = new Map<string, readonly Right[]>();
  const isUnmet = outcomes.some(({ expectation, met }) => expectation.accepted && !met);
  const isLost = isUnmet && zone !== undefined && (await isNotServed(address, zone));
  for (const { expectation, met, result } of outcomes) {
    const { id } = expectation.key;
    const stillKnown = unknownSecrets.has(id) && result.verdict === 'wrong secret';
    if (met && !stillKnown) continue;
    if (!expectation.accepted && !removed.has(id)) {
      const { check, zone: tested } = expectation;
      if (result.verdict === 'good' && check !== 'query') {
        // Where a server accepts unsigned requests, the key is not the reason.
        const rights =
          openRights.get(tested) ??
          (await findOpenRights({ server: address, zone: tested }).catch(noRights));
        openRights.set(tested, rights);
        if (rights.includes(check)) {
          open ??= openIn(tested, rights);
          continue;
        }
      }
      if (!failures.has(id)) failures.set(id, tooWide(expectation, result));
      continue;
    }
    const outcome = { expectation, met, result };
    const fault = faultIn(outcome);
    const explained = isLost && expectation.accepted && expectation.zone === zone;
    if (explained && fault.code === 'not_verified') {
      failures.set(id, { ...fault, message: notServed(server, zone) });
      continue;
    }
    const ofKey = await refusal(outcome, address);
    if (ofKey === undefined) failures.set(id, fault);
    else if (!failures.has(id)) failures.set(id, ofKey);
  }
  if (zone === undefined || open !== undefined || found.isClosed === true)
    return { failures, open };
  try {
    open = await findOpen(address, zone);
    found.isClosed = open === undefined;
    return { failures, open };
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    const failure = { code: 'unreachable', message: error.message };
    for (const { id } of [...plan.accepted, ...plan.refused])
      if (!failures.has(id)) failures.set(id, failure);
    return { failures, open: undefined };
  }
};

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

/** Returns the failure of a key that a name server accepts where the key must not have the right. */
function tooWide({ check, zone }: Expectation, { verdict, reason }: CheckResult): Fault {
  if (verdict === 'no response') return { code: 'unreachable', message: reason };
  if (verdict === 'clock skew') return { code: 'clock_skew', message: reason };
  if (verdict !== 'good') return { code: 'not_verified', message: reason };
  const does = check === 'update' ? 'update' : 'transfer';
  const message = `the key may ${does} the zone '${zone}' on the name server, although its grants do not permit it. Remove the key from the lists of this zone that Tsigil does not write`;
  return { code: 'too_wide', message };
}

/** Returns whether a name server responds, but not with the SOA record of a zone. */
async function isNotServed(server: NameServerAddress, zone: string): Promise<boolean> {
  return serves({ server, zone }).then(
    (found) => !found,
    () => false,
  );
}

function faultIn({ expectation, result }: Outcome): Fault {
  if (result.verdict === 'clock skew') return { code: 'clock_skew', message: result.reason };
  if (result.verdict === 'no response') return { code: 'unreachable', message: result.reason };
  return {
    code: 'not_verified',
    message: expectation.accepted ? result.reason : 'the name server still accepts the removed key',
  };
}

/** The verdicts on a key that the name server may know, but does not admit. */
const NOT_ADMITTED_VERDICTS: readonly CheckResult['verdict'][] = [
  'not authorised',
  'unknown key',
  'rejected',
];

/**
 * Returns a function that returns the fault of a key if only it is refused: the name server says
 * that it knows the key, has loaded it, or accepts keys of Tsigil for other requests, and serves the
 * zone.
 */
function refusalsOf(
  outcomes: readonly Outcome[],
  { accepted: keys, loadedKeys }: VerifyPlan,
  { driver }: NameServer,
): (outcome: Outcome, address: NameServerAddress) => Promise<Fault | undefined> {
  const wanted = outcomes.filter(({ expectation }) => expectation.accepted);
  const worksElsewhere = wanted.some(
    ({ expectation, met }) => met && expectation.check !== 'query',
  );
  const refusedChecks = new Map<string, Check[]>();
  for (const { expectation, met } of wanted)
    if (!met)
      refusedChecks.set(expectation.key.id, [
        ...(refusedChecks.get(expectation.key.id) ?? []),
        expectation.check,
      ]);
  const keysById = new Map(keys.map((key) => [key.id, key]));
  const none = () => false;
  let asked: ReturnType<LoadedKeys> | undefined;
  const isLoaded = async (key: DesiredKey) => {
    asked ??= loadedKeys?.().catch(() => none);
    return (await asked)?.(key) === true;
  };
  const missingZones = new Map<string, Promise<boolean>>();
  const isMissing = (address: NameServerAddress, zone: string) => {
    const found = missingZones.get(zone) ?? isNotServed(address, zone);
    missingZones.set(zone, found);
    return found;
  };
  return async ({ expectation, result: { verdict } }, address) => {
    const { check, zone, accepted } = expectation;
    const key = keysById.get(expectation.key.id);
    if (key === undefined || !accepted || check === 'query') return undefined;
    if (findBrand(driver)?.writesZones === true) return undefined;
    if (!NOT_ADMITTED_VERDICTS.includes(verdict)) return undefined;
    if (verdict !== 'not authorised' && !worksElsewhere)
      if (verdict !== 'unknown key' || !(await isLoaded(key))) return undefined;
    if (await isMissing(address, zone)) return undefined;
    return notAdmitted(key, check, zone, refusedChecks.get(key.id) ?? []);
  };
}

function notAdmitted(
  { name, access }: DesiredKey,
  right: Right,
  zone: string,
  refused: readonly Check[],
): Fault {
  const list = access[right] === 'all' ? listName(right) : listName(right, comparisonForm(zone));
  const rights = rightsIn(access).filter((each) => !refused.includes(each));
  const flags = rights.length === 0 ? '--none' : rights.map((each) => `--right ${each}`).join(' ');
  const message = `the name server does not let the key ${right} the zone '${zone}'. Write the list '${list}' into the configuration of the zone there, or limit the key: ${shellCommand('tsigil tsigkey grants', name, flags)}`;
  return { code: 'not_admitted', message };
}
