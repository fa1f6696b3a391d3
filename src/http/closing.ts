import type { Socket } from 'node:net';

/** How long a connection stays open after its last response, so that the peer can read it (RFC 9112 section 9.6). */
const LINGER_MS = 1000;

/** The parser of a connection. Node.js documents no way to stop parsing within one read. */
interface Parser {
  onIncoming: () => number;
}

/** What tells the parser that the bytes after a request are not HTTP, as after an upgrade. It ignores them. */
const NOT_HTTP = 2;

const ignore = () => undefined;

/**
 * Sends `last` if given, ends the sending side of a connection, and destroys the connection at most one second later, whether or
 * not the peer reads or closes.
 */
export function closeGently(socket: Socket, last?: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  if (last === undefined) socket.end();
  else socket.end(last);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Discards what the peer sends from now on, and what was read but not parsed yet. */
export function discardInput(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: Parser | null };
  if (parser) parser.onIncoming = () => NOT_HTTP;
  socket.removeAllListeners('data');
  socket.on('data', ignore); // this listener also stops the socket from passing its input to the parser
  socket.resume();
}
