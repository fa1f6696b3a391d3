import type { Socket } from 'node:net';

/** How long a connection stays open after its last response, so that the peer can read it (RFC 9112 section 9.6). */
const LINGER_MS = 1000;

/** The parser of a connection. Node.js documents no way to stop parsing within one read. */
interface Parser {
  onIncoming: () => number;
}

/** What tells the parser that the bytes after a request are not HTTP, as after an upgrade. It ignores them. */
const NOT_HTTP = 2;

/** Steps on connections that are ending. Many such connections would block all others if their steps ran together. */
const steps = new Set<() => void>();

/** Runs `step` in a turn of the event loop in which no other of these steps runs. */
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

/**
 * Sends `last` if given, ends the sending side of a connection, and destroys the connection at most one second later, whether or
 * not the peer reads or closes.
 */
export function closeGently(socket: Socket, last?: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  if (last === undefined) socket.end();
  else socket.end(last);
  const timer = setTimeout(() => runInTurn(() => socket.destroy()), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Discards what the peer sends from now on, and what was read but not parsed yet. Many connections that send as fast as they can
 * would take all the time of the process, so it reads from one of them in each turn of the event loop.
 */
export function discardInput(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: Parser | null };
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
