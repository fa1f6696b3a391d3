import { randomBytes, randomInt } from 'node:crypto';
import {
  checkRequest,
  isResponseTo,
  judge,
  type Check,
  type CheckResult,
} from '../domain/dns/key-check.ts';
import { decodeMessage, FLAGS, rcodeOf, TYPES } from '../domain/dns/message.ts';
import {
  createStreamVerifier,
  signMessage,
  verifyMessage,
  type SignedMessage,
  type SigningKey,
  type Verification,
} from '../domain/dns/tsig.ts';
import { WireError } from '../domain/dns/wire-name.ts';
import { queryOverTcp, queryOverUdp, type DnsTimeouts, type NameServer } from './dns.ts';
import { NetError } from './faults.ts';

/** A request about `zone`, signed with `key`, that shows whether `server` accepts the key. */
export interface SignedRequest {
  /**
   * The name of the key must be in lower case, because PowerDNS compares key names
   * case-sensitively.
   */
  readonly key: SigningKey;
  readonly server: NameServer;
  readonly zone: string;
  readonly check: Check;
}

const NOTHING_SENT = 'the server closed the connection without a response';

/**
 * Sends one signed request and evaluates the response. Throws `NetError` if there is no response,
 * and `WireError` if the response is malformed.
 */
export async function sendSigned(
  { key, server, zone, check }: SignedRequest,
  now: () => number,
  timeouts: DnsTimeouts,
): Promise<CheckResult> {
  const id = randomInt(0x1_0000);
  const seconds = () => Math.floor(now() / 1000);
  const octets = checkRequest(check, zone, id, `tsigil-${randomBytes(12).toString('hex')}`);
  if (check === 'transfer') {
    const signed = signMessage(octets, key, { timeSigned: seconds() });
    return transfer(server, id, signed, key, seconds, timeouts);
  }
  const verification = await requestSigned(server, octets, key, 'udp', now, timeouts);
  return judge(verification, check, seconds());
}

/**
 * Sends a request signed with `key`, and verifies the first message of the response. `octets` is
 * the unsigned request. Repeats the request over TCP if the response over UDP is truncated. Throws
 * `NetError` if there is no response, and `WireError` if the response is malformed.
 */
export async function requestSigned(
  server: NameServer,
  octets: Buffer,
  key: SigningKey,
  transport: 'udp' | 'tcp',
  now: () => number,
  timeouts: DnsTimeouts,
): Promise<Verification> {
  const seconds = () => Math.floor(now() / 1000);
  const signed = signMessage(octets, key, { timeSigned: seconds() });
  const response = await firstResponse(server, signed.octets, transport, timeouts);
  return verifyMessage(response, key, signed.mac, seconds());
}

/**
 * Sends a request and returns the first message of the response. Throws `NetError` if there is no
 * response, and `WireError` if the response is malformed.
 */
export async function firstResponse(
  server: NameServer,
  request: Buffer,
  transport: 'udp' | 'tcp',
  timeouts: DnsTimeouts,
): Promise<Buffer> {
  const id = request.readUInt16BE(0);
  if (transport === 'udp') {
    const isResponse = (octets: Buffer) => isReadableResponse(octets, id);
    const response = await queryOverUdp(server, request, isResponse, timeouts);
    if ((decodeMessage(response).flags & FLAGS.truncated) === 0) return response;
  }
  for await (const whole of queryOverTcp(server, request, timeouts)) return whole;
  throw new NetError({ reason: NOTHING_SENT });
}

/**
 * Returns the verdict for an error of `sendSigned` or `firstResponse`. Rethrows any other error.
 */
export function failureOf(error: unknown): CheckResult {
  if (error instanceof NetError)
    return {
      verdict: 'no response',
      reason: error.message,
      hint: 'Check the address and the port, and that the server listens there.',
    };
  if (error instanceof WireError)
    return {
      verdict: 'untrusted response',
      reason: `the response is not a valid DNS message: ${error.message}`,
    };
  throw error;
}

/**
 * Reads a whole zone transfer (RFC 5936 section 2.2) and checks each message. The zone's SOA record
 * begins and ends the transfer.
 */
async function transfer(
  server: NameServer,
  id: number,
  signed: SignedMessage,
  key: SigningKey,
  seconds: () => number,
  timeouts: DnsTimeouts,
): Promise<CheckResult> {
  const verify = createStreamVerifier(key, signed.mac);
  let records = 0;
  let starts = 0;
  for await (const octets of queryOverTcp(server, signed.octets, timeouts)) {
    const verification = verify(octets, seconds());
    const { message, outcome, tsig } = verification;
    if (!isResponseTo(id, message))
      throw new WireError('the message id belongs to another request');
    const isBetween =
      starts > 0 && outcome === 'unsigned' && tsig === undefined && rcodeOf(message) === 'NOERROR';
    const result = isBetween ? undefined : judge(verification, 'transfer', seconds());
    if (result !== undefined && result.verdict !== 'good') return result;
    starts += message.answers.filter(({ type }) => type === TYPES.soa).length;
    records += message.answers.length;
    if (starts === 0)
      return {
        verdict: 'not possible',
        reason: 'the zone transfer does not begin with an SOA record',
      };
    if (starts > 1 && !isBetween)
      return {
        verdict: 'good',
        reason: `the server sent the zone (${records - 1} records), signed with the key`,
      };
    if (starts > 1)
      return {
        verdict: 'untrusted response',
        reason: 'the last message of the zone transfer is not signed',
      };
  }
  throw new NetError({
    reason:
      starts === 0
        ? NOTHING_SENT
        : 'the server closed the connection before the end of the zone transfer',
  });
}

function isReadableResponse(octets: Buffer, id: number): boolean {
  try {
    return isResponseTo(id, decodeMessage(octets));
  } catch (error) {
    if (error instanceof WireError) return false; // any host can send a datagram to this port
    throw error;
  }
}
