import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeMessage, encodeMessage, rcodeOf, type Message } from '../../src/dns/message.ts';
import { findTsig } from '../../src/dns/tsig-record.ts';
import { createStreamVerifier, verifyMessage } from '../../src/dns/tsig.ts';
import { decodeName, encodeName, foldedName, WireError } from '../../src/dns/wire-name.ts';
import { VECTORS } from './vectors.ts';
import { randomCases } from '../harness/sizes.ts';

const name = fc
  .array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 5 })
  .filter((labels) => labels.reduce((sum, { length }) => sum + length + 1, 1) <= 255)
  .map(
    (labels) =>
      decodeName(
        Buffer.concat([
          ...labels.flatMap((label) => [Buffer.of(label.length), label]),
          Buffer.of(0),
        ]),
        0,
      ).name,
  );
const u16 = fc.integer({ min: 0, max: 0xffff });
const question = fc.record({ name, type: u16, class: u16 });
const record = fc.record({
  name,
  type: u16,
  class: u16,
  ttl: fc.integer({ min: 0, max: 0xffffffff }),
  data: fc.uint8Array({ maxLength: 40 }).map((data) => Buffer.from(data)),
});
const message: fc.Arbitrary<Message> = fc.record({
  id: u16,
  flags: u16,
  questions: fc.array(question, { maxLength: 3 }),
  answers: fc.array(record, { maxLength: 3 }),
  authorities: fc.array(record, { maxLength: 3 }),
  additionals: fc.array(record, { maxLength: 3 }),
});

describe('encodeName and decodeName', () => {
  test.each([
    ['.', '00'],
    ['', '00'],
    ['a.', '016100'],
    ['A.b', '0141016200'],
    ['a\\.b.', '03612e6200'],
    ['\\000\\255.', '0200ff00'],
    ['\\\\.', '015c00'],
  ])('encodes the name %j as %s', (text, octets) => {
    expect(encodeName(text).toString('hex')).toBe(octets);
    expect(encodeName(decodeName(Buffer.from(octets, 'hex'), 0).name).toString('hex')).toBe(octets);
  });

  test.each([
    'a..b',
    '.a',
    'l'.repeat(64),
    `${'l'.repeat(63)}.`.repeat(4),
    '\\256.',
    'é'.repeat(32),
  ])('throws WireError for the invalid name %j', (text) => {
    expect(() => encodeName(text)).toThrow(WireError);
  });

  test('encodes names of up to 255 octets', () => {
    const longest = [63, 63, 63, 61].map((length) => 'l'.repeat(length)).join('.');
    expect(encodeName(longest)).toHaveLength(255);
    expect(() => encodeName(`${longest}l`)).toThrow(WireError);
  });

  test('foldedName converts only ASCII letters to lower case', () => {
    expect(foldedName('ExAmPlE.Com')).toBe('example.com.');
    expect(foldedName('\\195\\137')).toBe('\\195\\137.');
  });

  test('decodes compression pointers only if each pointer points further back', () => {
    const octets = Buffer.from('0161000162c000c003c00bc00d', 'hex');
    expect(decodeName(octets, 3)).toEqual({ name: 'b.a.', end: 7 });
    expect(decodeName(octets, 7)).toEqual({ name: 'b.a.', end: 9 });
    for (const offset of [9, 11])
      expect(() => decodeName(octets, offset)).toThrow('must point backwards');
    expect(() => decodeName(Buffer.from('40', 'hex'), 0)).toThrow('unknown type');
    expect(() => decodeName(Buffer.from('0161', 'hex'), 0)).toThrow('ends inside a name');
  });

  test('refuses a compressed name of more than 255 octets', () => {
    const label = Buffer.concat([Buffer.of(63), Buffer.alloc(63, 0x61)]);
    const octets = Buffer.concat([label, label, label, Buffer.of(0), label, Buffer.of(0xc0, 0)]);
    expect(() => decodeName(octets, 193)).toThrow('255 octets');
  });
});

test('decodeMessage returns every encoded message unchanged', () => {
  fc.assert(
    fc.property(message, (original) => {
      const { answers, authorities, additionals, ...rest } = decodeMessage(encodeMessage(original));
      const bare = [answers, authorities, additionals].map((section) =>
        section.map(({ name, type, class: recordClass, ttl, data }) => ({
          name,
          type,
          class: recordClass,
          ttl,
          data,
        })),
      );
      expect({ ...rest, answers: bare[0], authorities: bare[1], additionals: bare[2] }).toEqual(
        original,
      );
    }),
  );
});

test('rcodeOf returns the names of response codes', () => {
  const codes = [0, 5, 9, 15].map((code) =>
    rcodeOf(decodeMessage(Buffer.concat([Buffer.of(0, 0, 0x80, code), Buffer.alloc(8)]))),
  );
  expect(codes).toEqual(['NOERROR', 'REFUSED', 'NOTAUTH', '15']);
});

describe('arbitrary octets', () => {
  const key = { name: 'a', algorithm: 'hmac-sha256', secret: 'YQ==' };
  const valid = fc.constantFrom(
    ...VECTORS.flatMap(({ request, answers }) => [request, ...answers.map(({ octets }) => octets)]),
  );
  /**
   * Generates messages with changed, removed and added octets, so that every part of the decoder
   * runs.
   */
  const damaged = fc
    .tuple(
      valid,
      fc.array(fc.tuple(fc.nat(300), fc.integer({ min: 0, max: 255 })), { maxLength: 6 }),
      fc.nat(300),
      fc.uint8Array({ maxLength: 4 }),
    )
    .map(([text, changes, length, added]) => {
      const octets = Buffer.from(text, 'hex');
      for (const [index, value] of changes) if (index < octets.length) octets[index] = value;
      return Buffer.concat([octets.subarray(0, Math.max(12, length)), added]);
    });

  test('are decoded to a message or throw WireError', () => {
    const octets = fc.oneof(
      fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
      damaged,
    );
    fc.assert(
      fc.property(octets, (bytes) => {
        for (const read of [
          () => findTsig(bytes, decodeMessage(bytes)),
          () => verifyMessage(bytes, key, Buffer.alloc(32), 0),
          () => createStreamVerifier(key, Buffer.alloc(32))(bytes, 0),
        ]) {
          try {
            read();
          } catch (error) {
            expect(error).toBeInstanceOf(WireError);
          }
        }
      }),
      { numRuns: randomCases(15_000) },
    );
  });

  test('are refused even in a message of the maximum size with nested pointers', () => {
    const octets = Buffer.alloc(65_535, 0);
    octets.writeUInt16BE(0xffff, 4);
    for (let index = 12; index + 6 <= 16_000; index += 6)
      octets.writeUInt16BE(0xc000 | Math.max(0, index - 6), index);
    expect(() => decodeMessage(octets)).toThrow(WireError);
  });
});
