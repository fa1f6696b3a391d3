import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import type { DesiredKey } from '../../src/domain/delivery/desired-state.ts';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { findOpenRights } from '../../src/net/probe.ts';
import { NetError } from '../../src/net/faults.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { ZONES } from '../harness/driven-server.ts';
import { createDatabase, startPostgres, type PostgresServer } from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

const SECONDS = 20;
const TOKEN = 'delivery-chaos-0123456789-0123456789abcdef';
const PROCESSES = 3;

/**
 * The number of keys that must exist before the test deletes keys. A pass that removes more than
 * half of the keys needs a confirmation.
 */
const KEYS = 300;
const CHANGES_PER_SECOND = 20;

/** The duration of a suspension in milliseconds. It is longer than the lease of a service. */
const SUSPENDED_MS = 10_000;

/** The time in milliseconds after which the result of a request counts as unknown. */
const REQUEST_MS = 3000;

/** Records each claim and each apply of a name server, in the order of the commits. */
const RECORD_FENCES = `
  CREATE TABLE test_fences (seq SERIAL, server TEXT, fence BIGINT, kind TEXT);
  CREATE FUNCTION test_record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.fence <> OLD.fence THEN
      INSERT INTO test_fences (server, fence, kind) VALUES (NEW.name, NEW.fence, 'claim');
    END IF;
    IF NEW.applied_at IS DISTINCT FROM OLD.applied_at THEN
      INSERT INTO test_fences (server, fence, kind) VALUES (NEW.name, NEW.fence, 'apply');
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER test_record AFTER UPDATE ON nameservers FOR EACH ROW EXECUTE FUNCTION test_record();
`;

const INSTALLED = BRANDS.filter((brand) => brand.isInstalled());

