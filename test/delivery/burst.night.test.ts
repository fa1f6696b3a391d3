import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkRequest } from '../../src/domain/dns/key-check.ts';
import { queryOverUdp } from '../../src/net/dns.ts';
import { bind } from '../harness/brands/bind.ts';
import { knot } from '../harness/brands/knot.ts';
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
import { watchProcesses } from '../harness/process-watch.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

/** The text that each server prints when it reloads its configuration. */
const RELOADS: Readonly<Record<string, RegExp>> = {
  BIND: /received control channel command 'reconfig'/g,
  Knot: /control, received command 'reload'/g,
};

/** Returns how often a server has reloaded its configuration. */
function reloadsOf({ brand, output }: DeliveryServer): number {
  return [...output().matchAll(RELOADS[brand.name] ?? /^$/g)].length;
}

describe.runIf(bind.isInstalled() && knot.isInstalled())('a burst of new keys', () => {
  const folder = temporaryFolder();
  let servers: DeliveryServer[];
  let service: ServiceProcess;

  beforeAll(async () => {
    servers = [await startDeliveryServer(bind, 'bind'), await startDeliveryServer(knot, 'knot')];
    service = await startServiceProcess(folder, delivering(...servers));
    await createZones(service);
    await untilLive(service, 'bind', 'knot');
  });
  afterAll(async () => {
    await service.stop('SIGTERM');
    for (const server of servers) await server.remove();
  });

  test('is live after fewer reloads than keys, loses no query, and shows no secret to other processes', async () => {
    const stop = new AbortController();
    const watch = watchProcesses(service.process.pid ?? 0, stop.signal);
    const queries = Promise.all(servers.map((server) => countQueries(server, stop.signal)));
    const before = servers.map(reloadsOf);
    const count = 300;
    const keys: CreatedKey[] = [];
    await Promise.all(
      Array.from({ length: 16 }, async (_, worker) => {
        for (let index = worker; index < count; index += 16)
          keys.push(await createKey(service, `burst-${index}`));
      }),
    );
    for (const { name } of servers)
      await expect
        .poll(() => shownServer(service, name))
        .toMatchObject({ state: 'live', keys_live: count });
    stop.abort();
    const [lost] = [await queries, await watch];
    const reloads = servers.map((server, index) => reloadsOf(server) - (before[index] ?? 0));
    for (const each of reloads) expect(each).toBeGreaterThan(0);
    for (const each of reloads) expect(each).toBeLessThan(count);
    expect(lost.map((each) => each.lost)).toEqual([0, 0]);
    for (const server of servers)
      for (const index of [0, Math.floor(count / 2), count - 1]) {
        const key = keys[index];
        expect(key && (await verdictOf(server, key))).toBe('good');
      }
  });

  test('for a server that is down needs one reload after its restart, and fewer attempts than keys', async () => {
    const [down, up] = servers;
    if (down === undefined || up === undefined) throw new Error('There are no servers');
    const { keys_live: before } = await shownServer(service, up.name);
    const count = 300;
    await down.stop();
    await Promise.all(
      Array.from({ length: 16 }, async (_, worker) => {
        for (let index = worker; index < count; index += 16)
          await createKey(service, `down-${index}`);
      }),
    );
    await expect
      .poll(() => shownServer(service, up.name))
      .toMatchObject({ state: 'live', keys_live: before + count });
    const attempts = async () => (await shownServer(service, down.name)).attempts;
    await expect.poll(attempts).toBeGreaterThan(3);
    expect(await attempts()).toBeLessThan(count);
    const reloads = reloadsOf(down);
    await down.start();
    await expect
      .poll(() => shownServer(service, down.name))
      .toMatchObject({ state: 'live', keys_live: before + count });
    expect(reloadsOf(down) - reloads).toBe(1);
  });
});

/**
 * Sends about 200 queries per second until `signal` aborts. Counts the queries without a response.
 */
async function countQueries({ address }: DeliveryServer, signal: AbortSignal) {
  const counts = { sent: 0, lost: 0 };
  const waiting: Promise<void>[] = [];
  while (!signal.aborted) {
    const id = counts.sent % 65_536;
    counts.sent += 1;
    waiting.push(
      queryOverUdp(address, { octets: checkRequest('query', 'b.test', id, '') }, () => true, {
        tries: 1,
        seconds: 3,
      }).then(
        () => undefined,
        () => void (counts.lost += 1),
      ),
    );
    await pause(5);
  }
  await Promise.all(waiting);
  return counts;
}
