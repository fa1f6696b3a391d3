import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ALGORITHM_NAMES } from '../dns/algorithms.ts';
import {
  changesRequest,
  explainBy,
  judge,
  serialOf,
  type Check,
  type CheckResult,
  type Verdict,
} from '../dns/key-check.ts';
import { decodeMessage, rcodeOf } from '../dns/message.ts';
import { signMessage, verifyMessage } from '../dns/tsig.ts';
import { WireError } from '../dns/wire-name.ts';
import type { Key } from '../dns/tsig-key.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import type { DnsTimeouts, NameServer, Request } from './dns.ts';
import { NetError } from './faults.ts';
import { firstResponse, requestFor, transfer, type ZoneTarget } from './probe-requests.ts';

/** Requests that show which keys a name server accepts. No request changes a zone. */

type Right = Exclude<Check, 'query'>;

/** What probes of a name server have learned for the next ones. */
export interface Learned {
  readonly serials: Map<string, number>;
  /**
   * True to request changes over UDP first (RFC 1995 section 2), which is cheaper. Becomes false once
   * the server has answered such a request only over TCP.
   */
  prefersUdp?: boolean;
}

export interface ProbeTarget extends ZoneTarget {
  /**
   * If set, a probe of a transfer asks for the changes since the serial number of the zone, so that
   * the response is one record. It first queries the number if it is not known. If absent, the probe
   * transfers the whole zone.
   */
  readonly learned?: Learned | undefined;
}

/** NSD loses single datagrams while it replaces its processes. */
const TIMEOUTS: DnsTimeouts = { tries: 4, seconds: 0.4 };

/**
 * Returns whether a name server accepts a key for a request about a zone, and if not, why. Does not
 * throw if the response is invalid or missing. `now` returns milliseconds since 1970.
 */
export async function probeKey(
  key: Key,
  check: Check,
  { server, zone, learned, ports }: ProbeTarget,
  now: () => number,
  timeouts: DnsTimeouts = TIMEOUTS,
): Promise<CheckResult> {
  // PowerDNS compares key names case-sensitively.
  const signingKey = { ...key, name: comparisonForm(key.name) };
  const seconds = () => Math.floor(now() / 1000);
  const send = async (octets: Buffer, kind: Check, transport: 'udp' | 'tcp') => {
    const signed = signMessage(octets, signingKey, { timeSigned: seconds() });
    const request: Request = { octets: signed.octets, key: signingKey.name, ports };
    const response = await firstResponse(server, request, transport, timeouts);
    const verification = verifyMessage(response, signingKey, signed.mac, seconds());
    request.isAccepted = verification.outcome === 'good';
    return { result: judge(verification, kind, seconds()), message: verification.message };
  };
  const query = () => send(requestFor('query', zone), 'query', 'udp');
  const changes = async (serial: number) => {
    const request = () => changesRequest(zone, serial, randomInt(0x1_0000));
    if (learned?.prefersUdp !== true) return send(request(), 'transfer', 'tcp');
    const found = await send(request(), 'transfer', 'udp').catch(unlessSilent);
    const isAnswer = found !== undefined && serialOf(found.message) !== undefined;
    if (isAnswer && found.result.verdict === 'good') return found;
    const whole = await send(request(), 'transfer', 'tcp');
    if (whole.result.verdict === 'good') learned.prefersUdp = false;
    return whole;
  };
  try {
    let queried: CheckResult | undefined;
    if (check === 'transfer' && learned?.serials.has(zone) === false) {
      const { result, message } = await query();
      const serial = serialOf(message);
      if (result.verdict !== 'good') return result;
      if (serial === undefined) return NO_SOA;
      learned.serials.set(zone, serial);
      queried = result;
    }
    const serial = learned?.serials.get(zone);
    const transferred = async () =>
      serial === undefined
        ? { result: await transfer({ server, zone, ports }, signingKey, seconds, timeouts) }
        : changes(serial);
    const { result } =
      check === 'transfer'
        ? await transferred()
        : await send(requestFor(check, zone), check, 'udp');
    if (check === 'query' || result.unsignedRcode === undefined) return result;
    return explainBy(queried ?? (await query()).result, result, check);
  } catch (error) {
    if (error instanceof NetError)
      return {
        verdict: 'no response',
        reason: error.message,
        hint: 'Check the address and the port, and that the server listens there.',
      };
    if (!(error instanceof WireError)) throw error;
    const reason = `the response is not a valid DNS message: ${error.message}`;
    return { verdict: 'untrusted response', reason };
  }
}