describe.runIf(INSTALLED.length > 0)('services that deliver keys during faults', () => {
  const folder = temporaryFolder();
  let database: PostgresServer;
  let url: string;
  let servers: DeliveryServer[];
  let variables: Record<string, string>;
  const services: (ServiceProcess | undefined)[] = [];

  beforeAll(async () => {
    database = await startPostgres();
    url = await createDatabase(database.url, 'delivery-chaos');
    servers = await Promise.all(
      INSTALLED.map((brand) => startDeliveryServer(brand, brand.name.toLowerCase())),
    );
    variables = {
      ...delivering(...servers),
      TSIGIL_DATABASE_URL: url,
      TSIGIL_ADMIN_TOKEN: TOKEN,
    };
    services[0] = await startServiceProcess(folder, variables);
    await createZones(services[0]);
    await untilLive(services[0], ...servers.map(({ name }) => name));
    await query(RECORD_FENCES);
    for (let index = 1; index < PROCESSES; index += 1)
      services[index] = await startServiceProcess(folder, variables);
  }, 120_000);

  /** Runs statements on the database, and returns the rows of the last statement. */
  const query = async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  };
  const fail = (): never => {
    throw new Error('The service does not run');
  };
  const anyOf = <T>(items: readonly T[]): T | undefined => items[randomInt(items.length || 1)];

  test(
    `each name server has the keys of the database after ${SECONDS} s of changes and faults`,
    async () => {
      let end = Infinity;
      const isOver = () => Date.now() >= end;
      const suspended = new Set<ServiceProcess>();
      const available = () =>
        services.filter((each) => each !== undefined && !suspended.has(each)) as ServiceProcess[];
      const keys = new Map<string, CreatedKey>();
      const deleted = new Map<string, CreatedKey>();
      const counts = { changes: 0, unknown: 0, kills: 0, suspensions: 0, daemons: 0, databases: 0 };
      const open: unknown[] = [];

      /**
       * Makes one change through any service. If the service does not respond, the result is
       * unknown.
       */
      const change = async (index: number): Promise<void> => {
        const service = anyOf(available());
        if (service === undefined) return;
        const victim = anyOf([...keys.values()]);
        // Only one of ten changes is a deletion. A pass after a fault of 20 s must not remove more
        // than half of the keys.
        const kind = randomInt(10);
        const make = async (): Promise<void> => {
          if (victim === undefined || keys.size < KEYS || kind === 0) {
            const key = await createKey(service, `key-${index}`);
            keys.set(key.id, key);
          } else if (kind === 1) {
            keys.delete(victim.id);
            const { status } = await service.delete(`/v2/tsigkeys/${victim.id}`);
            if (status !== 204) throw new Error(`The key was not deleted: ${status}`);
            deleted.set(victim.id, victim);
          } else {
            const secret = randomBytes(32).toString('base64');
            const { status } = await service.patch(`/v2/tsigkeys/${victim.id}`, { secret });
            if (status !== 200 && status !== 404) throw new Error(`Not changed: ${status}`);
          }
        };
        try {
          await Promise.race([make(), pause(REQUEST_MS).then(() => Promise.reject(new Error()))]);
          counts.changes += 1;
        } catch {
          counts.unknown += 1;
        }
      };

      await Promise.all(
        Array.from({ length: 16 }, async (_, worker) => {
          for (let index = worker; index < KEYS; index += 16) {
            const key = await createKey(services[index % PROCESSES] ?? fail(), `first-${index}`);
            keys.set(key.id, key);
          }
        }),
      );

      const makeChanges = async (): Promise<void> => {
        const waiting = new Set<Promise<void>>();
        const began = Date.now();
        for (let index = 0; !isOver(); index += 1) {
          const made = change(index).finally(() => waiting.delete(made));
          waiting.add(made);
          if (waiting.size >= CHANGES_PER_SECOND) await Promise.race(waiting);
          await pause(Math.max(1, began + (index * 1000) / CHANGES_PER_SECOND - Date.now()));
        }
        await Promise.all(waiting);
      };

      /**
       * Repeatedly requests transfers and updates without a signature. Returns the number of
       * responses.
       */
      const watch = async (server: DeliveryServer): Promise<number> => {
        let responses = 0;
        while (!isOver() || responses === 0)
          for (const zone of ZONES) {
            try {
              const rights = await findOpenRights(
                { server: server.address, zone },
                { tries: 1, seconds: 1 },
              );
              if (rights.length > 0) open.push({ server: server.name, zone, rights });
              responses += 1;
            } catch (error) {
              if (!(error instanceof NetError)) throw error; // the name server is down
            }
            await pause(50);
          }
        return responses;
      };

      const startAgain = async (index: number): Promise<void> => {
        for (;;)
          try {
            services[index] = await startServiceProcess(folder, variables);
            return;
          } catch {
            await pause(200); // the database is down
          }
      };
      const kill = async (): Promise<void> => {
        const service = anyOf(available());
        if (service === undefined) return;
        const index = services.indexOf(service);
        services[index] = undefined;
        await service.stop('SIGKILL');
        await pause(randomInt(1000));
        await startAgain(index);
        counts.kills += 1;
      };
      let suspension: Promise<void> | undefined;
      const suspend = (): Promise<void> => {
        const service = anyOf(available());
        if (service === undefined || suspension !== undefined) return Promise.resolve();
        suspended.add(service);
        service.process.kill('SIGSTOP');
        counts.suspensions += 1;
        suspension = pause(SUSPENDED_MS).then(() => {
          service.process.kill('SIGCONT');
          suspended.delete(service);
          suspension = undefined;
        });
        return Promise.resolve();
      };
      const restartServer = async (): Promise<void> => {
        const server = anyOf(servers);
        // Other processes of NSD continue if its main process is killed.
        if (server?.brand.name !== 'NSD' && randomInt(2) === 0) server?.signal('SIGKILL');
        await server?.stop();
        await pause(randomInt(500));
        await server?.start();
        counts.daemons += 1;
      };
      const restartDatabase = async (): Promise<void> => {
        await database.stop(anyOf(['SIGKILL', 'SIGQUIT', 'SIGINT'] as const) ?? 'SIGKILL');
        await pause(randomInt(500));
        // After a kill, PostgreSQL starts only when all of its former processes have ended.
        for (;;)
          try {
            await database.start();
            break;
          } catch {
            await pause(500);
          }
        counts.databases += 1;
      };
      const disturb = async (): Promise<void> => {
        // Starts with one fault of each kind, so that a run on a slow machine has all kinds.
        const faults = [suspend, kill, restartServer, restartDatabase];
        for (let index = 0; index < faults.length || !isOver(); index += 1) {
          await (faults[index] ?? anyOf(faults))?.();
          await pause(randomInt(200, 1500));
        }
        await suspension;
      };

      end = Date.now() + SECONDS * 1000;
      const [, responses] = await Promise.all([
        makeChanges(),
        Promise.all(servers.map(watch)),
        disturb(),
      ]);
      const service = available()[0] ?? fail();
      /**
       * Returns the keys in the database. They can still change: a service continues its changes
       * after a suspension.
       */
      const read = async (): Promise<DesiredKey[]> => {
        const found: DesiredKey[] = [];
        for (let path: string | undefined = '/v2/tsigkeys?limit=1000'; path !== undefined;) {
          const page = (await service.get(path)).body as unknown as {
            tsigkeys: CreatedKey[];
            links: { next?: string };
          };
          for (const { id, name, algorithm, secret } of page.tsigkeys)
            found.push({ id, name, algorithm, secret, version: 1, access: {} });
          const { next } = page.links;
          path = next === undefined ? undefined : new URL(next).pathname + new URL(next).search;
        }
        return found.toSorted((one, other) => (one.name < other.name ? -1 : 1));
      };

      /** Returns the differences between a name server and the database. */
      const differences = async (server: DeliveryServer): Promise<unknown[]> => {
        const { id } = await shownServer(service, server.name);
        const driver = DRIVERS[server.brand.driver]?.create(server.entry.local, id);
        const present = await read();
        const access = Object.fromEntries(server.rights.map((right) => [right, 'all'] as const));
        const sorted = present.map((key) => ({ ...key, access }));
        const owned = new Set([...present, ...deleted.values()].map(({ name }) => name));
        const found = await driver
          ?.compare({ zones: ZONES, keys: sorted }, owned, AbortSignal.timeout(60_000))
          .catch((error: unknown) => [{ kind: 'other' as const, message: String(error) }]);
        // This driver has not loaded a configuration, so only its queries show which keys the
        // server has loaded.
        return (found ?? []).filter(({ message }) => !message.includes('may not have loaded'));
      };
      for (const server of servers)
        await expect
          .poll(() => differences(server), { interval: 200, message: server.name })
          .toEqual([]);
      const untilDelivered = () =>
        expect
          .poll(() => query('SELECT nameserver_id, id FROM outbox'), { interval: 200 })
          .toEqual([]);
      await untilDelivered();
      const present = await read();
      const names = new Set(present.map(({ name }) => name));
      const gone = [...deleted.values()].filter(({ name }) => !names.has(name));
      await untilLive(service, ...servers.map(({ name }) => name));
      await Promise.all(
        servers.map(async (server) => {
          for (const key of present)
            expect([server.name, key.name, await verdictOf(server, key)]).toEqual([
              server.name,
              key.name,
              'good',
            ]);
          for (const key of gone.slice(-20))
            expect(['unknown key', 'rejected']).toContain(await verdictOf(server, key));
        }),
      );
      expect(open).toEqual([]);
      for (const each of responses) expect(each).toBeGreaterThan(0);
      const { kills, suspensions, daemons, databases } = counts;
      expect(Math.min(kills, suspensions, daemons, databases)).toBeGreaterThan(0);
      // On a slow machine, a server can get all changes of the test in one pass.
      await createKey(service, 'after-the-faults');
      await untilDelivered();
      const fences = await query<{ server: string; fence: string; kind: string }>(
        'SELECT server, fence, kind FROM test_fences ORDER BY seq',
      );
      for (const { name } of servers)
        for (const kind of ['claim', 'apply']) {
          const written = fences
            .filter((row) => row.server === name && row.kind === kind)
            .map(({ fence }) => Number(fence));
          expect(written.length).toBeGreaterThan(1);
          expect([name, kind, written]).toEqual([
            name,
            kind,
            [...new Set(written)].sort((one, other) => one - other),
          ]);
        }
    },
    (SECONDS + 240) * 1000,
  );
});
