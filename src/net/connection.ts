import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { faultOf, NetError } from './faults.ts';

export type Endpoint =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly tls?: ConnectionOptions };

export interface Connection {
  send(octets: Buffer): void;
  /** Returns exactly the next `size` octets. Throws `NetError` if the connection ends earlier. */
  read(size: number): Promise<Buffer>;
  /**
   * Returns the octets before the position that `findEnd` returns. `findEnd` gets all octets that
   * have arrived, and again with more octets after each `undefined`. Throws what `findEnd` throws,
   * and `NetError` if the connection ends earlier.
   */
  readUntil(findEnd: (octets: Buffer) => number | undefined): Promise<Buffer>;
  /** Returns all further octets once the server closes the connection. */
  readToEnd(): Promise<Buffer>;
}

const MAX_RESPONSE = 64 * 1024 * 1024;

/**
 * Connects, runs `work` and closes the connection. Throws what `work` throws, and `NetError` for
 * faults of the connection. When `signal` aborts, closes the connection and throws the reason of
 * `signal`.
 */
export async function withConnection<T>(
  endpoint: Endpoint,
  signal: AbortSignal,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const socket = open(endpoint);
  let fault: unknown;
  socket.on('error', (error) => (fault = error));
  const abort = () => socket.destroy(new Error('aborted'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    await once(socket, isTls(endpoint) ? 'secureConnect' : 'connect');
    return await work(over(socket));
  } catch (cause) {
    signal.throwIfAborted();
    throw fault === undefined ? cause : new NetError(faultOf(fault), fault);
  } finally {
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}

function isTls(endpoint: Endpoint): boolean {
  return 'host' in endpoint && endpoint.tls !== undefined;
}

function open(endpoint: Endpoint): Socket {
  if ('path' in endpoint) return connectTcp(endpoint.path);
  const { host, port, tls } = endpoint;
  return tls === undefined ? connectTcp(port, host) : connectTls({ ...tls, host, port });
}

function over(socket: Socket): Connection {
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  let received: Buffer = Buffer.alloc(0);
  /** Begins with `received`, and has room for more, so that long responses are not copied often. */
  let room: Buffer = received;
  const more = async (): Promise<boolean> => {
    const { value } = await chunks.next();
    if (value === undefined) return false;
    const length = received.length + value.length;
    if (length > room.length) {
      room = Buffer.alloc(2 * length);
      received.copy(room);
    }
    value.copy(room, received.length);
    received = room.subarray(0, length);
    if (received.length > MAX_RESPONSE)
      throw new NetError(`the response has more than ${MAX_RESPONSE} bytes`);
    return true;
  };
  const readUntil: Connection['readUntil'] = async (findEnd) => {
    for (;;) {
      const end = findEnd(received);
      if (end !== undefined) {
        const octets = received.subarray(0, end);
        received = received.subarray(end);
        room = room.subarray(end);
        return octets;
      }
      if (!(await more())) throw new NetError(CLOSED);
    }
  };
  return {
    send: (octets) => void socket.write(octets),
    read: (size) => readUntil(({ length }) => (length < size ? undefined : size)),
    readUntil,
    async readToEnd() {
      while (await more());
      return received;
    },
  };
}

const CLOSED = 'the server closed the connection before its response was complete';
