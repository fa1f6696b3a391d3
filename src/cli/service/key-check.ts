import { explainBy, type Check, type CheckResult } from '../../domain/dns/key-check.ts';
import { canonicalKey, type Key } from '../../domain/key-formats/key.ts';
import { ALGORITHMS } from '../../domain/resources/tsigkey.ts';
import type { DnsTimeouts, NameServer } from '../../net/dns.ts';
import { failureOf, sendSigned } from '../../net/signed-request.ts';

/** A check of whether `server` accepts `key` for one kind of request about `zone`. */
export interface KeyCheck {
  readonly key: Key;
  readonly server: NameServer;
  readonly zone: string;
  readonly check: Check;
}

const TIMEOUTS: DnsTimeouts = { tries: 3, seconds: 3 };

/**
 * Sends signed requests and returns whether the server accepts the key. `now` returns milliseconds
 * since 1970. Returns a verdict for every failure of a request instead of throwing.
 */
export async function checkKey(
  request: KeyCheck,
  now: () => number,
  timeouts = TIMEOUTS,
): Promise<CheckResult> {
  const { key } = request;
  try {
    const first = await send(request, now, timeouts);
    const needsQuery = request.check !== 'query' && first.unsignedRcode !== undefined;
    const result = needsQuery
      ? explainBy(await send({ ...request, check: 'query' }, now, timeouts), first, request.check)
      : first;
    if (!['unknown key', 'rejected', 'not authorised'].includes(result.verdict)) return result;
    const other = await findAlgorithm(request, result, now, timeouts);
    if (other === undefined) return result;
    const hint = 'Set the same algorithm on the server and in Tsigil.';
    return {
      verdict: 'wrong algorithm',
      reason: `the key has algorithm '${other}' on the server, and '${key.algorithm}' in Tsigil`,
      hint,
    };
  } catch (error) {
    return failureOf(error);
  }
}

/**
 * Returns the algorithm of the key on the server, or undefined if no other algorithm works. For a
 * wrong algorithm, a server may report that the key is unknown, rejected or (NSD) not authorised.
 * The function therefore tries each other algorithm.
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
    const other = await send({ ...request, key: { ...request.key, algorithm } }, now, timeouts);
    if (
      other.verdict === 'good' ||
      (verdict === 'unknown key' &&
        ['wrong secret', 'not authorised', 'clock skew'].includes(other.verdict))
    )
      return algorithm;
  }
  return undefined;
}

function send(
  { key, ...request }: KeyCheck,
  now: () => number,
  timeouts: DnsTimeouts,
): Promise<CheckResult> {
  const signingKey = { ...canonicalKey(key), secret: Buffer.from(key.secret, 'base64') };
  return sendSigned({ ...request, key: signingKey }, now, timeouts);
}
