import { randomBytes, randomInt } from 'node:crypto';
import {
  checkRequest,
  isResponseTo,
  judge,
  type Check,
  type CheckResult,
} from '../dns/key-check.ts';
import { decodeMessage, FLAGS, rcodeOf, TYPES } from '../dns/message.ts';
import { createStreamVerifier, signMessage } from '../dns/tsig.ts';
import { WireError } from '../dns/wire-name.ts';
import type { Key } from '../dns/tsig-key.ts';
import {
  queryOverTcp,
  queryOverUdp,
  type DnsTimeouts,
  type NameServer,
  type Request,
} from './dns.ts';
import { NetError } from './faults.ts';

export interface ZoneTarget {
  readonly server: NameServer;
  readonly zone: string;
  readonly ports?: readonly number[] | undefined;
}

/**
 * Reads a whole zone transfer (RFC 5936 section 2.2) and checks each message. The zone's SOA record
 * begins and ends the transfer.
 */
export async function transfer(
  { server, zone, ports }: ZoneTarget,
  key: Key,
  seconds: () => number,
  timeouts: DnsTimeouts,
): Promise<CheckResult> {
  const asked = requestFor('transfer', zone);
  const signed = signMessage(asked, key, { timeSigned: seconds() });
  const request: Request = { octets: signed.octets, key: key.name, ports };
  const verify = createStreamVerifier(key, signed.mac);
  let records = 0;
  let starts = 0;
  for await (const octets of queryOverTcp(server, request, timeouts)) {
    const verification = verify(octets, seconds());
    const { message, outcome, tsig } = verification;
    request.isAccepted ||= outcome === 'good';
    if (!isResponseTo(asked.readUInt16BE(0), message))
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
  throw new NetError(
    starts === 0
      ? NOTHING_SENT
      : 'the server closed the connection before the end of the zone transfer',
  );
}

const NOTHING_SENT = 'the server closed the connection without a response';

/** Sends a request and returns the first message of the response. Throws `NetError`. */
export async function firstResponse(
  server: NameServer,
  request: Request,
  transport: 'udp' | 'tcp',
  timeouts: DnsTimeouts,
): Promise<Buffer> {
  const id = request.octets.readUInt16BE(0);
  if (transport === 'udp') {
    let flags = 0;
    const isResponse = (octets: Buffer) => {
      try {
        const message = decodeMessage(octets);
        if (!isResponseTo(id, message)) return false;
        ({ flags } = message);
        return true;
      } catch (error) {
        if (error instanceof WireError) return false; // any host can send a datagram to this port
        throw error;
      }
    };
    const response = await queryOverUdp(server, request, isResponse, timeouts);
    if ((flags & FLAGS.truncated) === 0) return response;
  }
  for await (const whole of queryOverTcp(server, request, timeouts)) return whole;
  throw new NetError(NOTHING_SENT);
}

export function requestFor(check: Check, zone: string): Buffer {
  const label = `tsigil-${randomBytes(12).toString('hex')}`;
  return checkRequest(check, zone, randomInt(0x1_0000), label);
}
