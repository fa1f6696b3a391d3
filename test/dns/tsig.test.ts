import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLASSES, decodeMessage, encodeMessage, FLAGS, TYPES } from '../../src/dns/message.ts';
import { findTsig } from '../../src/dns/tsig-record.ts';
import { createStreamVerifier, signMessage, verifyMessage } from '../../src/dns/tsig.ts';
import { WireError } from '../../src/dns/wire-name.ts';
import { ALGORITHMS } from '../../src/dns/algorithms.ts';
import { keyNames } from '../harness/keys.ts';
import { VECTORS, type Vector } from './vectors.ts';

const hex = (text: string) => Buffer.from(text, 'hex');
const keyOf = ({ key }: Vector) => key;

/** Returns a signed message without its TSIG record: the octets that the signature covers. */
function unsign(octets: Buffer): Buffer {
  const message = decodeMessage(octets);
  const found = findTsig(octets, message);
  const unsigned = Buffer.from(octets.subarray(0, found?.start));
  unsigned.writeUInt16BE(message.additionals.length - 1, 10);
  return unsigned;
}

/**
 * Returns octets with the algorithm's name in lower case. Implementations may write either case,
 * and signMessage writes lower case.
 */
const inLowerCase = (octets: Buffer) =>
  octets.toString('latin1').replaceAll(/HMAC-MD5|SIG-ALG|REG|INT/g, (name) => name.toLowerCase());

const [ONE] = VECTORS as [Vector, ...Vector[]];
const QUERY = encodeMessage({
  id: 0x1234,
  flags: 0,
  questions: [{ name: 'example.com', type: TYPES.soa, class: CLASSES.in }],
  answers: [],
  authorities: [],
  additionals: [],
});

test('encodeMessage and signMessage produce the same query as other implementations', () => {
  expect(
    signMessage(QUERY, keyOf(ONE), { timeSigned: ONE.requestTime }).octets.toString('hex'),
  ).toBe(ONE.request);
});

describe.each(VECTORS)('$name', (vector) => {
  const key = keyOf(vector);
  const requestMac = hex(vector.requestMac);

  test('signs the request with the recorded signature', () => {
    const { octets, mac } = signMessage(unsign(hex(vector.request)), key, {
      timeSigned: vector.requestTime,
    });
    expect(mac.toString('hex')).toBe(vector.requestMac);
    expect(inLowerCase(octets)).toBe(inLowerCase(hex(vector.request)));
  });

  test('signs the responses with the recorded signatures', () => {
    let priorMac: Buffer = requestMac;
    for (const [index, { time, octets, mac, error, other }] of vector.answers.entries()) {
      const options = {
        timeSigned: time,
        priorMac,
        later: index > 0,
        error: error ?? 0,
        other: hex(other ?? ''),
      };
      const signed = signMessage(unsign(hex(octets)), key, options);
      expect(signed.mac.toString('hex')).toBe(mac);
      expect(inLowerCase(signed.octets)).toBe(inLowerCase(hex(octets)));
      priorMac = signed.mac;
    }
  });

  test('verifies the request and the responses', () => {
    expect(verifyMessage(hex(vector.request), key, undefined, vector.requestTime).outcome).toBe(
      'good',
    );
    const verify = createStreamVerifier(key, requestMac);
    for (const { time, octets, error, other } of vector.answers) {
      const { outcome, tsig } = verify(hex(octets), time);
      expect([outcome, tsig?.error, tsig?.other.toString('hex')]).toEqual([
        'good',
        error ?? 0,
        other ?? '',
      ]);
    }
  });

  test('refuses a message with any changed bit', () => {
    const [answer] = vector.answers;
    const octets = hex(answer?.octets ?? '');
    for (let bit = 0; bit < octets.length * 8; bit += 1) {
      const changed = Buffer.from(octets);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      let outcome: string;
      try {
        ({ outcome } = verifyMessage(changed, key, requestMac, answer?.time ?? 0));
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
        continue;
      }
      const caseBit =
        changed.toString('latin1').toLowerCase() === octets.toString('latin1').toLowerCase();
      const idBit = bit < 16; // the id in the header is not signed: the record has the original id
      if (outcome === 'good') expect(caseBit || idBit, `bit ${bit}`).toBe(true);
    }
  });

  test('refuses another secret, a missing request MAC, another request MAC and a time outside the fudge', () => {
    const [answer] = vector.answers;
    const octets = hex(answer?.octets ?? '');
    const time = answer?.time ?? 0;
    expect(
      verifyMessage(octets, { ...key, secret: 'YW5vdGhlcg==' }, requestMac, time).outcome,
    ).toBe('wrong signature');
    expect(verifyMessage(octets, key, undefined, time).outcome).toBe('wrong signature');
    expect(verifyMessage(octets, key, Buffer.alloc(0), time).outcome).toBe('wrong signature');
    expect(verifyMessage(octets, key, randomBytes(requestMac.length), time).outcome).toBe(
      'wrong signature',
    );
    for (const off of [-301, 301])
      expect(verifyMessage(octets, key, requestMac, time + off).outcome).toBe('wrong time');
    for (const off of [-300, 300])
      expect(verifyMessage(octets, key, requestMac, time + off).outcome).toBe('good');
  });

  test("reports another name or algorithm as 'other key', and a response without a TSIG record as 'unsigned'", () => {
    const octets = hex(vector.answers[0]?.octets ?? '');
    expect(verifyMessage(octets, { ...key, name: 'other.' }, requestMac, 0).outcome).toBe(
      'other key',
    );
    const algorithm = key.algorithm === 'hmac-sha256' ? 'hmac-sha512' : 'hmac-sha256';
    expect(verifyMessage(octets, { ...key, algorithm }, requestMac, 0).outcome).toBe('other key');
    expect(verifyMessage(unsign(octets), key, requestMac, 0).outcome).toBe('unsigned');
  });
});

