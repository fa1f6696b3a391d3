import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import type { Key } from '../../formats/key.ts';
import { withConnection, type Endpoint, type Connection } from '../../net/connection.ts';
import { NetError } from '../../net/faults.ts';
import { DriverError } from '../driver.ts';

/**
 * A client for the control channel of BIND. Messages are tables of names and values, signed with an
 * HMAC. The first response contains a number (nonce) that the command must repeat.
 */

/** The octet that identifies each algorithm in a signature. */
const ALGORITHM_CODES: Readonly<Record<string, number>> = {
  'hmac-md5': 157,
  'hmac-sha1': 161,
  'hmac-sha224': 162,
  'hmac-sha256': 163,
  'hmac-sha384': 164,
  'hmac-sha512': 165,
};
const VERSION = 1;
const DATA = 1;
const TABLE = 2;
/** The length of a signature: a digest in base64, padded with zeros. */
const SIGNATURE_OCTETS = 88;
const LIFETIME_SECONDS = 60;

interface Table {
  readonly [name: string]: Buffer | Table;
}

export interface RndcResult {
  /** 0 for success, otherwise an error code of BIND. */
  readonly code: number;
  readonly text: string;
}

/**
 * Sends a command to BIND and returns the result. `now` returns milliseconds since 1970. Throws
 * `NetError`, and `DriverError` if BIND refuses the key.
 */
export async function rndc(
  endpoint: Endpoint,
  key: Key,
  command: string,
  now: () => number,
  signal: AbortSignal,
): Promise<RndcResult> {
  return withConnection(endpoint, signal, async (connection) => {
    const serial = randomInt(2 ** 32 - 1);
    const seconds = Math.floor(now() / 1000);
    // BIND refuses a second message with the serial number of an earlier message.
    const control = (number: number) => ({
      _ser: text(String(number)),
      _tim: text(String(seconds)),
      _exp: text(String(seconds + LIFETIME_SECONDS)),
    });
    const hello = await greet(connection, key, {
      _ctrl: control(serial),
      _data: { type: text('null') },
    });
    const nonce = tableAt(hello, '_ctrl')._nonce;
    if (!Buffer.isBuffer(nonce)) throw new NetError('the response is not from BIND');
    const {
      result,
      err,
      text: output,
    } = tableAt(
      await ask(connection, key, {
        _ctrl: { ...control(serial + 1), _nonce: nonce },
        _data: { type: text(command) },
      }),
      '_data',
    );
    return {
      code: Number(textOf(result) || '1'),
      text: [textOf(err), textOf(output)].filter(Boolean).join(': '),
    };
  });
}

/** BIND closes the connection if it refuses the key or the time of the first message. */
async function greet(connection: Connection, key: Key, message: Table): Promise<Table> {
  try {
    return await ask(connection, key, message);
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    throw new DriverError(
      'not_permitted',
      `BIND refuses the control key: ${error.message}.`,
      'Set `controlKeyFile` to the file with the key of the `controls` statement of BIND. Check that the `allow` list of this statement contains this machine, and that both clocks agree within 60 s.',
      error,
    );
  }
}

async function ask(connection: Connection, key: Key, message: Table): Promise<Table> {
  connection.send(encode(message, key));
  const size = (await connection.read(4)).readUInt32BE(0);
  return decode(await connection.read(size), key);
}

function encode(message: Table, key: Key): Buffer {
  const content = encodeEntries(message);
  const signature = Buffer.alloc(1 + SIGNATURE_OCTETS);
  signature.writeUInt8(ALGORITHM_CODES[key.algorithm] ?? 0, 0);
  signature.write(digestOf(content, key), 1, 'latin1');
  const body = Buffer.concat([encodeEntries({ _auth: { hsha: signature } }), content]);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 4, 0);
  head.writeUInt32BE(VERSION, 4);
  return Buffer.concat([head, body]);
}

function encodeEntries(table: Table): Buffer {
  return Buffer.concat(
    Object.entries(table).flatMap(([name, value]) => {
      const octets = Buffer.isBuffer(value) ? value : encodeEntries(value);
      const head = Buffer.alloc(5);
      head.writeUInt8(Buffer.isBuffer(value) ? DATA : TABLE, 0);
      head.writeUInt32BE(octets.length, 1);
      return [Buffer.of(name.length), Buffer.from(name), head, octets];
    }),
  );
}

function digestOf(content: Buffer, { algorithm, secret }: Key): string {
  return createHmac(algorithm.slice('hmac-'.length), Buffer.from(secret, 'base64'))
    .update(content)
    .digest('base64');
}

/** Returns the tables of a response. Throws `NetError` unless the response is signed with `key`. */
function decode(octets: Buffer, key: Key): Table {
  const auth = decodeEntry(octets, 4);
  const message = decodeEntries(octets, auth.end, octets.length);
  const given = Buffer.isBuffer(auth.value) ? undefined : auth.value.hsha;
  const expected = Buffer.alloc(SIGNATURE_OCTETS);
  expected.write(digestOf(octets.subarray(auth.end), key), 'latin1');
  if (!Buffer.isBuffer(given) || given.length !== 1 + SIGNATURE_OCTETS)
    throw new NetError('the response is not signed');
  if (!timingSafeEqual(given.subarray(1), expected))
    throw new NetError('the response is signed with another key');
  return message;
}

function decodeEntries(octets: Buffer, start: number, end: number): Table {
  const table: Record<string, Buffer | Table> = {};
  for (let position = start; position < end;) {
    const entry = decodeEntry(octets, position);
    table[entry.name] = entry.value;
    position = entry.end;
  }
  return table;
}

function decodeEntry(
  octets: Buffer,
  start: number,
): { readonly name: string; readonly value: Buffer | Table; readonly end: number } {
  const nameEnd = start + 1 + (octets[start] ?? 0);
  if (nameEnd + 5 > octets.length) throw new NetError('the response is not from BIND');
  const valueStart = nameEnd + 5;
  const end = valueStart + octets.readUInt32BE(nameEnd + 1);
  if (end > octets.length) throw new NetError('the response is not from BIND');
  const isTable = octets[nameEnd] === TABLE;
  return {
    name: octets.toString('latin1', start + 1, nameEnd),
    value: isTable
      ? decodeEntries(octets, valueStart, end)
      : Buffer.from(octets.subarray(valueStart, end)),
    end,
  };
}

function tableAt(table: Table, name: string): Table {
  const value = table[name];
  if (value === undefined || Buffer.isBuffer(value))
    throw new NetError('the response is not from BIND');
  return value;
}

function text(value: string): Buffer {
  return Buffer.from(value);
}

function textOf(value: Buffer | Table | undefined): string {
  return Buffer.isBuffer(value) ? value.toString().trim() : '';
}
