import { CLASSES, encodeMessage, FLAGS, OPCODES, rcodeOf, RCODES, TYPES, type Message, type ResourceRecord } from './message.ts';
import type { Verification } from './tsig.ts';

/** The requests that verify a key: an SOA query, a zone transfer, an update. */
export const CHECKS = ['query', 'transfer', 'update'] as const;
export type Check = (typeof CHECKS)[number];

/** Whether a name server accepts a key, and if not, why. */
export type Opinion =
  | 'good'
  | 'unknown key'
  | 'wrong secret'
  | 'wrong algorithm'
  | 'clock skew'
  | 'not authorised'
  | 'rejected'
  | 'not possible'
  | 'not to be trusted'
  | 'no answer';

/** The result of a check, with its reason and what to do next. */
export interface Verdict {
  readonly opinion: Opinion;
  readonly reason: string;
  readonly hint?: string;
  /** The response code of an unsigned response. */
  readonly unsignedRcode?: string;
}

/** What each check requests, worded to follow "asked to". */
const REQUESTS: Readonly<Record<Check, string>> = {
  query: 'answer a question about the zone',
  transfer: 'transfer the zone',
  update: 'update the zone',
};

/**
 * Returns the unsigned request of a check. The update deletes `label` below the zone on condition that it does not exist (RFC
 * 2136 sections 2.4.5 and 2.5.3), so it changes nothing. Servers check its authorisation as for any update. An empty update would
 * not do, because some servers accept it from everyone.
 */
export function checkRequest(check: Check, zone: string, id: number, label: string): Buffer {
  const empty = { answers: [], authorities: [], additionals: [] };
  if (check !== 'update') {
    const type = check === 'transfer' ? TYPES.axfr : TYPES.soa;
    return encodeMessage({ id, flags: 0, questions: [{ name: zone, type, class: CLASSES.in }], ...empty });
  }
  const name = zone === '.' ? `${label}.` : `${label}.${zone}`;
  const nothing: ResourceRecord = { name, type: TYPES.any, class: CLASSES.none, ttl: 0, data: Buffer.alloc(0) };
  return encodeMessage({
    id,
    flags: OPCODES.update << 11,
    questions: [{ name: zone, type: TYPES.soa, class: CLASSES.in }],
    ...empty,
    answers: [nothing],
    authorities: [{ ...nothing, class: CLASSES.any }],
  });
}

/** Returns whether a message is the response to the request with this id. */
export function isAnswerTo(id: number, message: Message): boolean {
  return message.id === id && (message.flags & FLAGS.response) !== 0;
}

/** Returns what a response, or the first message of one, says about the key. `now` is in seconds since 1970. */
export function judge(verification: Verification, check: Check, now: number): Verdict {
  const { outcome, tsig, message } = verification;
  const rcode = rcodeOf(message);
  if (tsig !== undefined && tsig.error !== 0) return judgeError(verification, now);
  if (outcome === 'unsigned') return judgeUnsigned(rcode, check);
  if (outcome === 'wrong signature' || outcome === 'other key') {
    return {
      opinion: 'not to be trusted',
      reason: `the answer (${rcode}) is signed, but not with this key`,
      hint: 'Something between you and the server may have changed it.',
    };
  }
  if (outcome === 'wrong time') return skew((tsig?.timeSigned ?? now) - now, 'by its signed answer');
  if (rcode === 'NOERROR') return { opinion: 'good', reason: 'the server accepts the key, and its answer is signed with it' };
  if (rcode === 'REFUSED' || rcode === 'NOTAUTH') return notAuthorised(rcode, check);
  return { opinion: 'not possible', reason: `the server accepts the key, but answers ${rcode} when asked to ${REQUESTS[check]}` };
}

function notAuthorised(rcode: string, check: Check): Verdict {
  return {
    opinion: 'not authorised',
    reason: `the server accepts the key, but does not ${REQUESTS[check]} for it (${rcode})`,
    hint: 'Name the key in the access list of the zone, and see that the server serves the zone.',
  };
}

/** Returns the verdict for the error in the TSIG record (RFC 8945 section 5.2). Errors about keys and signatures are never signed. */
function judgeError({ outcome, tsig }: Verification, now: number): Verdict {
  switch (RCODES[tsig?.error ?? 0]) {
    case 'BADKEY':
      return {
        opinion: 'unknown key',
        reason: 'the server does not know the key (BADKEY)',
        hint: 'Load the key into the server. Knot DNS says this also of a key that may not do what was asked.',
      };
    case 'BADSIG':
      return { opinion: 'wrong secret', reason: 'the server knows the key by another secret (BADSIG)', hint: 'Give both sides the same secret.' };
    case 'BADTIME': {
      const proof = outcome === 'good' ? 'and says so in a signed answer' : 'and says so in an answer that is not signed';
      return skew((tsig?.other.length === 6 ? tsig.other.readUIntBE(0, 6) : now) - now, `${proof} (BADTIME)`);
    }
    default:
      return { opinion: 'rejected', reason: `the server rejects the signature (${RCODES[tsig?.error ?? 0] ?? tsig?.error})` };
  }
}

function skew(seconds: number, proof: string): Verdict {
  const amount =
    seconds === 0
      ? "the server's clock differs from this one by more than it allows"
      : `the server's clock is ${Math.abs(seconds)} seconds ${seconds > 0 ? 'ahead of' : 'behind'} this one`;
  return { opinion: 'clock skew', reason: `${amount}, ${proof}`, hint: 'Set both clocks; TSIG allows 300 seconds as a rule.' };
}

function judgeUnsigned(rcode: string, check: Check): Verdict {
  if (rcode === 'NOERROR') {
    const hint = 'It may not know TSIG, or something in between removed the signature.';
    return { opinion: 'not to be trusted', reason: 'the server answered as if the request had not been signed', hint };
  }
  if (rcode === 'NOTAUTH') {
    const reason = 'the server rejects the key without saying why (NOTAUTH)';
    return { opinion: 'rejected', reason, hint: UNEXPLAINED, unsignedRcode: rcode };
  }
  const reason = `the server answers ${rcode} when asked to ${REQUESTS[check]}, and does not sign that: it says nothing about the key`;
  return { opinion: 'not possible', reason, hint: 'See that the server serves the zone and does what was asked at all.', unsignedRcode: rcode };
}

const UNEXPLAINED =
  'It may not know the key, know it by another secret, or have another time; PowerDNS tells its log alone. It may also not serve the zone.';

/**
 * Returns the final verdict on a transfer or an update. The response to either is often unsigned, and then says nothing about the
 * key. In that case the verdict on a signed query (`question`) explains it.
 */
export function explainBy(question: Verdict, verdict: Verdict, check: Check): Verdict {
  const { unsignedRcode } = verdict;
  if (unsignedRcode === undefined || check === 'query') return verdict;
  if (question.opinion === 'good') {
    if (unsignedRcode === 'NOTAUTH' || unsignedRcode === 'REFUSED') return notAuthorised(unsignedRcode, check);
    const reason = `the server accepts the key, but answers ${unsignedRcode} when asked to ${REQUESTS[check]}`;
    return { ...verdict, reason };
  }
  return ['unknown key', 'wrong secret', 'clock skew', 'rejected'].includes(question.opinion) ? question : verdict;
}
