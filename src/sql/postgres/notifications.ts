import pg from 'pg';
import type { Notifications } from '../sql.ts';

const CHANNEL = 'tsigil_delivery';

const SEND_MS = 5;

const RECONNECT_MS = 1000;

/** How often a listener tests its connection, and how long the test may take. */
const [TEST_MS, RESPONSE_MS] = [30_000, 5000];

/**
 * Creates notifications between the processes of a database. `send` uses a connection of `pool`
 * after the commit. A notification inside a transaction would serialise all commits. Each listener
 * has a separate connection. Behind a transaction pooler such as PgBouncer, no notification
 * arrives. In this case, the regular poll finds the changes.
 */
export function createNotifications(
  options: pg.ClientConfig,
  pool: Pick<pg.Pool, 'query'>,
): Notifications {
  let pending: NodeJS.Timeout | undefined;
  return {
    send() {
      pending ??= setTimeout(() => {
        pending = undefined;
        pool.query(`NOTIFY ${CHANNEL}`).catch(() => undefined); // the poll finds the change
      }, SEND_MS);
    },
    listen(wake) {
      let isClosed = false;
      let client: pg.Client | undefined;
      let timer: NodeJS.Timeout | undefined;
      const connect = async (): Promise<void> => {
        const next = new pg.Client({ ...options, keepAlive: true, query_timeout: RESPONSE_MS });
        client = next;
        const lost = () => {
          if (client !== next) return;
          client = undefined;
          clearTimeout(timer);
          next.end().catch(() => undefined);
          if (!isClosed) timer = setTimeout(() => void connect(), RECONNECT_MS);
        };
        const test = () => {
          timer = setTimeout(() => {
            next.query('SELECT 1').then(test, lost);
          }, TEST_MS);
        };
        next.on('error', lost);
        next.on('end', lost);
        next.on('notification', wake);
        try {
          await next.connect();
          await next.query(`LISTEN ${CHANNEL}`);
          wake(); // a notification may have been lost
          test();
        } catch {
          lost();
        }
      };
      void connect();
      return async () => {
        isClosed = true;
        clearTimeout(timer);
        const last = client;
        client = undefined;
        await last?.end().catch(() => undefined);
      };
    },
  };
}