/** Returns undefined for a server that does not respond. Throws other errors. */
function unlessSilent(error: unknown): undefined {
  if (!(error instanceof NetError)) throw error;
}

const NO_SOA: CheckResult = {
  verdict: 'not possible',
  reason: 'the server accepts the key, but returned no SOA record of the zone',
  hint: 'Check that the server serves the zone.',
};

/**
 * Probes a key like `probeKey`, and finds out whether only its algorithm is wrong. For a wrong
 * algorithm, a server may report that the key is unknown, rejected or (NSD) not authorised, so the
 * function then tries each other algorithm.
 */
export async function diagnoseKey(
  key: Key,
  check: Check,
  target: ProbeTarget,
  now: () => number,
  timeouts: DnsTimeouts = { tries: 3, seconds: 3 },
): Promise<CheckResult> {
  const result = await probeKey(key, check, target, now, timeouts);
  if (!['unknown key', 'rejected', 'not authorised'].includes(result.verdict)) return result;
  const signs: readonly Verdict[] =
    result.verdict === 'unknown key'
      ? ['good', 'wrong secret', 'not authorised', 'clock skew']
      : ['good'];
  for (const algorithm of ALGORITHM_NAMES.filter((each) => each !== key.algorithm)) {
    const other = await probeKey({ ...key, algorithm }, check, target, now, timeouts);
    if (other.verdict === 'no response') return other;
    if (signs.includes(other.verdict))
      return {
        verdict: 'wrong algorithm',
        reason: `the key has algorithm '${algorithm}' on the server, and '${key.algorithm}' in Tsigil`,
        hint: 'Set the same algorithm on the server and in Tsigil.',
      };
  }
  return result;
}

export interface Expectation {
  readonly key: Key & { readonly id: string };
  readonly check: Check;
  readonly zone: string;
  /** True if the server must accept the key for the request, false if it must refuse the key. */
  readonly accepted: boolean;
}

export interface Outcome {
  readonly expectation: Expectation;
  readonly met: boolean;
  /** The last response. Its verdict is `clock skew` if the clocks differ. */
  readonly result: CheckResult;
}

const PAUSES_MS = [5, 10, 20, 40, 80, 160, 320, 640];
const RESET_PAUSE_MS = 100;
const CONCURRENCY = 8;
/** BIND sends ten transfers at a time, and refuses those of other clients beyond. */
const TRANSFERS = 3;

/** How long a server has to accept or refuse its keys before a waiting change interrupts retries. */
const UNINTERRUPTED_MS = 300;
const INTERRUPTION_CHECK_MS = 50;

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
 * checks the remaining expectations once. Does so too once `isInterrupted` returns true, at the
 * earliest after 300 ms. Ends early when `signal` aborts. `now` returns milliseconds since 1970.
 */
