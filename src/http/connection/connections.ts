import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Metrics } from '../metrics/metrics.ts';
import { noteConnection } from '../../core/scheduling/slicer.ts';
import { addressGroup, withoutMapping } from './client-address.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** The limit for one IPv4 address or one IPv6 /64. Undefined for no limit. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** How long a client may read nothing of a response before the service closes the connection. */
  readonly responseTimeoutSeconds: number;
}

export type CutOffReason = 'pipelining' | 'request_timeout' | 'tls_handshake' | 'unread_answer';

interface Progress {
  sentBytes: number;
  /** The number of consecutive checks in which nothing was sent. */
  stalls: number;
}

/** After so many consecutive checks without progress, the service closes a connection. */
const MAX_STALLS = 4;

/**
 * Destroys a new connection that exceeds a limit, and one whose peer reads nothing for
 * `responseTimeoutSeconds`. Call it after all connection listeners have been added.
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  metrics: Metrics,
  cutOff: (reason: CutOffReason) => void,
): void {
  const open = new Map<Socket, Progress>();
  const shares = new Map<string, number>();
  metrics.live('tsigil_connections_open', () => open.size);
  const { maxConnections, maxConnectionsPerAddress = Infinity } = limits;

  const accept = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    noteConnection();
    const owner = addressGroup(withoutMapping(socket.remoteAddress ?? ''));
    const share = shares.get(owner) ?? 0;
    const ofAddress = share >= maxConnectionsPerAddress ? 'address' : undefined;
    const exceeded = open.size >= maxConnections ? 'total' : ofAddress;
    if (exceeded !== undefined) {
      metrics.note('tsigil_connections_refused_total', 1, { limit: exceeded });
      socket.destroy();
      return;
    }
    open.set(socket, { sentBytes: 0, stalls: 0 });
    shares.set(owner, share + 1);
    socket.once('close', () => {
      open.delete(socket);
      const left = (shares.get(owner) ?? 1) - 1;
      if (left === 0) shares.delete(owner);
      else shares.set(owner, left);
    });
    for (const listener of accept) listener.call(server, socket);
  });

  const sweep = () => {
    for (const [socket, progress] of open) {
      if (!isStalled(socket, progress)) continue;
      cutOff('unread_answer');
      socket.destroy();
    }
  };
  const timer = setInterval(sweep, (limits.responseTimeoutSeconds * 1000) / MAX_STALLS).unref();
  server.on('close', () => clearInterval(timer));
  // Node's own closeAllConnections ignores connections during a TLS handshake and after CONNECT.
  server.closeAllConnections = () => {
    for (const socket of open.keys()) socket.destroy();
  };
}

/** What Node.js knows about a socket, but documents no way to read. */
interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
  /** Asks the operating system. Returns 0 if the socket has a peer. */
  getpeername(into: object): number;
}

function handleOf(socket: Socket & { readonly _handle?: Handle | null }): Handle | undefined {
  return socket._handle ?? undefined;
}

/**
 * Returns whether a response can reach the peer. Node.js notices that a peer has reset a connection
 * only once it has read all earlier input, so a flood would still be served after its end.
 */
export function isConnected(socket: Socket): boolean {
  return !socket.destroyed && handleOf(socket)?.getpeername({}) === 0;
}

/** Returns whether a connection has data to send but sent none in the last `MAX_STALLS` checks. */
function isStalled(socket: Socket, progress: Progress): boolean {
  const handle = handleOf(socket);
  if (handle === undefined || handle.writeQueueSize === 0) {
    progress.stalls = 0;
    return false;
  }
  const sentBytes = handle.bytesWritten - handle.writeQueueSize;
  progress.stalls = sentBytes === progress.sentBytes ? progress.stalls + 1 : 0;
  progress.sentBytes = sentBytes;
  return progress.stalls >= MAX_STALLS;
}
