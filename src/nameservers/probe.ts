import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { DesiredKey, Right } from '../domain/delivery/desired-state.ts';
import {
  changesRequest,
  checkRequest,
  explainBy,
  judge,
  serialOf,
  type Check,
  type CheckResult,
  type Verdict,
} from '../domain/dns/key-check.ts';
import { decodeMessage, rcodeOf } from '../domain/dns/message.ts';
import { WireError } from '../domain/dns/wire-name.ts';
import { canonicalKey } from '../domain/key-formats/key.ts';
import type { DnsTimeouts, NameServer } from '../net/dns.ts';
import { NetError } from '../net/faults.ts';
import { failureOf, firstResponse, requestSigned } from '../net/signed-request.ts';

/** Requests that show which keys a name server accepts. No request changes a zone. */

/** A name server and a zone that it serves. */
export interface ProbeTarget {
  readonly server: NameServer;
  readonly zone: string;
  /**
   * The serial numbers of zones that earlier probes have read. With this map, a probe of a key that
   * the name server accepts takes one request. Without the map, or if that request fails, the probe
   * sends a query first.
   */
  readonly serials?: Map<string, number> | undefined;
}

/** The expected behaviour of a name server for a key. */
export interface Expectation {
  readonly key: Pick<DesiredKey, 'id' | 'name' | 'algorithm' | 'secret'>;
  readonly right: Right;
  readonly zone: string;
  /** True if the server must accept the key for the right, false if it must refuse the key. */
  readonly accepted: boolean;
}

/** The result of checking an expectation. */
export interface Outcome {
  readonly expectation: Expectation;
  readonly met: boolean;
  /** The last response. Its verdict is `clock skew` if the clocks differ. */
  readonly result: CheckResult;
}

/** NSD loses single datagrams while it replaces its processes. */
const TIMEOUTS: DnsTimeouts = { tries: 4, seconds: 0.4 };
/** The pauses between two requests for the same expectation, in milliseconds. */
const PAUSES_MS = [5, 10, 20, 40, 80, 160, 320, 640];
/** The pause before a request without a response is sent again, in milliseconds. */
const RESET_PAUSE_MS = 100;
const CONCURRENCY = 8;

/** The verdicts that show that a server refuses a key. */
const REFUSALS: readonly Verdict[] = [
  'unknown key',
  'wrong secret',
  'wrong algorithm',
  'not authorised',
  'rejected',
  'not possible',
];

/**
 * Checks each expectation, and repeats the check of an unmet expectation for about 1 s. NSD accepts
 * new keys a few milliseconds after it reports them. After the first expectation that stays unmet,
 * checks the remaining expectations once. Ends early when `signal` aborts. `now` returns
 * milliseconds since 1970.
 */
