import { randomBytes, randomInt } from 'node:crypto';
import {
  checkRequest,
  explainBy,
  isResponseTo,
  judge,
  type Check,
  type CheckResult,
} from '../../domain/dns/key-check.ts';
import { decodeMessage, FLAGS, rcodeOf, TYPES } from '../../domain/dns/message.ts';
import {
  createStreamVerifier,
  signMessage,
  verifyMessage,
  type SignedMessage,
  type SigningKey,
} from '../../domain/dns/tsig.ts';
import { WireError } from '../../domain/dns/wire-name.ts';
import { canonicalKey, type Key } from '../../domain/key-formats/key.ts';
import { ALGORITHMS } from '../../domain/resources/tsigkey.ts';
import { queryOverTcp, queryOverUdp, type DnsTimeouts, type NameServer } from '../../net/dns.ts';
import { NetError } from '../../net/faults.ts';

/** A check whether `server` accepts `key` for a kind of request about `zone`. */
export interface KeyCheck {
  readonly key: Key;
  readonly server: NameServer;
  readonly zone: string;
  readonly check: Check;
}

const TIMEOUTS: DnsTimeouts = { tries: 3, seconds: 3 };
const NOTHING_SENT = 'the server closed the connection without a response';

/**
 * Sends signed requests and returns whether the server accepts the key. `now` returns milliseconds
 * since 1970. No response causes an exception.
 */
export async function checkKey(
  request: KeyCheck,
  now: () => number,
  timeouts = TIMEOUTS,
): Promise<CheckResult> {
  const { key } = request;
  try {
    const first = await sendSigned(request, now, timeouts);
    const needsQuery = request.check !== 'query' && first.unsignedRcode !== undefined;
    const result = needsQuery
      ? explainBy(
          await sendSigned({ ...request, check: 'query' }, now, timeouts),
          first,
          request.check,
        )
      : first;
    if (!['unknown key', 'rejected', 'not authorised'].includes(result.verdict)) return result;
    const other = await findAlgorithm(request, result, now, timeouts);
    if (other === undefined) return result;
    const hint = 'Set the same algorithm on both sides.';
    return {
      verdict: 'wrong algorithm',
      reason: `the server has the key with algorithm '${other}', Tsigil with '${key.algorithm}'`,
      hint,
    };
  } catch (error) {
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
}

/**
 * Returns the algorithm with which the server has the key, or undefined if none of the others
 * works. For a wrong algorithm, some servers report that the key is unknown or rejected. NSD
 * reports that it is not authorised. So each other algorithm is tried.
 */
async function findAlgorithm(
  request: KeyCheck,
  { verdict }: CheckResult,
  now: () => number,
  timeouts: DnsTimeouts,
): Promise<string | undefined> {
  for (const algorithm of Object.keys(ALGORITHMS).filter(
    (each) => each !== request.key.algorithm,
  )) {
    const other = await sendSigned(
      { ...request, key: { ...request.key, algorithm } },
      now,
      timeouts,
    );
    if (
      other.verdict === 'good' ||
      (verdict === 'unknown key' &&
        ['wrong secret', 'not authorised', 'clock skew'].includes(other.verdict))
    )
      return algorithm;
  }
  return undefined;
}

/** Sends one signed request and evaluates the response. Throws `NetError`, `WireError`. */
async function sendSigned(
  { key, server, zone, check }: KeyCheck,
  now: () => number,
  timeouts: DnsTimeouts,
): Promise<CheckResult> {
  const id = randomInt(0x1_0000);
  const seconds = () => Math.floor(now() / 1000);
  // In lower case, as other programs send it: PowerDNS compares key names case-sensitively.
  const signingKey = { ...canonicalKey(key), secret: Buffer.from(key.secret, 'base64') };
  const octets = checkRequest(check, zone, id, `tsigil-${randomBytes(12).toString('hex')}`);
  const signed = signMessage(octets, signingKey, { timeSigned: seconds() });
  if (check === 'transfer') return transfer(server, id, signed, signingKey, seconds, timeouts);
  const response = await queryOverUdp(
    server,
    signed.octets,
    (received) => isReadableResponse(received, id),
    timeouts,
  );
  if ((decodeMessage(response).flags & FLAGS.truncated) === 0)
    return judge(verifyMessage(response, signingKey, signed.mac, seconds()), check, seconds());
  for await (const whole of queryOverTcp(server, signed.octets, timeouts))
    return judge(verifyMessage(whole, signingKey, signed.mac, seconds()), check, seconds());
  throw new NetError({ reason: NOTHING_SENT });
}

/**
 * Reads a whole zone transfer (RFC 5936 section 2.2) and checks each message. The zone's SOA record
 * begins and ends it.
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
    if (!isResponseTo(id, message)) throw new WireError('its id belongs to another request');
    const isBetween =
      starts > 0 && outcome === 'unsigned' && tsig === undefined && rcodeOf(message) === 'NOERROR';
    const result = isBetween ? undefined : judge(verification, 'transfer', seconds());
    if (result !== undefined && result.verdict !== 'good') return result;
    starts += message.answers.filter(({ type }) => type === TYPES.soa).length;
    records += message.answers.length;
    if (starts === 0)
      return {
        verdict: 'not possible',
        reason: 'the zone transfer does not begin with a SOA record',
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
