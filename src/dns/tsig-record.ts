import { CLASSES, TYPES, type Message, type PlacedRecord, type ResourceRecord } from './message.ts';
import { decodeName, encodeName, WireError } from './wire-name.ts';

/** The content of a TSIG record (RFC 8945 section 4.2). */
export interface Tsig {
  readonly keyName: string;
  /** The algorithm as a domain name: `hmac-sha256.`. */
  readonly algorithm: string;
  /** The time of the signature, in seconds since 1970. */
  readonly timeSigned: number;
  /** The permitted clock difference, in seconds. */
  readonly fudge: number;
  readonly mac: Buffer;
  readonly originalId: number;
  /** 0, or a code of at least 16 from `RCODES`. */
  readonly error: number;
  /** For the error BADTIME, the server's time: seconds since 1970, in 48 bits. */
  readonly other: Buffer;
}

export function uint48(value: number): Buffer {
  const octets = Buffer.alloc(6);
  octets.writeUIntBE(value, 0, 6);
  return octets;
}

export function uint16s(...values: readonly number[]): Buffer {
  const octets = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => octets.writeUInt16BE(value, index * 2));
  return octets;
}

/** Returns the resource record for `tsig`. Throws `WireError`. */
export function tsigRecord(tsig: Tsig): ResourceRecord {
  const { keyName, algorithm, timeSigned, fudge, mac, originalId, error, other } = tsig;
  const data = [
    encodeName(algorithm),
    uint48(timeSigned),
    uint16s(fudge, mac.length),
    mac,
    uint16s(originalId, error, other.length),
    other,
  ];
  return { name: keyName, type: TYPES.tsig, class: CLASSES.any, ttl: 0, data: Buffer.concat(data) };
}

/** Throws `WireError` if a TSIG record is not the only and last one (RFC 8945 section 5.1). */
export function findTsig(
  octets: Buffer,
  message: Message<PlacedRecord>,
): { tsig: Tsig; start: number } | undefined {
  const isTsig = ({ type }: ResourceRecord) => type === TYPES.tsig;
  const last = message.additionals.at(-1);
  const found = [...message.answers, ...message.authorities, ...message.additionals].filter(isTsig);
  if (found.length === 0) return undefined;
  if (found.length > 1 || last === undefined || !isTsig(last))
    throw new WireError('A message can have only one TSIG record, which must be its last record');
  if (last.class !== CLASSES.any || last.ttl !== 0)
    throw new WireError('A TSIG record has the class ANY and the TTL 0');
  return { tsig: decodeTsig(octets, last), start: last.start };
}

function decodeTsig(octets: Buffer, { name, data, dataStart }: PlacedRecord): Tsig {
  const dataEnd = dataStart + data.length;
  const { name: algorithm, end } = decodeName(octets, dataStart);
  const macStart = end + 10;
  if (macStart > dataEnd) throw tooShort();
  const macEnd = macStart + octets.readUInt16BE(end + 8);
  const otherStart = macEnd + 6;
  if (otherStart > dataEnd) throw tooShort();
  if (otherStart + octets.readUInt16BE(macEnd + 4) !== dataEnd) throw tooShort();
  return {
    keyName: name,
    algorithm,
    timeSigned: octets.readUIntBE(end, 6),
    fudge: octets.readUInt16BE(end + 6),
    mac: octets.subarray(macStart, macEnd),
    originalId: octets.readUInt16BE(macEnd),
    error: octets.readUInt16BE(macEnd + 2),
    other: octets.subarray(otherStart, dataEnd),
  };
}

function tooShort(): WireError {
  return new WireError('The length of a TSIG record does not match its fields');
}