export async function verifyExpectations(
  server: NameServer,
  expectations: readonly Expectation[],
  now: () => number,
  signal: AbortSignal,
  timeouts: DnsTimeouts = TIMEOUTS,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = expectations.entries();
  const serials = new Map<string, number>();
  /** The number of responses so far, and the results without a response. */
  let responses = 0;
  const silent: CheckResult[] = [];
  /** Whether the server has had time to accept or refuse all keys. */
  let hadTime = false;
  const work = async () => {
    for (const [index, expectation] of waiting) {
      // Otherwise a server that is down would take a second for each of a thousand keys.
      const [result] = responses === 0 && silent.length >= CONCURRENCY ? silent : [];
      const outcome =
        result === undefined
          ? await verifyOne(server, expectation, serials, now, signal, timeouts, () => hadTime)
          : { expectation, met: false, result };
      outcomes[index] = outcome;
      if (!outcome.met) hadTime = true;
      if (outcome.result.verdict === 'no response') silent.push(outcome.result);
      else responses += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return outcomes;
}

async function verifyOne(
  server: NameServer,
  expectation: Expectation,
  serials: Map<string, number>,
  now: () => number,
  signal: AbortSignal,
  timeouts: DnsTimeouts,
  hadTime: () => boolean,
): Promise<Outcome> {
  const { key, right, zone, accepted } = expectation;
  const target = { server, zone, serials: accepted ? serials : undefined };
  for (let attempt = 0; ; attempt += 1) {
    const result = await probeKey(key, right, target, now, timeouts);
    const { verdict } = result;
    const met = accepted ? verdict === 'good' : REFUSALS.includes(verdict);
    const wait = PAUSES_MS[attempt];
    // NSD resets some connections while it replaces its processes, but not twice in a row.
    const isFinal = verdict === 'clock skew' || (verdict === 'no response' && attempt > 0);
    const isOver = isFinal || wait === undefined || signal.aborted || hadTime();
    if (met || isOver) return { expectation, met, result };
    await pause(wait, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Returns whether a name server accepts a key for a right, and if not, why. Checks a transfer with
 * an IXFR request from the current serial number. Checks an update with a request that changes
 * nothing. Does not throw if the response is invalid or missing.
 */
export async function probeKey(
  key: Expectation['key'],
  right: Right,
  { server, zone, serials }: ProbeTarget,
  now: () => number,
  timeouts: DnsTimeouts = TIMEOUTS,
): Promise<CheckResult> {
  const signingKey = { ...canonicalKey(key), secret: Buffer.from(key.secret, 'base64') };
  const send = async (octets: Buffer, check: Check, transport: 'udp' | 'tcp') => {
    const verification = await requestSigned(server, octets, signingKey, transport, now, timeouts);
    const result = judge(verification, check, Math.floor(now() / 1000));
    return { result, message: verification.message };
  };
  const attempt = (serial: number | undefined) => {
    if (right === 'update') return send(request('update', zone), 'update', 'udp');
    if (serial === undefined) return undefined;
    return send(changesRequest(zone, serial, randomInt(0x1_0000)), 'transfer', 'tcp');
  };
  try {
    const direct = serials === undefined ? undefined : await attempt(serials.get(zone));
    if (direct?.result.verdict === 'good') return direct.result;
    const query = await send(request('query', zone), 'query', 'udp');
    if (query.result.verdict !== 'good') return query.result;
    const serial = serialOf(query.message);
    if (serial !== undefined) serials?.set(zone, serial);
    const answer = await attempt(serial);
    if (answer !== undefined) return explainBy(query.result, answer.result, right);
    return {
      verdict: 'not possible',
      reason: 'the server accepts the key, but returned no SOA record of the zone',
      hint: 'Check that the server serves the zone.',
    };
  } catch (error) {
    return failureOf(error);
  }
}

/** The maximum number of zones that `findServedZone` queries. */
const ZONES_SEARCHED = 10;

/**
 * Returns a zone that a name server serves: the first of `zones`, or one of nine random zones. The
 * name server may not yet serve a zone that a project has created. Returns the first zone if the
 * name server serves none of these zones, and undefined if `zones` is empty.
 */
export async function findServedZone(
  server: NameServer,
  zones: readonly string[],
): Promise<string | undefined> {
  const left = [...zones];
  for (let tried = 0; tried < Math.min(zones.length, ZONES_SEARCHED); tried += 1) {
    const [zone = ''] = left.splice(tried === 0 ? 0 : randomInt(left.length), 1);
    try {
      const message = decodeMessage(
        await firstResponse(server, request('query', zone), 'udp', TIMEOUTS),
      );
      if (rcodeOf(message) === 'NOERROR' && message.answers.length > 0) return zone;
    } catch (error) {
      if (error instanceof NetError) break; // the server does not respond
      if (!(error instanceof WireError)) throw error;
    }
  }
  return zones[0];
}

/**
 * Returns the rights that a name server grants to unsigned requests about a zone. A name server
 * that is configured correctly grants none. Throws `NetError` if the server does not respond.
 */
export async function findOpenRights(
  { server, zone }: ProbeTarget,
  timeouts: DnsTimeouts = TIMEOUTS,
): Promise<readonly Right[]> {
  const send = (check: Check, transport: 'udp' | 'tcp') =>
    firstResponse(server, request(check, zone), transport, timeouts);
  const accepts = async (check: Check, transport: 'udp' | 'tcp') => {
    try {
      const response = await send(check, transport).catch(async (error: unknown) => {
        if (!(error instanceof NetError)) throw error;
        await pause(RESET_PAUSE_MS); // NSD resets some connections while it replaces its processes
        return send(check, transport);
      });
      const message = decodeMessage(response);
      if (rcodeOf(message) !== 'NOERROR') return false;
      return check === 'update' || message.answers.length > 0;
    } catch (error) {
      // A server may also close the connection of a transfer that it refuses.
      if (error instanceof WireError) return false;
      throw error;
    }
  };
  const open: Right[] = [];
  if (await accepts('transfer', 'tcp')) open.push('transfer');
  if (await accepts('update', 'udp')) open.push('update');
  return open;
}

function request(check: Check, zone: string): Buffer {
  const label = `tsigil-${randomBytes(12).toString('hex')}`;
  return checkRequest(check, zone, randomInt(0x1_0000), label);
}
