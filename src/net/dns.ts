import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, isIPv6, type Socket } from 'node:net';
import { codeOf, faultOf, NetError } from './faults.ts';

export interface NameServer {
  readonly host: string;
  readonly port: number;
}

export interface DnsTimeouts {
  /** The maximum number of times that a request is sent over UDP. */
  readonly tries: number;
  /** How long to wait for each response, or for the next part of a response, in seconds. */
  readonly seconds: number;
}

export interface Request {
  readonly octets: Buffer;
  /** The name of the key that signed the request, in comparison form. */
  readonly key?: string;
  /** The source ports to prefer. If none is free, the request comes from any port. */
  readonly ports?: readonly number[] | undefined;
  /** Set when the name server has accepted the key. */
  isAccepted?: boolean;
}

/**
 * Sends a request over UDP, up to `tries` times. Returns the first datagram that `isResponse`
 * accepts. Throws `NetError` if none arrives.
 */
export async function queryOverUdp(
  server: NameServer,
  request: Request,
  isResponse: (octets: Buffer) => boolean,
  timeouts: DnsTimeouts,
): Promise<Buffer> {
  const address = await resolveHost(server.host);
  const socket = await createSocketAt(isIPv6(address) ? 'udp6' : 'udp4', request.ports);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      let sent = 0;
      const send = () => {
        if (sent === timeouts.tries) {
          const reason = `no response from ${address} port ${server.port} over UDP within ${timeouts.tries * timeouts.seconds} seconds`;
          reject(new NetError(reason));
          return;
        }
        sent += 1;
        noteSource(socket.address(), request);
        socket.send(request.octets);
        timer = setTimeout(send, timeouts.seconds * 1000);
      };
      socket.on('message', (octets) => {
        if (isResponse(octets)) resolve(octets);
      });
      socket.on('error', (cause) => reject(new NetError(faultOf(cause), cause)));
      // Only a connected socket reports ECONNREFUSED.
      socket.on('connect', send);
      socket.connect(server.port, address);
    });
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

/**
 * Sends a request over TCP and yields each message (RFC 1035 section 4.2.2) until the server closes
 * the connection. Throws `NetError` if the connection fails.
 */
export async function* queryOverTcp(
  server: NameServer,
  request: Request,
  timeouts: DnsTimeouts,
): AsyncGenerator<Buffer, void> {
  const address = { ...server, host: await resolveHost(server.host) };
  const socket = await connectFrom(address, timeouts.seconds, request.ports);
  noteSource({ address: socket.localAddress ?? '', port: socket.localPort ?? 0 }, request);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(request.octets.length);
  socket.write(Buffer.concat([length, request.octets]));
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
    throw new NetError(faultOf(cause), cause);
  } finally {
    socket.destroy();
  }
}

async function createSocketAt(
  type: 'udp4' | 'udp6',
  ports: readonly number[] = [],
): Promise<DatagramSocket> {
  for (const port of ports) {
    const socket = createSocket(type);
    try {
      socket.bind(port);
      await once(socket, 'listening');
      return socket;
    } catch {
      socket.close();
    }
  }
  return createSocket(type);
}

/** Connects from the first of the ports that is free, or from any port. Throws `NetError`. */
async function connectFrom(
  server: NameServer,
  seconds: number,
  [localPort, ...others]: readonly number[] = [],
): Promise<Socket> {
  const socket = connect({ ...server, ...(localPort === undefined ? {} : { localPort }) });
  socket.setTimeout(
    seconds * 1000,
    () => void socket.destroy(new NetError(`the server sent nothing for ${seconds} seconds`)),
  );
  try {
    await once(socket, 'connect');
    return socket;
  } catch (cause) {
    socket.destroy();
    const isTaken = TAKEN.includes(codeOf(cause));
    if (localPort !== undefined && isTaken) return connectFrom(server, seconds, others);
    throw new NetError(faultOf(cause), cause);
  }
}

/** The errors of a port that another socket has, or a connection that has just ended. */
const TAKEN = ['EADDRINUSE', 'EADDRNOTAVAIL'];

async function resolveHost(host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch (cause) {
    throw new NetError(faultOf(cause), cause);
  }
}

/** How long this process remembers from where it sent requests. */
const SOURCES_MS = 60_000;

/** When this process last sent a request, by the address and the port; the oldest first. */
const sources = new Map<string, number>();

/** The requests that no name server has accepted, by the address and the key; the oldest first. */
const unaccepted = new Map<
  string,
  { readonly at: number; readonly requests: readonly Request[] }
>();

function noteSource(
  { address, port }: { readonly address: string; readonly port: number },
  request: Request,
): void {
  const now = Date.now();
  for (const [source, at] of sources) {
    if (at > now - SOURCES_MS) break;
    sources.delete(source);
  }
  for (const [source, { at }] of unaccepted) {
    if (at > now - SOURCES_MS) break;
    unaccepted.delete(source);
  }
  const source = `${address} ${port}`;
  sources.delete(source);
  sources.set(source, now);
  if (request.key === undefined) return;
  const signed = `${address} ${request.key}`;
  const former = unaccepted.get(signed)?.requests ?? [];
  unaccepted.delete(signed);
  const requests = [...former.filter(({ isAccepted }) => isAccepted !== true), request];
  unaccepted.set(signed, { at: now, requests });
}

/** Returns when this process last sent a DNS request from this address and port, in ms since 1970. */
export function lastSent(address: string, port: number): number | undefined {
  return sources.get(`${address} ${port}`);
}

/**
 * Returns whether this process sent a request from this address, signed with this key, that was not
 * accepted, and did so at `since` or later (ms since 1970). Returns true once for each request,
 * because each one is a line of its own in the log of a name server.
 */
export function takeUnaccepted(address: string, key: string, since: number): boolean {
  const signed = `${address} ${key}`;
  const found = unaccepted.get(signed);
  if (found === undefined || found.at < since) return false;
  const [first, ...requests] = found.requests.filter(({ isAccepted }) => isAccepted !== true);
  unaccepted.set(signed, { at: found.at, requests });
  return first !== undefined;
}
