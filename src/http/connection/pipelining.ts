import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { closeGently, discardInput } from './closing.ts';

// A flood can fill `total` in one turn of the event loop, and parsing its requests delays all callers.
const MAX_WAITING = { perConnection: 64, total: 1024 } as const;

interface Queue {
  readonly socket: Socket;
  /** The response to the request that was started last. */
  current: ServerResponse | undefined;
  /** The response after which the next request starts. */
  followed: ServerResponse | undefined;
  /** The responses to requests that have not started. */
  readonly waiting: ServerResponse[];
  /** True if the connection accepts no more requests. */
  ending: boolean;
  /** True if the connection is closed because too many requests wait on all connections. */
  shed: boolean;
  /** The bytes to send after the last response of a closing connection. */
  refusal: string | undefined;
}

interface Order {
  readonly server: Server;
  readonly run: RequestListener;
  readonly countExcess: () => void;
  /** The number of waiting requests on all connections. */
  waiting: number;
}

const QUEUE = Symbol('requests of a connection');
type QueuedSocket = Socket & { [QUEUE]?: Queue };

/**
 * A function that accepts no more requests from a connection. It sends `refusal` after the
 * responses to earlier requests, and then closes the connection. `refusal` is the response to input
 * that is not a valid request.
 */
type Refuse = (socket: Socket, refusal: string) => void;

/**
 * Passes the requests of a server to `run`. Requests of one connection run in sequence. Each
 * request starts in a separate turn of the event loop, after the previous response is sent. Node.js
 * parses all requests from one read in the same turn. If they also ran in this turn, they would
 * block all other connections, and their responses would fill memory. If more than `MAX_WAITING`
 * requests wait, the service closes the connection after their responses. The client repeats its
 * other requests (RFC 9112 section 9.3.2). If `MAX_WAITING.total` wait on all connections, the
 * request that has not begun is refused too, because a peer whose input is unread can seem alive
 * until its first response. `countExcess` counts the connections that are closed for these reasons.
 * Call `runInOrder` before the server listens.
 */
export function runInOrder(server: Server, run: RequestListener, countExcess: () => void): Refuse {
  const order: Order = { server, run, countExcess, waiting: 0 };
  // The queue must exist before Node's own listener reads the first request.
  server.prependListener(
    server instanceof SecureServer ? 'secureConnection' : 'connection',
    (socket: Socket) => open(server, socket),
  );
  server.on('request', (request, response) => take(order, request, response));
  return (socket, refusal) => refuse(order, socket, refusal);
}

/** Returns whether requests on a connection wait for earlier responses. */
export function hasWaiting(socket: QueuedSocket): boolean {
  return (socket[QUEUE]?.waiting.length ?? 0) > 0;
}

/** Returns whether to refuse the request of a connection if it has not begun. */
export function isShed(socket: QueuedSocket): boolean {
  return socket[QUEUE]?.shed === true;
}

function open(server: Server, socket: QueuedSocket): void {
  const queue: Queue = {
    socket,
    current: undefined,
    followed: undefined,
    waiting: [],
    ending: false,
    shed: false,
    refusal: undefined,
  };
  socket[QUEUE] = queue;
  socket.once('end', () => {
    if (queue.waiting.length > 0) keepHalfOpen(server);
  });
}

/**
 * Makes Node.js send the responses to waiting requests after the peer has ended its side of the
 * connection. By default Node.js ends its own side at once, and the responses are lost. Node.js
 * does not document the property `httpAllowHalfOpen`.
 */
function keepHalfOpen(server: Server): void {
  const halfOpen: Server & { httpAllowHalfOpen?: boolean } = server;
  halfOpen.httpAllowHalfOpen = true; // Node's listener, called next, reads this property
  process.nextTick(() => (halfOpen.httpAllowHalfOpen = false));
}

function take(order: Order, request: IncomingMessage, response: ServerResponse): void {
  const { socket }: { readonly socket: QueuedSocket } = request;
  const queue = socket[QUEUE];
  if (queue === undefined || queue.ending) return;
  // Node.js assigns the socket to a new response unless an earlier response still uses the socket.
  if (response.socket !== null) {
    queue.current = response;
    order.run(request, response);
    return;
  }
  queue.shed = order.waiting >= MAX_WAITING.total;
  const isFull = queue.shed || queue.waiting.length >= MAX_WAITING.perConnection;
  if (isFull) order.countExcess();
  if (isFull || !order.server.listening) {
    endAfterWaiting(order, queue);
    return;
  }
  order.waiting += 1;
  queue.waiting.push(response);
  follow(order, queue);
}

/** Starts the next request, or closes the connection, after the current response. */
function follow(order: Order, queue: Queue): void {
  const { current } = queue;
  if (
    (queue.waiting.length === 0 && !queue.ending) ||
    current === undefined ||
    queue.followed === current
  )
    return;
  queue.followed = current;
  current.once('close', () => advance(order, queue));
}

function advance(order: Order, queue: Queue): void {
  const next = queue.waiting.shift();
  if (next === undefined) {
    if (queue.ending) closeGently(queue.socket, queue.refusal);
    return;
  }
  order.waiting -= 1;
  // Node.js has assigned the socket to the next response, unless the connection is closed or
  // closing.
  if (next.socket === null) {
    order.waiting -= queue.waiting.length;
    queue.waiting.length = 0;
    return;
  }
  queue.current = next;
  follow(order, queue);
  setImmediate(start, order, queue, next);
}

function start(order: Order, queue: Queue, response: ServerResponse): void {
  if (queue.socket.writable) order.run(response.req, response);
}

/**
 * Closes the connection after the responses to the waiting requests. Adds `Connection: close` to
 * the last response if its headers are not sent yet.
 */
function endAfterWaiting(order: Order, queue: Queue): void {
  const last = queue.waiting.at(-1) ?? queue.current;
  queue.ending = true;
  discardInput(queue.socket);
  if (last?.headersSent === false) last.setHeader('connection', 'close');
  // Node.js calls destroySoon after a response with `Connection: close`. Node's own destroySoon
  // would reset the connection before the peer has read the response.
  queue.socket.destroySoon = () => closeGently(queue.socket);
  follow(order, queue);
}

function refuse(order: Order, socket: QueuedSocket, refusal: string): void {
  const queue = socket[QUEUE];
  // A connection without a queue has not completed its TLS handshake, so nothing can be sent.
  if (queue === undefined || !socket.writable) {
    socket.destroy();
    return;
  }
  if (queue.ending) return;
  queue.ending = true;
  discardInput(socket);
  const { current, waiting } = queue;
  const isSending = current !== undefined && current.socket !== null;
  queue.refusal = refusal;
  if (waiting.at(-1)?.req.complete === false) {
    // The body of the last request cannot be read, so the refusal is its response.
    waiting.pop();
    order.waiting -= 1;
  } else if (waiting.length === 0 && current?.req.complete === false) {
    if (isSending && !current.headersSent) {
      closeGently(socket, refusal);
      return;
    }
    queue.refusal = undefined; // the request already has a response
  }
  if (isSending) follow(order, queue);
  else closeGently(socket, queue.refusal);
}
