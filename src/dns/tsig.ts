import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Key } from './tsig-key.ts';
import {
  CLASSES,
  decodeMessage,
  encodeRecord,
  type Message,
  type PlacedRecord,
} from './message.ts';
import { findTsig, tsigRecord, uint16s, uint48, type Tsig } from './tsig-record.ts';
import { encodeName, foldedName, WireError } from './wire-name.ts';

/** A message with its TSIG record and its MAC. The signature of the response covers the MAC. */
interface SignedMessage {
  readonly octets: Buffer;
  readonly mac: Buffer;
}

interface SigningOptions {
  /** The time of the signature, in seconds since 1970. */
  readonly timeSigned: number;
  /** The permitted clock difference, in seconds. The default is 300 (RFC 8945 section 10). */
  readonly fudge?: number;
  /** For a response, the MAC of the request. In a stream, the MAC of the last signed message. */
  readonly priorMac?: Buffer;
  readonly error?: number;
  readonly other?: Buffer;
  /** The unsigned messages of a stream since `priorMac`. */
  readonly between?: Buffer;
  /** True if the MAC of a message covers only the time and the fudge (RFC 8945 section 5.3.1). */
  readonly later?: boolean;
}

export interface Verification {
  /**
   * `unsigned`: the message has no TSIG record, or an empty MAC, as in errors about keys. `wrong
   * time`: the signature is correct, but the time differs from `now` by more than the fudge. `other
   * key`: the key or the algorithm differs.
   */
  readonly outcome: 'good' | 'unsigned' | 'other key' | 'wrong signature' | 'wrong time';
  readonly message: Message<PlacedRecord>;
  readonly tsig: Tsig | undefined;
}

const NO_OCTETS = Buffer.alloc(0);
/** The maximum number of unsigned messages in a row in a stream (RFC 8945 section 5.3.1). */
const MAX_UNSIGNED = 99;

/** Returns the algorithm's name in DNS messages (RFC 8945 section 6). */
function wireName(algorithm: string): string {
  return algorithm === 'hmac-md5' ? 'hmac-md5.sig-alg.reg.int.' : `${algorithm}.`;
}

/** Signs the octets of a message (RFC 8945 section 5.1). Throws `WireError`. */
export function signMessage(octets: Buffer, key: Key, options: SigningOptions): SignedMessage {
  const {
    timeSigned,
    fudge = 300,
    priorMac,
    between = NO_OCTETS,
    error = 0,
    other = NO_OCTETS,
    later = false,
  } = options;
  const { id, additionals } = decodeMessage(octets);
  if (additionals.length === 0xffff)
    throw new WireError('The message has 65535 additional records, so it cannot be signed');
  const unsigned = {
    keyName: key.name,
    algorithm: wireName(key.algorithm),
    timeSigned,
    fudge,
    mac: NO_OCTETS,
    originalId: id,
    error,
    other,
  };
  const mac = computeMac(key, [
    ...prefixed(priorMac),
    between,
    octets,
    ...signedParts(unsigned, later),
  ]);
  const signed = Buffer.concat([octets, encodeRecord(tsigRecord({ ...unsigned, mac }))]);
  signed.writeUInt16BE(additionals.length + 1, 10);
  return { octets: signed, mac };
}

/**
 * Verifies a signature (RFC 8945 section 5.2). `requestMac` is set if the message is a response.
 * `now` is in seconds since 1970. Throws `WireError` for octets that are not a message.
 */
export function verifyMessage(
  octets: Buffer,
  key: Key,
  requestMac: Buffer | undefined,
  now: number,
): Verification {
  return check(octets, key, prefixed(requestMac), false, now);
}

/**
 * Returns a function that verifies the messages of a stream in order (RFC 8945 section 5.3.1). The
 * stream is the response to the request with `requestMac`. The first message must be signed. At
 * most 99 `unsigned` messages may follow a signed message, and the next signature covers them.
 */
export function createStreamVerifier(
  key: Key,
  requestMac: Buffer,
): (octets: Buffer, now: number) => Verification {
  let before = prefixed(requestMac);
  let later = false;
  let unsigned = 0;
  return (octets, now) => {
    const verification = check(octets, key, before, later, now);
    if (
      verification.outcome === 'unsigned' &&
      verification.tsig === undefined &&
      later &&
      unsigned < MAX_UNSIGNED
    ) {
      before = [...before, octets];
      unsigned += 1;
    } else if (verification.outcome === 'good' && verification.tsig !== undefined) {
      before = prefixed(verification.tsig.mac);
      later = true;
      unsigned = 0;
    }
    return verification;
  };
}

function check(
  octets: Buffer,
  key: Key,
  before: readonly Buffer[],
  later: boolean,
  now: number,
): Verification {
  const message = decodeMessage(octets);
  const found = findTsig(octets, message);
  if (found === undefined) return { outcome: 'unsigned', message, tsig: undefined };
  const { tsig, start } = found;
  const isOurs =
    foldedName(tsig.keyName) === foldedName(key.name) &&
    foldedName(tsig.algorithm) === wireName(key.algorithm);
  if (tsig.mac.length === 0) return { outcome: 'unsigned', message, tsig };
  if (!isOurs) return { outcome: 'other key', message, tsig };
  const signed = Buffer.from(octets.subarray(0, start));
  signed.writeUInt16BE(tsig.originalId, 0);
  signed.writeUInt16BE(message.additionals.length - 1, 10);
  const mac = computeMac(key, [...before, signed, ...signedParts(tsig, later)]);
  // Only a local policy could allow truncated MACs (RFC 8945 section 5.2.2.1).
  if (mac.length !== tsig.mac.length || !timingSafeEqual(mac, tsig.mac))
    return { outcome: 'wrong signature', message, tsig };
  return {
    outcome: Math.abs(now - tsig.timeSigned) <= tsig.fudge ? 'good' : 'wrong time',
    message,
    tsig,
  };
}

/** Returns the parts of a TSIG record that its MAC covers (RFC 8945 sections 4.3.3 and 5.3.1). */
function signedParts(tsig: Tsig, later: boolean): Buffer[] {
  const times = [uint48(tsig.timeSigned), uint16s(tsig.fudge)];
  if (later) return times;
  const names = [
    encodeName(foldedName(tsig.keyName)),
    uint16s(CLASSES.any),
    Buffer.alloc(4),
    encodeName(foldedName(tsig.algorithm)),
  ];
  return [...names, ...times, uint16s(tsig.error, tsig.other.length), tsig.other];
}

/** Returns a MAC, prefixed with its length. The MAC of the next message covers both. */
function prefixed(mac: Buffer | undefined): Buffer[] {
  return mac === undefined ? [] : [uint16s(mac.length), mac];
}

function computeMac({ algorithm, secret }: Key, parts: readonly Buffer[]): Buffer {
  const hmac = createHmac(algorithm.slice('hmac-'.length), Buffer.from(secret, 'base64'));
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}
