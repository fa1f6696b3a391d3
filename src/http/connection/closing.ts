import type { Socket } from 'node:net';

/**
 * How long a connection stays open after its last response. The peer needs this time to read the
 * response (RFC 9112 section 9.6).
 */
const LINGER_MS = 1000;

/** Node.js documents no way to stop parsing in the middle of a read. */
interface Parser {
  onIncoming: () => number;
}

/** If `onIncoming` returns this, the parser ignores later bytes, as after an upgrade. */
const NOT_HTTP = 2;

/** Steps of closing connections. Many of them in one turn would block all other connections. */
const steps = new Set<() => void>();

/** Runs `step` in a later turn of the event loop that runs no other step. */
function runInTurn(step: () => void): void {
  if (steps.size === 0) setImmediate(runNext);
  steps.add(step);
}

function runNext(): void {
  for (const step of steps) {
    steps.delete(step);
    if (steps.size > 0) setImmediate(runNext);
    step();
    return;
  }
}

/** Sends `last` and ends the sending side. Destroys the connection 1 s later if it is open. */
export function closeGently(socket: Socket, last?: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  if (last === undefined) socket.end();
  else socket.end(last);
  const timer = setTimeout(() => runInTurn(() => socket.destroy()), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Discards further input from the peer, including input that is not parsed yet. Reads from at most
 * one connection in each turn of the event loop. Otherwise connections that send at full speed
 * would use all CPU time of the process.
 */
export function discardInput(socket: Socket): void {
  const { parser }: Socket & { readonly parser?: Parser | null } = socket;
  if (parser) parser.onIncoming = () => NOT_HTTP;
  socket.removeAllListeners('data');
  const resume = () => void socket.resume();
  // This listener also stops the socket from passing its input to the parser.
  socket.on('data', () => {
    socket.pause();
    runInTurn(resume);
  });
  socket.resume();
}