describe('a TSIG record', () => {
  const key = keyOf(ONE);

  test('is an error unless it is the last record and the only TSIG record', () => {
    const signed = hex(ONE.request);
    const message = decodeMessage(signed);
    const [tsig] = message.additionals;
    if (tsig === undefined) throw new Error('The request is signed');
    const other = { name: '.', type: 41, class: 1232, ttl: 0, data: Buffer.alloc(0) };
    for (const records of [
      { additionals: [tsig, other] },
      { additionals: [tsig, tsig] },
      { additionals: [], answers: [tsig] },
      { additionals: [{ ...tsig, ttl: 1 }] },
      { additionals: [{ ...tsig, class: CLASSES.in }] },
      { additionals: [{ ...tsig, data: tsig.data.subarray(0, -1) }] },
      { additionals: [{ ...tsig, data: Buffer.concat([tsig.data, Buffer.of(0)]) }] },
    ]) {
      const octets = encodeMessage({ ...message, ...records });
      expect(() => verifyMessage(octets, key, undefined, ONE.requestTime)).toThrow(WireError);
    }
  });

  test('with an empty MAC makes the message unsigned', () => {
    const message = decodeMessage(hex(ONE.request));
    const { mac, ...tsig } = findTsig(hex(ONE.request), message)?.tsig ?? { mac: Buffer.alloc(0) };
    expect(mac).toHaveLength(32);
    expect(tsig).toMatchObject({
      keyName: 'key-one.example.',
      algorithm: 'hmac-sha256.',
      fudge: 300,
      error: 0,
      originalId: 0x1234,
    });
    const [record] = message.additionals;
    const start = Buffer.from(record?.data ?? []).indexOf(mac) - 2;
    const data = Buffer.concat([
      record?.data.subarray(0, start) ?? Buffer.alloc(0),
      Buffer.alloc(2),
      record?.data.subarray(start + 34) ?? Buffer.alloc(0),
    ]);
    const octets = encodeMessage({
      ...message,
      additionals: [
        { name: 'key-one.example', type: TYPES.tsig, class: CLASSES.any, ttl: 0, data },
      ],
    });
    expect(verifyMessage(octets, key, undefined, ONE.requestTime).outcome).toBe('unsigned');
  });

  test('with a truncated MAC has a wrong signature', () => {
    const message = decodeMessage(hex(ONE.request));
    const found = findTsig(hex(ONE.request), message);
    const [record] = message.additionals;
    if (found === undefined || record === undefined) throw new Error('The request is signed');
    const data = Buffer.from(
      record.data
        .toString('hex')
        .replace(`0020${ONE.requestMac}`, `0010${ONE.requestMac.slice(0, 32)}`),
      'hex',
    );
    expect(
      verifyMessage(
        encodeMessage({ ...message, additionals: [{ ...record, data }] }),
        key,
        undefined,
        ONE.requestTime,
      ).outcome,
    ).toBe('wrong signature');
  });
});

