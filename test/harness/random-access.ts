import fc from 'fast-check';
import type { ServerConfiguration } from '../../src/access/access.ts';
import { CLASSES, encodeMessage, OPCODES, TYPES } from '../../src/dns/message.ts';
import type { Key } from '../../src/formats/key.ts';
import type { Brand } from './brands/brand.ts';
import type { DrivenServer } from './driven-server.ts';
import { SECRET } from './samples.ts';

export const NAMES = ['k1', 'k2.example', 'k3.example'];
export const KEYS: readonly Key[] = NAMES.map((name) => ({
  name,
  algorithm: 'hmac-sha256',
  secret: SECRET,
}));
export const SOURCES = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];

/** Up to `maxLength` of the values, without a bias to few. */
export const some = <T>(values: readonly T[], maxLength = values.length, minLength = 0) =>
  fc
    .integer({ min: minLength, max: maxLength })
    .chain((length) => fc.shuffledSubarray([...values], { minLength: length, maxLength: length }));
export const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);

/** A brand with random access lists. */
export interface Search {
  readonly brand: Brand;
  /** The keys in the lists. */
  readonly keys: readonly Key[];
  /** The zones and the addresses of clients that the lists are about, if not any zones and `SOURCES`. */
  readonly zones?: readonly string[];
  readonly sources?: readonly string[];
  /** A line that begins what can be in an included file, if not every statement can. */
  readonly block?: RegExp;
  /** Returns the configuration of a server with these zones, and writes what else it needs. */
  configure(
    seed: number,
    zones: readonly string[],
    folder: string,
    port: number,
    controlPort: number,
  ): string;
  read(text: string, server: DrivenServer): Promise<ServerConfiguration> | ServerConfiguration;
}

/**
 * Returns a request to add a record. BIND compares the rules of `update-policy` with the records
 * that change, so it accepts an update that changes nothing.
 */
export function additionTo(zone: string): Buffer {
  const text = {
    name: `probe.${zone}`,
    type: 16,
    class: CLASSES.in,
    ttl: 60,
    data: Buffer.from([1, 120]),
  };
  const questions = [{ name: zone, type: TYPES.soa, class: CLASSES.in }];
  const empty = { answers: [], additionals: [] };
  return encodeMessage({
    id: 1,
    flags: OPCODES.update << 11,
    questions,
    authorities: [text],
    ...empty,
  });
}
