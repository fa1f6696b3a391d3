import {
  CLASSES,
  encodeMessage,
  FLAGS,
  OPCODES,
  rcodeOf,
  RCODES,
  TYPES,
  type Message,
  type ResourceRecord,
} from './message.ts';
import type { Verification } from './tsig.ts';

/** The requests that verify a key: an SOA query, a zone transfer, or an update. */
export type Check = 'query' | 'transfer' | 'update';

export type Verdict =
  | 'good'
  | 'unknown key'
  | 'wrong secret'
  | 'wrong algorithm'
  | 'clock skew'
  | 'not authorised'
  | 'rejected'
  | 'not possible'
  | 'untrusted response'
  | 'no response';

export interface CheckResult {
  readonly verdict: Verdict;
  readonly reason: string;
  readonly hint?: string;
  /** The response code of an unsigned response. */
  readonly unsignedRcode?: string;
}

const REQUESTS: Readonly<Record<Check, string>> = {
  query: 'query the zone',
  transfer: 'transfer the zone',
  update: 'update the zone',
};

/**
 * Returns the unsigned request of a check. The update deletes the TXT records of the name `label`
 * below the zone if this name does not exist. The update therefore changes nothing (RFC 2136 sections
 * 2.4.5 and 2.5.2). Servers authorise this update like any other update. With `update-policy`, BIND
 * accepts an empty update, and one that deletes all records of such a name, from every key.
 */
export function checkRequest(check: Check, zone: string, id: number, label: string): Buffer {
  const empty = { answers: [], authorities: [], additionals: [] };
  if (check !== 'update') {
    const type = check === 'transfer' ? TYPES.axfr : TYPES.soa;
    return encodeMessage({
      id,
      flags: 0,
      questions: [{ name: zone, type, class: CLASSES.in }],
      ...empty,
    });
  }
  const name = zone === '.' ? `${label}.` : `${label}.${zone}`;
  const nothing: ResourceRecord = {
    name,
    type: TYPES.any,
    class: CLASSES.none,
    ttl: 0,
    data: Buffer.alloc(0),
  };
  return encodeMessage({
    id,
    flags: OPCODES.update << 11,
    questions: [{ name: zone, type: TYPES.soa, class: CLASSES.in }],
    ...empty,
    answers: [nothing],
    authorities: [{ ...nothing, type: TYPES.txt, class: CLASSES.any }],
  });
}

/**
 * Returns the unsigned IXFR request for a zone's changes since `serial` (RFC 1995 section 3). If
 * `serial` is the zone's current serial number, the response is one SOA record. Servers authorise
 * this request like any other transfer.
 */
export function changesRequest(zone: string, serial: number, id: number): Buffer {
  const numbers = Buffer.alloc(20); // the serial number and four intervals
  numbers.writeUInt32BE(serial, 0);
  const data = Buffer.concat([Buffer.alloc(2), numbers]); // MNAME and RNAME: the root
  const soa = { name: zone, type: TYPES.soa, class: CLASSES.in, ttl: 0, data };
  return encodeMessage({
    id,
    flags: 0,
    questions: [{ name: zone, type: TYPES.ixfr, class: CLASSES.in }],
    answers: [],
    authorities: [soa],
    additionals: [],
  });
}

/** Returns the serial number in the SOA record of a response (RFC 1035 section 3.3.13). */
export function serialOf({ answers }: Message): number | undefined {
  const data = answers.find(({ type }) => type === TYPES.soa)?.data;
  return data === undefined || data.length < 22 ? undefined : data.readUInt32BE(data.length - 20);
}

export function isResponseTo(id: number, message: Message): boolean {
  return message.id === id && (message.flags & FLAGS.response) !== 0;
}

/** Judges a response, or the first message of one. `now` is in seconds since 1970. */
export function judge(verification: Verification, check: Check, now: number): CheckResult {
  const { outcome, tsig, message } = verification;
  const rcode = rcodeOf(message);
  if (tsig !== undefined && tsig.error !== 0) return judgeError(verification, now);
  if (outcome === 'unsigned') return judgeUnsigned(rcode, check);
  if (outcome === 'wrong signature' || outcome === 'other key') {
    return {
      verdict: 'untrusted response',
      reason: `the response (${rcode}) has a signature that does not match this key`,
      hint: 'A device between this machine and the server may have changed the response.',
    };
  }
  if (outcome === 'wrong time')
    return skew((tsig?.timeSigned ?? now) - now, 'as its signed response shows');
  if (rcode === 'NOERROR')
    return {
      verdict: 'good',
      reason: 'the server accepts the key and signed its response with it',
    };
  if (rcode === 'REFUSED' || rcode === 'NOTAUTH') return notAuthorised(rcode, check);
  return {
    verdict: 'not possible',
    reason: `the server accepts the key, but returned ${rcode} to a request to ${REQUESTS[check]}`,
  };
}

