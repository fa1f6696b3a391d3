import { once } from 'node:events';
import { connect } from 'node:net';
import type { Right } from '../../src/access/rights.ts';
import { checkRequest } from '../../src/dns/key-check.ts';
import { decodeMessage, rcodeOf } from '../../src/dns/message.ts';
import { signMessage } from '../../src/dns/tsig.ts';
import type { NameServer } from '../../src/net/dns.ts';
import type { SigningKey } from './dns-tools.ts';

/**
 * Returns whether a name server permits a right to a request from an address of this machine, such
 * as 127.0.0.3. `key` signs the request.
 */
export async function isPermitted(
  { host, port }: NameServer,
  source: string,
  zone: string,
  right: Right,
  key?: SigningKey,
  request = checkRequest(right, zone, 1, 'probe'),
): Promise<boolean> {
  const timeSigned = Math.floor(Date.now() / 1000);
  const octets = key === undefined ? request : signMessage(request, key, { timeSigned }).octets;
  const socket = connect({ host, port, localAddress: source });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(octets.length);
  socket.write(Buffer.concat([length, octets]));
  let received = Buffer.alloc(0);
  try {
    await once(socket, 'connect');
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const message = decodeMessage(received.subarray(2, 2 + received.readUInt16BE(0)));
        return rcodeOf(message) === 'NOERROR' && (right === 'update' || message.answers.length > 0);
      }
    }
    return false; // NSD closes the connection of a blocked address without a response
  } finally {
    socket.destroy();
  }
}
