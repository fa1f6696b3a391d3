import { decodeName, encodeName, WireError } from './wire-name.ts';

/** A question (RFC 1035 section 4.1.2), or the zone of an update (RFC 2136 section 2.3). */
interface Question {
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

/** A resource record (RFC 1035 section 4.1.3) with its data as octets. */
export interface ResourceRecord extends Question {
  readonly ttl: number;
  readonly data: Buffer;
}

/** A resource record of a decoded message, with its offsets in the message. */
export interface PlacedRecord extends ResourceRecord {
  readonly start: number;
  readonly dataStart: number;
}

/** A DNS message (RFC 1035 section 4.1): the header, and the four sections. */
export interface Message<R extends ResourceRecord = ResourceRecord> {
  readonly id: number;
  /** The second 16 bits of the header: `FLAGS`, the opcode and the response code. */
  readonly flags: number;
  readonly questions: readonly Question[];
  readonly answers: readonly R[];
  readonly authorities: readonly R[];
  readonly additionals: readonly R[];
}

/** Bits of `Message.flags`. */
export const FLAGS = { response: 0x8000, authoritative: 0x0400, truncated: 0x0200 } as const;
export const OPCODES = { query: 0, update: 5 } as const;
export const TYPES = { soa: 6, txt: 16, tsig: 250, ixfr: 251, axfr: 252, any: 255 } as const;
export const CLASSES = { in: 1, none: 254, any: 255 } as const;

/** Response codes (RFC 6895 section 2.3): below 16 in headers, and higher ones in TSIG records. */
export const RCODES: Readonly<Record<number, string>> = {
  0: 'NOERROR',
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  16: 'BADSIG',
  17: 'BADKEY',
  18: 'BADTIME',
  22: 'BADTRUNC',
};

const HEADER_OCTETS = 12;

export function rcodeOf({ flags }: Message): string {
  return RCODES[flags & 0xf] ?? String(flags & 0xf);
}

/** Returns the octets of a message, without name compression. Throws `WireError`. */
export function encodeMessage(message: Message): Buffer {
  const sections = [message.answers, message.authorities, message.additionals];
  const header = Buffer.alloc(HEADER_OCTETS);
  [
    message.id,
    message.flags,
    message.questions.length,
    ...sections.map(({ length }) => length),
  ].forEach((value, index) => {
    header.writeUInt16BE(value, index * 2);
  });
  return Buffer.concat([
    header,
    ...message.questions.map(encodeQuestion),
    ...sections.flat().map(encodeRecord),
  ]);
}

/** Returns the octets of a resource record. Throws `WireError`. */
export function encodeRecord(record: ResourceRecord): Buffer {
  if (record.data.length > 0xffff)
    throw new WireError('The data of a record must be at most 65535 octets');
  const rest = Buffer.alloc(6);
  rest.writeUInt32BE(record.ttl, 0);
  rest.writeUInt16BE(record.data.length, 4);
  return Buffer.concat([encodeQuestion(record), rest, record.data]);
}

function encodeQuestion({ name, type, class: recordClass }: Question): Buffer {
  const rest = Buffer.alloc(4);
  rest.writeUInt16BE(type, 0);
  rest.writeUInt16BE(recordClass, 2);
  return Buffer.concat([encodeName(name), rest]);
}

/** Decodes a message. Throws `WireError` if it is invalid, or if octets follow the message. */
export function decodeMessage(octets: Buffer): Message<PlacedRecord> {
  if (octets.length < HEADER_OCTETS) throw new WireError('The message is shorter than a header');
  const [id = 0, flags = 0, ...counts] = Array.from({ length: 6 }, (_, index) =>
    octets.readUInt16BE(index * 2),
  );
  const [questionCount = 0, ...recordCounts] = counts;
  let position = HEADER_OCTETS;
  const questions = Array.from({ length: questionCount }, () => {
    const { question, end } = decodeQuestion(octets, position);
    position = end;
    return question;
  });
  const [answers = [], authorities = [], additionals = []] = recordCounts.map((count) =>
    Array.from({ length: count }, () => {
      const record = decodeRecord(octets, position);
      position = record.dataStart + record.data.length;
      return record;
    }),
  );
  if (position !== octets.length) throw new WireError('The message is followed by further octets');
  return { id, flags, questions, answers, authorities, additionals };
}

function decodeQuestion(octets: Buffer, start: number): { question: Question; end: number } {
  const { name, end } = decodeName(octets, start);
  if (end + 4 > octets.length) throw new WireError('The message ends inside a question or record');
  return {
    question: { name, type: octets.readUInt16BE(end), class: octets.readUInt16BE(end + 2) },
    end: end + 4,
  };
}

function decodeRecord(octets: Buffer, start: number): PlacedRecord {
  const { question, end } = decodeQuestion(octets, start);
  if (end + 6 > octets.length) throw new WireError('The message ends inside a question or record');
  const dataStart = end + 6;
  const data = octets.subarray(dataStart, dataStart + octets.readUInt16BE(end + 4));
  if (data.length < octets.readUInt16BE(end + 4))
    throw new WireError('The message ends inside the data of a record');
  return { ...question, ttl: octets.readUInt32BE(end), data, start, dataStart };
}
