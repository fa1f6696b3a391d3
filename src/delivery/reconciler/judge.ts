import { listName, type Right } from '../../access/rights.ts';
import { findBrand } from '../../brands/brands.ts';
import { rightsIn, type DesiredKey } from '../../brands/desired-state.ts';
import type { Check, CheckResult } from '../../dns/key-check.ts';
import type { Fault } from '../../core/fault.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { shellCommand } from '../../core/text/shell-word.ts';
import type { NameServer as NameServerAddress } from '../../net/dns.ts';
import { NetError } from '../../net/faults.ts';
import { findOpenRights, serves, type Expectation, type Outcome } from '../../net/probe.ts';
import { NOT_ADMITTED, TOO_WIDE } from './delivery-rows.ts';
import type { KeyPlan } from './expectations.ts';
import { notServed, openIn, type ProbedServer } from './unsigned.ts';

export type LoadedKeys = () => Promise<(key: DesiredKey) => boolean>;

/** Why a name server does not do with a key what it must. */
export interface Judgement {
  /** With the code `open`, the key is not the reason. */
  readonly fault: Fault;
  /** Whether another fault of the key says more. */
  readonly isMinor: boolean;
}

/** The returned function judges one outcome, and returns undefined if it is as expected. */
export function createJudge(
  server: ProbedServer,
  address: NameServerAddress,
  probeZone: string | undefined,
  plan: KeyPlan & { readonly loadedKeys?: LoadedKeys | undefined },
  outcomes: readonly Outcome[],
): (outcome: Outcome) => Promise<Judgement | undefined> {
  const removed = new Map(plan.removedKeys.map((key) => [key.id, key]));
  const isMissing = remembering((zone: string) => isNotServed(address, zone));
  const openRights = remembering((zone: string) =>
    findOpenRights({ server: address, zone }).catch(noRights),
  );
  const notAdmitted = findNotAdmitted(server, plan, outcomes);

  const judgeAccepted = async (outcome: Outcome): Promise<Judgement> => {
    const { zone } = outcome.expectation;
    const fault = faultIn(outcome);
    const isUnverified = fault.code === 'not_verified';
    if (isUnverified && zone === probeZone && (await isMissing(zone)))
      return { fault: { ...fault, message: notServed(server, zone) }, isMinor: false };
    const refusal = await notAdmitted(outcome);
    if (refusal === undefined || (await isMissing(zone))) return { fault, isMinor: false };
    return { fault: refusal, isMinor: true };
  };

  const judgeRestricted = async ({ expectation, result }: Outcome): Promise<Judgement> => {
    const { check, zone } = expectation;
    const isAccepted = result.verdict === 'good' && check !== 'query';
    const rights = isAccepted ? await openRights(zone) : [];
    // Where a server accepts unsigned requests, the key is not the reason.
    const isOpen = rights.some((right) => right === check);
    return { fault: isOpen ? openIn(zone, rights) : tooWide(expectation, result), isMinor: true };
  };

  return async (outcome) => {
    const { expectation, met, result } = outcome;
    const key = removed.get(expectation.key.id);
    if (expectation.accepted) return met ? undefined : judgeAccepted(outcome);
    if (key === undefined) return met ? undefined : judgeRestricted(outcome);
    // The secret of the request was a random one.
    const isStillKnown = key.former === undefined && result.verdict === 'wrong secret';
    return met && !isStillKnown ? undefined : { fault: faultIn(outcome), isMinor: false };
  };
}

/** Returns a function that calls `read` once for each zone. */
function remembering<T>(read: (zone: string) => Promise<T>): (zone: string) => Promise<T> {
  const results = new Map<string, Promise<T>>();
  return (zone) => {
    const result = results.get(zone) ?? read(zone);
    results.set(zone, result);
    return result;
  };
}

/** Returns no rights for a name server that does not respond. Throws other errors. */
function noRights(error: unknown): readonly Right[] {
  if (error instanceof NetError) return [];
  throw error;
}

/** Returns the failure of a key that a name server accepts where the key must not have the right. */
function tooWide({ check, zone }: Expectation, { verdict, reason }: CheckResult): Fault {
  if (verdict === 'no response') return { code: 'unreachable', message: reason };
  if (verdict === 'clock skew') return { code: 'clock_skew', message: reason };
  if (verdict !== 'good') return { code: 'not_verified', message: reason };
  const does = check === 'update' ? 'update' : 'transfer';
  const message = `the key may ${does} the zone '${zone}' on the name server, although its grants do not permit it. Remove the key from the lists of this zone that Tsigil does not write`;
  return { code: TOO_WIDE, message };
}

/** Returns whether a name server responds, but not with the SOA record of a zone. */
async function isNotServed(server: NameServerAddress, zone: string): Promise<boolean> {
  return serves({ server, zone }).then(
    (isServed) => !isServed,
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

/**
 * Returns a function that returns the fault of a key if only it is refused: the name server says
 * that it knows the key, has loaded it, or accepts keys of Tsigil for other requests.
 */
function findNotAdmitted(
  { driver }: ProbedServer,
  { acceptedKeys, loadedKeys }: KeyPlan & { readonly loadedKeys?: LoadedKeys | undefined },
  outcomes: readonly Outcome[],
): (outcome: Outcome) => Promise<Fault | undefined> {
  const required = outcomes.filter(({ expectation }) => expectation.accepted);
  const worksElsewhere = required.some(
    ({ expectation, met }) => met && expectation.check !== 'query',
  );
  const refusedChecks = new Map<string, Check[]>();
  for (const { expectation, met } of required) {
    const { key, check } = expectation;
    if (!met) refusedChecks.set(key.id, [...(refusedChecks.get(key.id) ?? []), check]);
  }
  const keys = new Map(acceptedKeys.map((key) => [key.id, key]));
  let loaded: ReturnType<LoadedKeys> | undefined;
  const isLoaded = async (key: DesiredKey) => {
    loaded ??= loadedKeys?.().catch(() => () => false);
    return (await loaded)?.(key) === true;
  };
  const isKnown = async (key: DesiredKey, verdict: CheckResult['verdict']) => {
    if (verdict === 'not authorised') return true;
    if (verdict === 'rejected') return worksElsewhere;
    return verdict === 'unknown key' && (worksElsewhere || (await isLoaded(key)));
  };
  return async ({ expectation: { key: tested, check, zone }, result: { verdict } }) => {
    const key = keys.get(tested.id);
    if (key === undefined || check === 'query') return undefined;
    if (findBrand(driver)?.writesZones === true) return undefined;
    if (!(await isKnown(key, verdict))) return undefined;
    return notAdmittedFault(key, check, zone, refusedChecks.get(key.id) ?? []);
  };
}

function notAdmittedFault(
  { name, access }: DesiredKey,
  right: Right,
  zone: string,
  refusedChecks: readonly Check[],
): Fault {
  const list = access[right] === 'all' ? listName(right) : listName(right, comparisonForm(zone));
  const rights = rightsIn(access).filter((each) => !refusedChecks.includes(each));
  const flags = rights.length === 0 ? '--none' : rights.map((each) => `--right ${each}`).join(' ');
  const message = `the name server does not let the key ${right} the zone '${zone}'. Write the list '${list}' into the configuration of the zone there, or limit the key: ${shellCommand('tsigil tsigkey grants', name, flags)}`;
  return { code: NOT_ADMITTED, message };
}
