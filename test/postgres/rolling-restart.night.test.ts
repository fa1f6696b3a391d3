import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createClient } from '../harness/client.ts';
import { startNginx } from '../harness/nginx.ts';
import { freePort } from '../harness/connections.ts';
import { createDatabase } from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const TOKEN = 'rolling-token-0123456789-0123456789abcdef';
const CALLERS = 6;
const ROUNDS = 3;

const folder = temporaryFolder();

describe.runIf(hasProgram('nginx', 'nginx-light'))('behind nginx', () => {
  test('no request fails under load while two processes restart one after another', async () => {
    const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'rolling');
    const ports = [await freePort(), await freePort()];
    const start = (port: number) =>
      startServiceProcess(folder, {
        TSIGIL_DATABASE_URL: url,
        TSIGIL_ADMIN_TOKEN: TOKEN,
        TSIGIL_LISTEN: `127.0.0.1:${port}`,
      });
    const services = await Promise.all(ports.map(start));
    const nginx = await startNginx(join(folder, 'nginx'), ports);
    const client = createClient(nginx.url, TOKEN);
    let restarting = true;
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      let answered = 0;
      for (let step = 0; restarting; step += 1) {
        const created = await client.post('/v2/tlds', { name: `roll-${caller}-${step}` });
        expect(created.status, `${created.text}${nginx.errors()}`).toBe(201);
        const read = await client.get(`/v2/tlds/${created.body.id}`);
        const deleted = await client.delete(`/v2/tlds/${created.body.id}`);
        expect([read.status, deleted.status]).toEqual([200, 204]);
        answered += 3;
      }
      return answered;
    });
    const finished = Promise.all(callers);
    const rolled = (async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const [index, port] of ports.entries()) {
          await nginx.takeOut(index);
          expect(await services[index]?.stop('SIGTERM')).toBe(0);
          services[index] = await start(port);
        }
      }
    })().finally(() => {
      restarting = false;
    });
    const [counts] = await Promise.all([finished, rolled]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(100);
    await nginx.stop();
    for (const service of services) expect(await service.stop('SIGTERM')).toBe(0);
  }, 120_000);
});
