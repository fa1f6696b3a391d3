import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, isIPv6 } from 'node:net';

/** Where a name server listens. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** How long to wait. */
export interface Patience {
  /** How often a request is sent over UDP. */
  readonly tries: number;
  /** How long to wait for each answer, or for the next part of one, in seconds. */
  readonly seconds: number;
}

/** Why there is no answer. */
export class NoAnswerError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'NoAnswerError';
  }
}

/** Sends a request over UDP until `isAnswer` is true of what comes back. Throws `NoAnswerError`. */
export async function askOverUdp(server: Server, request: Buffer, isAnswer: (octets: Buffer) => boolean, patience: Patience): Promise<Buffer> {
  const address = await resolveHost(server.host);
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    const answer = new Promise<Buffer>((resolve, reject) => {
      socket.on('message', (octets) => {
        if (isAnswer(octets)) resolve(octets);
      });
      socket.on('error', (cause) => reject(new NoAnswerError(reasonOf(cause))));
    });
    answer.catch(() => undefined); // it may fail before anybody waits for it
    // Only a connected socket is told that nobody listens.
    socket.connect(server.port, address);
    await Promise.race([once(socket, 'connect'), answer]);
    for (let sent = 0; sent < patience.tries; sent += 1) {
      socket.send(request);
      const received = await Promise.race([answer, after(patience.seconds)]);
      if (received !== undefined) return received;
    }
    throw new NoAnswerError(`nothing came back from ${address} port ${server.port} over UDP within ${patience.tries * patience.seconds} seconds`);
  } finally {
    socket.close();
  }
}

/** Sends a request over TCP and gives the messages that come back (RFC 1035 section 4.2.2) until the server closes. Throws `NoAnswerError`. */
export async function* askOverTcp(server: Server, request: Buffer, patience: Patience): AsyncGenerator<Buffer, void> {
  const socket = connect(server.port, await resolveHost(server.host));
  socket.setTimeout(patience.seconds * 1000, () => void socket.destroy(new Error(`the server sent nothing for ${patience.seconds} seconds`)));
  const length = Buffer.alloc(2);
  length.writeUInt16BE(request.length);
  socket.write(Buffer.concat([length, request]));
  try {
    let received: Buffer = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        yield received.subarray(2, end);
        received = received.subarray(end);
      }
    }
  } catch (cause) {
    throw new NoAnswerError(reasonOf(cause as Error));
  } finally {
    socket.destroy();
  }
}

async function resolveHost(host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch (cause) {
    throw new NoAnswerError(reasonOf(cause as Error));
  }
}

function reasonOf(cause: Error): string {
  const { code } = cause as NodeJS.ErrnoException;
  return code === 'ECONNREFUSED' ? 'nothing listens there' : cause.message;
}

function after(seconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000, undefined));
}
