import { randomBytes, randomInt } from 'node:crypto';
import { checkRequest, explainBy, isAnswerTo, judge, type Check, type Verdict } from '../../domain/dns/key-check.ts';
import { decodeMessage, FLAGS, rcodeOf, TYPES } from '../../domain/dns/message.ts';
import { createStreamVerifier, signMessage, verifyMessage, type SignedMessage, type SigningKey } from '../../domain/dns/tsig.ts';
import { WireError } from '../../domain/dns/wire-name.ts';
import { canonicalKey, type Key } from '../../domain/key-formats/key.ts';
import { ALGORITHMS } from '../../domain/resources/tsigkey.ts';
import { queryOverTcp, queryOverUdp, type DnsTimeouts, type NameServer } from '../../net/dns.ts';
import { NetError } from '../../net/faults.ts';

/** What to check: whether `server` lets `key` do something with `zone`. */
export interface KeyCheck {
  readonly key: Key;
  readonly server: NameServer;
  readonly zone: string;
  readonly check: Check;
}

const TIMEOUTS: DnsTimeouts = { tries: 3, seconds: 3 };
const NOTHING_SENT = 'the server closed the connection without an answer';

/** What the server thinks of the key, found out by signed requests. `now` gives milliseconds since 1970. Never throws for what a server does. */
export async function checkKey(request: KeyCheck, now: () => number, timeouts = TIMEOUTS): Promise<Verdict> {
  const { key } = request;
  try {
    const first = await ask(request, now, timeouts);
    const needsQuestion = request.check !== 'query' && first.unsignedRcode !== undefined;
    const verdict = needsQuestion ? explainBy(await ask({ ...request, check: 'query' }, now, timeouts), first, request.check) : first;
    if (!['unknown key', 'rejected', 'not authorised'].includes(verdict.opinion)) return verdict;
    const other = await findAlgorithm(request, verdict, now, timeouts);
    if (other === undefined) return verdict;
    const hint = `Give both sides the same algorithm; here it is ${key.algorithm}.`;
    return { opinion: 'wrong algorithm', reason: `the server knows the key by the algorithm ${other}, not ${key.algorithm}`, hint };
  } catch (error) {
    if (error instanceof NetError)
      return { opinion: 'no answer', reason: error.message, hint: 'Is the address right, and does the server answer on it?' };
    if (error instanceof WireError) return { opinion: 'not to be trusted', reason: `what came back is no DNS message: ${error.message}` };
    throw error;
  }
}

/**
 * The algorithm by which the server does know the key. Some servers say of a wrong algorithm that the key is unknown or
 * rejected, and NSD that it may not do what was asked; so they are asked again with each of the others.
 */
async function findAlgorithm(request: KeyCheck, { opinion }: Verdict, now: () => number, timeouts: DnsTimeouts): Promise<string | undefined> {
  for (const algorithm of Object.keys(ALGORITHMS).filter((each) => each !== request.key.algorithm)) {
    const other = await ask({ ...request, key: { ...request.key, algorithm } }, now, timeouts);
    if (other.opinion === 'good' || (opinion === 'unknown key' && ['wrong secret', 'not authorised', 'clock skew'].includes(other.opinion)))
      return algorithm;
  }
  return undefined;
}

/** Sends one signed request and judges the answer. Throws `NetError`, `WireError`. */
async function ask({ key, server, zone, check }: KeyCheck, now: () => number, timeouts: DnsTimeouts): Promise<Verdict> {
  const id = randomInt(0x1_0000);
  const seconds = () => Math.floor(now() / 1000);
  // In lower case, as other programs send it: PowerDNS finds keys by the letters that are sent.
  const signingKey = { ...canonicalKey(key), secret: Buffer.from(key.secret, 'base64') };
  const octets = checkRequest(check, zone, id, `tsigil-${randomBytes(12).toString('hex')}`);
  const signed = signMessage(octets, signingKey, { timeSigned: seconds() });
  if (check === 'transfer') return transfer(server, id, signed, signingKey, seconds, timeouts);
  const answer = await queryOverUdp(server, signed.octets, (received) => isReadableAnswer(received, id), timeouts);
  if ((decodeMessage(answer).flags & FLAGS.truncated) === 0) return judge(verifyMessage(answer, signingKey, signed.mac, seconds()), check, seconds());
  for await (const whole of queryOverTcp(server, signed.octets, timeouts))
    return judge(verifyMessage(whole, signingKey, signed.mac, seconds()), check, seconds());
  throw new NetError({ reason: NOTHING_SENT });
}

/** Reads a whole transfer (RFC 5936 section 2.2), which the zone's SOA record begins and ends, and checks each message of it. */
async function transfer(
  server: NameServer,
  id: number,
  signed: SignedMessage,
  key: SigningKey,
  seconds: () => number,
  timeouts: DnsTimeouts,
): Promise<Verdict> {
  const verify = createStreamVerifier(key, signed.mac);
  let records = 0;
  let starts = 0;
  for await (const octets of queryOverTcp(server, signed.octets, timeouts)) {
    const verification = verify(octets, seconds());
    const { message, outcome, tsig } = verification;
    if (!isAnswerTo(id, message)) throw new WireError('it answers another request');
    const isBetween = starts > 0 && outcome === 'unsigned' && tsig === undefined && rcodeOf(message) === 'NOERROR';
    const verdict = isBetween ? undefined : judge(verification, 'transfer', seconds());
    if (verdict !== undefined && verdict.opinion !== 'good') return verdict;
    starts += message.answers.filter(({ type }) => type === TYPES.soa).length;
    records += message.answers.length;
    if (starts === 0) return { opinion: 'not possible', reason: 'the answer to the request for a transfer does not begin with a SOA record' };
    if (starts > 1 && !isBetween) return { opinion: 'good', reason: `the server sent the zone, ${records - 1} records, signed with the key` };
    if (starts > 1) return { opinion: 'not to be trusted', reason: 'the end of the transfer is not signed' };
  }
  throw new NetError({ reason: starts === 0 ? NOTHING_SENT : 'the transfer broke off' });
}

function isReadableAnswer(octets: Buffer, id: number): boolean {
  try {
    return isAnswerTo(id, decodeMessage(octets));
  } catch (error) {
    if (error instanceof WireError) return false; // anybody may send anything over UDP
    throw error;
  }
}
