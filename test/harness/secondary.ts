import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { decodeMessage } from '../../src/dns/message.ts';
import { signMessage, verifyMessage } from '../../src/dns/tsig.ts';
import type { SigningKey } from './dns-tools.ts';
import { afterTests } from './leftovers.ts';

/** The opcode of NOTIFY messages (RFC 1996 section 3.1). */
const NOTIFY = 4;

/**
 * A secondary server that accepts NOTIFY messages with `keys`, which a test may change. Counts the
 * messages by the name of the key, if the signature is valid, and otherwise as `bad` or `unsigned`.
 */
export async function startSecondary(keys: readonly SigningKey[]) {
  const { socket, server, ownPort } = await listenOnBoth();
  afterTests(() => {
    socket.close();
    server.close();
    return Promise.resolve();
  });
  const counts = new Map<string, number>();
  const zones = new Map<string, string>();
  const arrivals = new Map<string, number>();
  const respond = (octets: Buffer): Buffer | undefined => {
    const message = decodeMessage(octets);
    if (((message.flags >> 11) & 0xf) !== NOTIFY) return undefined;
    const timeSigned = Math.floor(Date.now() / 1000);
    const verified = keys.map((key) => ({
      key,
      ...verifyMessage(octets, key, undefined, timeSigned),
    }));
    const { key, tsig } = verified.find(({ outcome }) => outcome === 'good') ?? {};
    const isUnsigned = verified.some(({ outcome }) => outcome === 'unsigned');
    const kind = key?.name ?? (isUnsigned ? 'unsigned' : 'bad');
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const zone = message.questions[0]?.name.replace(/\.$/, '') ?? '';
    zones.set(zone, kind);
    arrivals.set(zone, (arrivals.get(zone) ?? 0) + 1);
    const header = Buffer.from(octets.subarray(0, 12));
    header.writeUInt16BE(message.flags | 0x8000, 2);
    header.fill(0, 6);
    const question = octets.indexOf(0, 12) + 5;
    const response = Buffer.concat([header, octets.subarray(12, question)]);
    return key === undefined || tsig === undefined
      ? response
      : signMessage(response, key, { timeSigned, priorMac: tsig.mac }).octets;
  };
  socket.on('message', (octets, { port, address }) => {
    const response = respond(octets);
    if (response !== undefined) socket.send(response, port, address);
  });
  // Knot DNS sends NOTIFY over TCP.
  server.on('connection', (connection) => {
    let received = Buffer.alloc(0);
    connection.on('error', () => undefined);
    connection.on('data', (octets) => {
      received = Buffer.concat([received, octets]);
      const size = received.length < 2 ? Infinity : 2 + received.readUInt16BE(0);
      if (received.length < size) return;
      const response = respond(received.subarray(2, size));
      received = received.subarray(size);
      if (response === undefined) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(response.length);
      connection.write(Buffer.concat([length, response]));
    });
  });
  return {
    port: ownPort,
    counts,
    /** By zone: which key signed the last message, and how many there were. */
    zones,
    arrivals,
  };
}

/** Listens on a port that is free for UDP and for TCP. */
async function listenOnBoth() {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: ownPort } = server.address() as AddressInfo;
    const socket = createSocket('udp4').bind(ownPort, '127.0.0.1');
    try {
      await once(socket, 'listening');
      return { socket, server, ownPort };
    } catch {
      socket.close();
      server.close();
    }
  }
}
