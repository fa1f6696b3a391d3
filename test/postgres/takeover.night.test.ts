import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bind } from '../harness/brands/bind.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { createDatabase, queryPostgres } from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';

const TOKEN = 'takeover-token-0123456789-0123456789abcdef';

describe.runIf(bind.isInstalled())('two services that deliver to the same name server', () => {
  const folder = temporaryFolder();
  let url: string;
  let proxy: TcpProxy;
  let server: DeliveryServer;
  let one: ServiceProcess;
  let other: ServiceProcess;

  const start = (databaseUrl = url) =>
    startServiceProcess(folder, {
      ...delivering(server),
      TSIGIL_DATABASE_URL: databaseUrl,
      TSIGIL_ADMIN_TOKEN: TOKEN,
    });
  /** Returns the id of the process that has claimed the name server. */
  const holder = async (): Promise<unknown> =>
    (await queryPostgres(url, 'SELECT holder FROM nameservers'))[0]?.holder;
  const reloads = () =>
    [...server.output().matchAll(/received control channel command 'reconfig'/g)].length;

  beforeAll(async () => {
    url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'takeover');
    proxy = await startTcpProxy(Number(new URL(url).port), 'LISTEN ');
    server = await startDeliveryServer(bind);
    one = await start();
    other = await start();
    await createZones(one);
    await untilLive(one);
  });
  afterAll(async () => {
    await Promise.all([one.stop('SIGTERM'), other.stop('SIGTERM')]);
    await proxy.close();
  });

  test('apply each change once', async () => {
    const before = reloads();
    for (let round = 0; round < 10; round += 1) {
      const client = round % 2 === 0 ? one : other;
      const key = await createKey(client, `once-${round}`);
      await expect.poll(async () => (await deliveries(client, key.id)).state).toBe('delivered');
      expect(await verdictOf(server, key)).toBe('good');
    }
    expect(reloads() - before).toBe(10);
  });

  test('if one service is killed during a pass, the other service takes over', async () => {
    await other.stop('SIGTERM');
    const before = reloads();
    server.signal('SIGSTOP');
    const key = await createKey(one, 'taken-over');
    await expect.poll(holder, { interval: 20 }).not.toBeNull();
    other = await start();
    await one.stop('SIGKILL');
    server.signal('SIGCONT');
    let state = '';
    while (state !== 'delivered') state = (await deliveries(other, key.id, 1)).state;
    expect(await verdictOf(server, key)).toBe('good');
    expect(reloads() - before).toBe(1);
    one = await start();
  });

  test('without notifications, the changes of a process that delivers nothing reach the name server', async () => {
    await Promise.all([one.stop('SIGTERM'), other.stop('SIGTERM')]);
    const proxied = new URL(url);
    proxied.port = String(proxy.port);
    other = await start(proxied.href);
    one = await startServiceProcess(folder, {
      TSIGIL_DATABASE_URL: url,
      TSIGIL_ADMIN_TOKEN: TOKEN,
    });
    await untilLive(one);
    const expectDelivery = async (name: string) => {
      const { id } = await createKey(one, name);
      await expect.poll(async () => (await deliveries(one, id)).state).toBe('delivered');
    };
    await expectDelivery('notified');
    proxy.behave('stall-marked');
    for (let round = 0; round < 3; round += 1) await expectDelivery(`polled-${round}`);
    proxy.behave('cut-marked');
    proxy.behave('pass');
    await expectDelivery('again');
  });
});