function notAuthorised(rcode: string, check: Check): CheckResult {
  return {
    verdict: 'not authorised',
    reason: `the server accepts the key, but does not allow the key to ${REQUESTS[check]} (${rcode})`,
    hint: 'Add the key to the access list of the zone. Check that the server serves the zone.',
  };
}

/**
 * Returns the result for the error in the TSIG record (RFC 8945 section 5.2). Errors about keys and
 * signatures are never signed.
 */
function judgeError({ outcome, tsig }: Verification, now: number): CheckResult {
  switch (RCODES[tsig?.error ?? 0]) {
    case 'BADKEY':
      return {
        verdict: 'unknown key',
        reason: 'the server does not know the key (BADKEY)',
        hint: 'Load the key into the server. Knot DNS also reports BADKEY for a key that is not authorised for the request.',
      };
    case 'BADSIG':
      return {
        verdict: 'wrong secret',
        reason: 'the server has the key with another secret (BADSIG)',
        hint: 'Set the same secret on the server and in Tsigil.',
      };
    case 'BADTIME': {
      const proof =
        outcome === 'good' ? 'as its signed response shows' : 'as its unsigned response shows';
      return skew(
        (tsig?.other.length === 6 ? tsig.other.readUIntBE(0, 6) : now) - now,
        `${proof} (BADTIME)`,
      );
    }
    default:
      return {
        verdict: 'rejected',
        reason: `the server rejects the signature (${RCODES[tsig?.error ?? 0] ?? tsig?.error})`,
      };
  }
}

function skew(seconds: number, proof: string): CheckResult {
  const amount =
    seconds === 0
      ? "the server's clock differs from the local clock by more than the server allows"
      : `the server's clock is ${Math.abs(seconds)} seconds ${seconds > 0 ? 'ahead of' : 'behind'} the local clock`;
  return {
    verdict: 'clock skew',
    reason: `${amount}, ${proof}`,
    hint: 'Synchronise both clocks. By default, TSIG allows a difference of 300 seconds.',
  };
}

function judgeUnsigned(rcode: string, check: Check): CheckResult {
  if (rcode === 'NOERROR') {
    const hint =
      'The server may not support TSIG, or a device in between may have removed the signature.';
    return { verdict: 'untrusted response', reason: 'the response is not signed', hint };
  }
  if (rcode === 'NOTAUTH') {
    const reason = 'the server rejects the key without stating a reason (NOTAUTH)';
    return { verdict: 'rejected', reason, hint: UNEXPLAINED, unsignedRcode: rcode };
  }
  const reason = `the server returned an unsigned ${rcode} to a request to ${REQUESTS[check]}. The response does not show whether the server accepts the key`;
  return {
    verdict: 'not possible',
    reason,
    hint: 'Check that the server serves the zone and supports this kind of request.',
    unsignedRcode: rcode,
  };
}

const UNEXPLAINED =
  'Possible reasons: an unknown key, another secret, clock skew, or a zone that the server does not serve. PowerDNS logs the reason.';

/**
 * Servers often do not sign the response to a transfer or an update, which then does not show
 * whether they accept the key. A signed query (`queryResult`) explains such a response.
 */
export function explainBy(
  queryResult: CheckResult,
  result: CheckResult,
  check: Check,
): CheckResult {
  const { unsignedRcode } = result;
  if (unsignedRcode === undefined || check === 'query') return result;
  if (queryResult.verdict === 'good') {
    if (unsignedRcode === 'NOTAUTH' || unsignedRcode === 'REFUSED')
      return notAuthorised(unsignedRcode, check);
    const reason = `the server accepts the key, but returned ${unsignedRcode} to a request to ${REQUESTS[check]}`;
    return { ...result, reason };
  }
  return ['unknown key', 'wrong secret', 'clock skew', 'rejected'].includes(queryResult.verdict)
    ? queryResult
    : result;
}