describe('message streams', () => {
  const key = keyOf(ONE);
  const requestMac = hex(ONE.requestMac);
  const part = (id: number) =>
    encodeMessage({ ...decodeMessage(QUERY), id, flags: FLAGS.response });

  /**
   * Signs and verifies a stream of `count` messages. `isSigned` selects the messages to sign.
   * Returns the outcome of each verification.
   */
  function outcomes(count: number, isSigned: (index: number) => boolean): string[] {
    const verify = createStreamVerifier(key, requestMac);
    let prior = Buffer.concat([]);
    return Array.from({ length: count }, (_, index) => {
      const octets = part(index);
      if (!isSigned(index)) {
        prior = Buffer.concat([prior, octets]);
        return verify(octets, 100).outcome;
      }
      const options =
        index === 0 ? { priorMac: requestMac } : { later: true, unsignedBefore: prior };
      const signed = signLater(octets, options);
      prior = Buffer.concat([Buffer.of(0, signed.mac.length), signed.mac]);
      return verify(signed.octets, 100).outcome;
    });
  }

  /**
   * Signs as a server does: the MAC covers the previous MAC and all unsigned messages since then.
   */
  function signLater(
    octets: Buffer,
    options: { priorMac?: Buffer; later?: boolean; unsignedBefore?: Buffer },
  ) {
    const { unsignedBefore, ...rest } = options;
    if (unsignedBefore === undefined) return signMessage(octets, key, { timeSigned: 100, ...rest });
    // `unsignedBefore` is the length of the prior MAC in two octets, the MAC, and the unsigned
    // messages.
    const length = unsignedBefore.readUInt16BE(0);
    return signMessage(octets, key, {
      timeSigned: 100,
      ...rest,
      priorMac: unsignedBefore.subarray(2, 2 + length),
      between: unsignedBefore.subarray(2 + length),
    });
  }

  test('can contain unsigned messages, and the next signature covers these messages', () => {
    expect(outcomes(7, (index) => index % 3 === 0)).toEqual([
      'good',
      'unsigned',
      'unsigned',
      'good',
      'unsigned',
      'unsigned',
      'good',
    ]);
  });

  test('can have at most 99 unsigned messages in a row', () => {
    expect(outcomes(101, (index) => index === 0 || index === 100).at(-1)).toBe('good');
    expect(outcomes(102, (index) => index === 0 || index === 101).at(-1)).toBe('wrong signature');
  });

  test('have a wrong signature after a changed, missing or inserted message', () => {
    const first = signMessage(part(0), key, { timeSigned: 100, priorMac: requestMac });
    const last = signMessage(part(2), key, {
      timeSigned: 100,
      priorMac: first.mac,
      later: true,
      between: part(1),
    });
    for (const between of [[], [part(9)], [part(1), part(1)]]) {
      const verify = createStreamVerifier(key, requestMac);
      const results = [first.octets, ...between, last.octets].map(
        (octets) => verify(octets, 100).outcome,
      );
      expect(results.at(-1)).toBe('wrong signature');
    }
  });
});

test('verifyMessage accepts every message that signMessage signed, with any name, secret, algorithm and time', () => {
  const keys = fc.record({
    name: keyNames,
    algorithm: fc.constantFrom(...Object.keys(ALGORITHMS)),
    secret: fc
      .uint8Array({ minLength: 1, maxLength: 300 })
      .map((octets) => Buffer.from(octets).toString('base64')),
  });
  fc.assert(
    fc.property(keys, fc.integer({ min: 0, max: 2 ** 48 - 1 }), (key, timeSigned) => {
      const { octets, mac } = signMessage(QUERY, key, { timeSigned });
      expect(verifyMessage(octets, key, undefined, timeSigned).outcome).toBe('good');
      const answer = signMessage(QUERY, key, { timeSigned, priorMac: mac });
      expect(verifyMessage(answer.octets, key, mac, timeSigned).outcome).toBe('good');
      expect(verifyMessage(answer.octets, key, undefined, timeSigned).outcome).toBe(
        'wrong signature',
      );
    }),
  );
});
