import pg from 'pg';
import type { SqlRow } from '../sql.ts';
import type { Query } from './statements.ts';

/** Two connections keep the server busy while the service handles results. */
const CONNECTIONS = 2;

/** The most reads that one connection sends together. */
const TOGETHER = 32;

interface Read {
  readonly query: Parameters<Query>[0];
  resolve(result: pg.QueryResult<SqlRow>): void;
  reject(error: Error): void;
}

/**
 * Returns a function that sends reads of one row over connections of `pool`. Reads that arrive while
 * others are in progress share the next packet, because each packet costs the service and the server
 * more than the read itself. The server runs them one after another, each in its own transaction.
 */
export function sharedReads(pool: pg.Pool): Query {
  const waiting: Read[] = [];
  let used = 0;
  const connections = Math.min(CONNECTIONS, Math.max(1, pool.options.max - 1));
  const send = () => {
    if (waiting.length === 0 || used === connections) return;
    const reads = waiting.splice(0, TOGETHER);
    used += 1;
    sendTogether(pool, reads, () => {
      used -= 1;
      send();
    });
  };
  return (query) =>
    new Promise((resolve, reject) => {
      waiting.push({ query, resolve, reject });
      if (waiting.length === 1) setImmediate(send); // further requests of this turn may read
    });
}

function sendTogether(pool: pg.Pool, reads: readonly Read[], ended: () => void): void {
  pool.connect((failure, client, release) => {
    if (client === undefined) {
      for (const { reject } of reads) reject(failure ?? new Error('No connection'));
      ended();
      return;
    }
    let left = reads.length;
    let fault: Error | undefined;
    const broken = (error: Error) => (fault ??= error);
    client.on('error', broken);
    const { stream } = client.connection;
    stream.cork();
    for (const { query, resolve, reject } of reads) {
      const callback = (error: Error | null, result: pg.QueryResult<SqlRow>) => {
        if (error === null) resolve(result);
        else {
          fault ??= error;
          reject(error);
        }
        left -= 1;
        if (left > 0) return;
        client.removeListener('error', broken);
        release(fault);
        ended();
      };
      // From an object with these members, `pg` would first copy each property, in 1.3 µs.
      const read = new pg.Query(query.text, query.values);
      client.query(Object.assign(read, { name: query.name, callback }));
    }
    stream.uncork();
  });
}