export async function verifyExpectations(
  server: NameServer,
  expectations: readonly Expectation[],
  now: () => number,
  signal: AbortSignal,
  isInterrupted: () => Promise<boolean> = () => Promise.resolve(false),
  learned: Learned = { serials: new Map() },
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const entries = [...expectations.entries()];
  const isTransfer = ([, { check }]: (typeof entries)[number]) => check === 'transfer';
  const transfers = entries.filter(isTransfer).values();
  const others = entries.filter((entry) => !isTransfer(entry)).values();
  let responses = 0;
  const silent: CheckResult[] = [];
  /** Whether the server has had time to accept or refuse all keys. */
  let hadTime = false;
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener('abort', end);
  const watch = async () => {
    let wait = UNINTERRUPTED_MS;
    do {
      await pause(wait, undefined, { signal: ending.signal });
      wait = INTERRUPTION_CHECK_MS;
    } while (!(await isInterrupted()));
    hadTime = true;
    end();
  };
  let watching: Promise<void> | undefined;
  const verifyOne = async (expectation: Expectation): Promise<Outcome> => {
    const { key, check, zone, accepted } = expectation;
    let isSilent = false;
    for (let attempt = 0; ; attempt += 1) {
      // The query for the serial number already shows that a server refuses a key.
      const target = { server, zone, learned: accepted ? learned : { serials: new Map() } };
      const result = await probeKey(key, check, target, now);
      const { verdict } = result;
      const met = accepted ? verdict === 'good' : REFUSALS.includes(verdict);
      const wait = PAUSES_MS[attempt];
      // NSD resets some connections while it replaces its processes, but not twice in a row.
      const isFinal = verdict === 'clock skew' || (verdict === 'no response' && isSilent);
      if (met || isFinal || wait === undefined || signal.aborted || hadTime)
        return { expectation, met, result };
      isSilent = verdict === 'no response';
      watching ??= watch().catch(() => undefined); // without an answer, the retries go on
      const ms = isSilent ? RESET_PAUSE_MS : wait;
      await pause(ms, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };
  const work = async (waiting: typeof transfers) => {
    for (const [index, expectation] of waiting) {
      // Otherwise a server that is down would take a second for each of a thousand keys.
      const [result] = responses === 0 && silent.length >= TRANSFERS ? silent : [];
      const outcome =
        result === undefined ? await verifyOne(expectation) : { expectation, met: false, result };
      outcomes[index] = outcome;
      if (!outcome.met) hadTime = true;
      if (outcome.result.verdict === 'no response') silent.push(outcome.result);
      else responses += 1;
    }
  };
  await Promise.all(
    Array.from({ length: CONCURRENCY }, (_, at) => work(at < TRANSFERS ? transfers : others)),
  );
  end();
  signal.removeEventListener('abort', end);
  await watching;
  return outcomes;
}

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
      if (await serves({ server, zone })) return zone;
    } catch (error) {
      if (error instanceof NetError) break; // the server does not respond
      throw error;
    }
  }
  return zones[0];
}

/**
 * Returns whether a name server responds to an unsigned query about a zone with its SOA record.
 * Throws `NetError` if the server does not respond.
 */
export function serves({ server, zone }: ProbeTarget): Promise<boolean> {
  return answers(server, 'query', zone, TIMEOUTS);
}

/**
 * Returns the rights that a name server grants to unsigned requests about a zone. A name server
 * that is configured correctly grants none. Throws `NetError` if the server does not respond.
 */
export async function findOpenRights(
  { server, zone }: ProbeTarget,
  timeouts = TIMEOUTS,
): Promise<readonly Right[]> {
  const open: Right[] = [];
  for (const right of ['transfer', 'update'] as const) {
    const isAccepted = () => answers(server, right, zone, timeouts);
    const isOpen = await isAccepted().catch(async (error: unknown) => {
      if (!(error instanceof NetError)) throw error;
      await pause(RESET_PAUSE_MS); // NSD resets some connections while it replaces its processes
      return isAccepted();
    });
    if (isOpen) open.push(right);
  }
  return open;
}

/**
 * Returns whether a name server performs an unsigned request about a zone. A server may also close
 * the connection of a transfer that it refuses. Throws `NetError` if it does not respond.
 */
async function answers(
  server: NameServer,
  check: Check,
  zone: string,
  timeouts: DnsTimeouts,
): Promise<boolean> {
  const transport = check === 'transfer' ? 'tcp' : 'udp';
  try {
    const request = { octets: requestFor(check, zone) };
    const message = decodeMessage(await firstResponse(server, request, transport, timeouts));
    return rcodeOf(message) === 'NOERROR' && (check === 'update' || message.answers.length > 0);
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
}
