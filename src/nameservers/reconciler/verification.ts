import { randomBytes } from 'node:crypto';
import type { DesiredKey } from '../../domain/delivery/desired-state.ts';
import type { Failure } from '../../domain/delivery/ports.ts';
import type { NameServer } from '../../domain/resources/name-server.ts';
import { parseDnsAddress } from '../../domain/text/dns-address.ts';
import { NetError } from '../../net/faults.ts';
import { findOpenRights, verifyExpectations, type Expectation, type Outcome } from '../probe.ts';

/** What a name server is expected to do. */
export interface VerifyPlan {
  readonly accepted: readonly DesiredKey[];
  /** Keys that were removed, with their former secret if this process knows it. */
  readonly refused: readonly RemovedKey[];
}

/** A key that was removed. */
export interface RemovedKey {
  readonly id: string;
  readonly name: string;
  readonly former: DesiredKey | undefined;
}

/** What a name server does. */
export interface Verdict {
  /** The keys that do not behave as expected, by id. */
  readonly failures: ReadonlyMap<string, Failure>;
  /** Set if the name server grants rights to unsigned requests. */
  readonly open: Failure | undefined;
}

/** Verifies a name server with signed and unsigned requests. `zones` are those of its pool. */
export type Verify = (
  server: NameServer,
  zones: readonly string[],
  plan: VerifyPlan,
  signal: AbortSignal,
) => Promise<Verdict>;

const NO_ZONE: Failure = {
  code: 'not_verified',
  message: 'the pool has no zone to test keys with. Set the probe_zone of the name server',
};

/** Verifies a name server over the network. */
export const verifyByQueries: Verify = async (server, zones, plan, signal) => {
  const address = parseDnsAddress(server.address);
  const zone = server.probe_zone ?? zones[0];
  const failures = new Map<string, Failure>();
  const expectations: Expectation[] = [];
  const unknownSecrets = new Set<string>();
  for (const key of plan.accepted) {
    const tested = key.zones === 'all' ? zone : key.zones[0];
    if (tested === undefined) failures.set(key.id, NO_ZONE);
    else
      for (const right of key.rights)
        expectations.push({ key, right, zone: tested, accepted: true });
  }
  for (const { id, name, former } of plan.refused) {
    if (former === undefined) unknownSecrets.add(id);
    const tested = former === undefined || former.zones === 'all' ? zone : former.zones[0];
    const key = former ?? {
      ...{ id, name, algorithm: 'hmac-sha256' },
      secret: randomBytes(32).toString('base64'),
    };
    if (tested !== undefined)
      expectations.push({ key, right: 'transfer', zone: tested, accepted: false });
  }
  if (address === undefined) return { failures, open: undefined };
  const outcomes = await verifyExpectations(address, expectations, Date.now, signal);
  for (const { expectation, met, result } of outcomes) {
    const { id } = expectation.key;
    const stillKnown = unknownSecrets.has(id) && result.verdict === 'wrong secret';
    if (!met || stillKnown) failures.set(id, failureOf({ expectation, met, result }));
  }
  if (zone === undefined) return { failures, open: undefined };
  try {
    const rights = await findOpenRights({ server: address, zone });
    if (rights.length === 0) return { failures, open: undefined };
    const message = `the name server accepts unsigned requests for zone '${zone}': ${rights.join(', ')}`;
    return { failures, open: { code: 'open', message } };
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    const failure = { code: 'unreachable', message: error.message };
    for (const { id } of [...plan.accepted, ...plan.refused])
      if (!failures.has(id)) failures.set(id, failure);
    return { failures, open: undefined };
  }
};

function failureOf({ expectation, result }: Outcome): Failure {
  if (result.verdict === 'clock skew') return { code: 'clock_skew', message: result.reason };
  if (result.verdict === 'no response') return { code: 'unreachable', message: result.reason };
  return {
    code: 'not_verified',
    message: expectation.accepted ? result.reason : 'the name server still accepts the removed key',
  };
}
