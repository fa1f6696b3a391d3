import { createHmac } from 'node:crypto';

/** What a caller of the API knows of a key, and a client that only has the key does not. */
export interface TestedKey {
  readonly id: string;
  readonly secret: string;
}

const MINUTE_MS = 60_000;

/** Other services listen on the ports below. */
const FIRST_PORT = 10_000;
const PORTS = 0x1_0000 - FIRST_PORT;

/** A connection to a server that has just ended occupies its port for a minute. */
const COUNT = 8;

/**
 * Returns the source ports from which commands test a key in the minute of `at`, in ms since 1970, so
 * that the reader of a log tells such tests from clients. They follow from the id of the key, too,
 * because nobody may hide the use of a stolen key.
 */
export function testPorts({ id, secret }: TestedKey, at: number): readonly number[] {
  const minute = Math.floor(at / MINUTE_MS);
  const digest = createHmac('sha256', Buffer.from(secret, 'base64'))
    .update(`tsigil test ${id} ${minute}`)
    .digest();
  return Array.from(
    { length: COUNT },
    (_, index) => FIRST_PORT + (digest.readUInt32BE(index * 4) % PORTS),
  );
}

/** Returns the ports of `testPorts` about `at`, for clocks that differ by up to a minute. */
export function testPortsAbout(key: TestedKey, at: number): ReadonlySet<number> {
  return new Set([-1, 0, 1].flatMap((minutes) => testPorts(key, at + minutes * MINUTE_MS)));
}
