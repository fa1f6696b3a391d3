import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy between a service and its database, which a test can interrupt. */
export interface TcpProxy {
  readonly port: number;
  /**
   * `pass` forwards all bytes. `stall` keeps connections open and drops all bytes. `cut` closes all
   * connections and refuses new connections. `stall-marked` and `cut-marked` affect only marked
   * connections, and accept new connections. `end-ready` ends each new connection to PostgreSQL with
   * an error of the server, in the packet that says that the connection is ready.
   */
  behave(how: Behaviour): void;
  /**
   * Closes the next connection on which the service sends `first` and then `bytes`. Closes it
   * before or after `bytes` reaches the database.
   */
  cutAt(first: string, bytes: string, when: 'before' | 'after'): void;
  close(): Promise<void>;
}

type Behaviour = 'pass' | 'stall' | 'cut' | 'stall-marked' | 'cut-marked' | 'end-ready';

/** The message ReadyForQuery of an idle connection, and the error of a server that is killed. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');
const FIELDS = Buffer.from('SFATAL\0VFATAL\0C57P02\0Munexpected postmaster exit\0\0', 'latin1');
const LENGTH = Buffer.alloc(4);
LENGTH.writeInt32BE(LENGTH.length + FIELDS.length);
const FATAL = Buffer.concat([Buffer.from('E'), LENGTH, FIELDS]);

/**
 * Forwards connections on a free local port to `port` on this machine. Marks connections on which
 * the service sends `mark`.
 */
export async function startTcpProxy(port: number, mark?: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const marked = new Set<Socket>();
  let behaviour: Behaviour = 'pass';
  let trap: { first: string; bytes: string; when: 'before' | 'after' } | undefined;
  const armed = new Set<Socket>();
  const server = createServer((near) => {
    if (behaviour === 'cut') return void near.destroy();
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        marked.delete(from);
        to.destroy();
      });
      from.on('data', (data) => {
        if (mark !== undefined && from === near && data.includes(mark)) {
          marked.add(near);
          marked.add(far);
        }
        if (behaviour === 'stall' || (behaviour === 'stall-marked' && marked.has(from))) return;
        if (behaviour === 'end-ready' && from === far && data.includes(READY))
          return void near.end(Buffer.concat([data, FATAL]));
        if (from === near && trap !== undefined && data.includes(trap.first)) armed.add(near);
        const sprung = armed.has(from) && trap && data.includes(trap.bytes) ? trap : undefined;
        if (sprung === undefined) return void to.write(data);
        trap = undefined;
        armed.clear();
        if (sprung.when === 'before') far.destroy();
        else far.write(data, () => far.end());
        near.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    behave(how) {
      behaviour = how;
      if (how === 'cut') for (const socket of sockets) socket.destroy();
      if (how === 'cut-marked') for (const socket of marked) socket.destroy();
    },
    cutAt(first, bytes, when) {
      trap = { first, bytes, when };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
