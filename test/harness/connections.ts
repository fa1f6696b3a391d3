import { randomInt } from 'node:crypto';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  get as getPlainly,
  Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
} from 'node:http';
import { get as getSecurely } from 'node:https';
import {
  connect,
  createServer,
  Server,
  type AddressInfo,
  type NetConnectOpts,
  type Socket,
} from 'node:net';
import { text } from 'node:stream/consumers';
import { atEnd } from './leftovers.ts';

/** The source address of attackers. Other callers use 127.0.0.1. */
export const ATTACKER = '127.0.0.2';

/** The behaviour of a group of connections. */
export interface Behaviour {
  /** The bytes that each connection sends first. */
  readonly text?: string;
  /** Whether the connection reads responses. True by default. */
  readonly reads?: boolean;
  /** The source address. `ATTACKER` by default. */
  readonly address?: string;
}

/** Opens connections to the service at `url`. The client never closes them. */
export async function openConnections(
  url: string,
  count: number,
  behaviour: Behaviour = {},
): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const { text: first = '', reads = true, address = ATTACKER } = behaviour;
  const options = {
    host: hostname,
    port: Number(port),
    localAddress: address,
    allowHalfOpen: true,
  };
  const sockets = Array.from({ length: count }, () => connect(options));
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    if (reads) socket.resume();
  }
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write(first);
  return sockets;
}

/** Returns the response to a GET request on a new connection. Accepts any certificate. */
async function getOnce(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ headers: IncomingMessage['headers']; text: string }> {
  const options = { agent: false, headers, rejectUnauthorized: false } as const;
  const request = url.startsWith('https:') ? getSecurely(url, options) : getPlainly(url, options);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { headers: response.headers, text: await text(response) };
}

/** Returns the value of a series in the metrics at `url`, or 0 if the series is missing. */
export async function readMetric(url: string, series: string): Promise<number> {
  const { text: page } = await getOnce(`${url}/metrics`);
  const line = page.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

/** The first port for servers. `fetch` refuses some ports below it, such as 10080. */
const FIRST_PORT = 10_240;

/** The number of parts of the ports for servers. Each worker of Vitest uses a part. */
const PARTS = 16;

/** Where Linux says which ports it uses for outgoing connections, and the first of most systems. */
const OUTGOING = '/proc/sys/net/ipv4/ip_local_port_range';
const FIRST_OUTGOING = 32_768;

/**
 * The ports of this worker. Another run of the tests begins elsewhere, so that the two seldom try
 * the same port.
 */
const part = Number(process.env.VITEST_POOL_ID ?? 0) % PARTS;
const size = Math.floor((firstOutgoing() - FIRST_PORT) / PARTS);
let latest = randomInt(size);

/**
 * Returns a port on which nothing listens, for a server that starts later. The system does not use
 * the port for outgoing connections, and other workers do not ask for it, so it stays free while
 * its server is not running.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    latest = (latest + 1) % size;
    const port = FIRST_PORT + part * size + latest;
    if ((await isBound(createServer().listen(port, '127.0.0.1'))) && (await isBound(udpOn(port))))
      return port;
  }
}

function firstOutgoing(): number {
  const first = existsSync(OUTGOING) ? parseInt(readFileSync(OUTGOING, 'utf8'), 10) : 0;
  return first >= 2 * FIRST_PORT ? first : FIRST_OUTGOING;
}

/** Returns whether something accepts connections. */
export async function accepts(place: NetConnectOpts): Promise<boolean> {
  const socket = connect(place);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function udpOn(port: number) {
  const socket = createSocket('udp4');
  socket.bind(port, '127.0.0.1');
  return socket;
}

/** Returns whether a socket gets its port, and closes the socket. */
async function isBound(socket: Server | UdpSocket): Promise<boolean> {
  try {
    await once(socket, 'listening');
  } catch {
    return false;
  }
  socket.close();
  await once(socket, 'close');
  return true;
}

/**
 * Serves HTTP requests, or the connections of `server`, on a free port until the end of the test, or
 * of the file. Returns the URL.
 */
export async function serve(server: RequestListener | Server): Promise<string> {
  const started = server instanceof Server ? server : createHttpServer(server);
  await once(started.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => {
    started.close();
    if (started instanceof HttpServer) started.closeAllConnections();
  });
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}
