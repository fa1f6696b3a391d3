import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { createDatabase, startPostgres, type PostgresServer } from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { countInDoubt, emptyLedger, storm, verify } from '../harness/storm.ts';

const SECONDS = 30;
const PROCESSES = 2;
const CALLERS = 8;

const folder = temporaryFolder();
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});

test(
  `no acknowledged write is lost, and no write is repeated or partial, after ${SECONDS} s of kills`,
  async () => {
    const variables = {
      TSIGIL_DATABASE_URL: await createDatabase(server.url, 'chaos'),
      TSIGIL_ADMIN_TOKEN: 'chaos-token-0123456789-0123456789abcdef',
    };
    const services: (ServiceProcess | undefined)[] = [];
    for (let index = 0; index < PROCESSES; index += 1)
      services[index] = await startServiceProcess(folder, variables);
    const end = Date.now() + SECONDS * 1000;
    const ledger = emptyLedger();
    const anyService = () => {
      const alive = services.filter((service) => service !== undefined);
      return alive[randomInt(Math.max(1, alive.length))];
    };
    const disturbances = { service: 0, database: 0 };
    const isOver = () => Date.now() >= end && disturbances.service > 0 && disturbances.database > 0;
    const callers = Array.from({ length: CALLERS }, (_, caller) => call(caller));
    while (!isOver()) {
      await pause(randomInt(200, 1500));
      // Starts with one disturbance of each kind, so that a run on a slow machine has both kinds.
      const { service, database } = disturbances;
      if (database === 0 || (service > 0 && randomInt(3) === 0)) await disturbDatabase();
      else await disturbService(randomInt(PROCESSES));
    }
    const acknowledged = (await Promise.all(callers)).reduce((sum, count) => sum + count, 0);
    const inDoubt = countInDoubt(ledger);
    const witness = await startServiceProcess(folder, variables);
    await verify(witness, ledger);
    for (const service of [...services, witness]) expect(await service?.stop('SIGTERM')).toBe(0);
    expect(acknowledged).toBeGreaterThan(0);
    expect(inDoubt).toBeGreaterThan(0);

    /**
     * Uses one service until a request gets no response, and then another service, until the end.
     * Returns the number of acknowledged writes.
     */
    async function call(caller: number): Promise<number> {
      let acknowledgedHere = 0;
      for (let turn = 0; !isOver(); turn += 1) {
        const untilFailure = (answered: boolean) =>
          answered && !isOver() ? anyService() : undefined;
        acknowledgedHere += await storm(untilFailure, `c${caller}-t${turn}`, ledger);
        await pause(20);
      }
      return acknowledgedHere;
    }

    async function disturbService(index: number): Promise<void> {
      const service = services[index];
      services[index] = undefined;
      await service?.stop(randomInt(2) === 0 ? 'SIGKILL' : 'SIGTERM');
      services[index] = await startServiceProcess(folder, variables);
      disturbances.service += 1;
    }

    async function disturbDatabase(): Promise<void> {
      await server.stop((['SIGKILL', 'SIGQUIT', 'SIGINT'] as const)[randomInt(3) as 0 | 1 | 2]);
      await pause(randomInt(500));
      await server.start();
      disturbances.database += 1;
    }
  },
  (SECONDS + 120) * 1000,
);
