import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFairTurns } from '../../src/http/admission/fair-turns.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

describe('fair turns of the event loop', () => {
  /**
   * Returns fair turns with a fake clock and a fake event loop. Each turn runs the work that the
   * previous turn deferred.
   */
  function loop() {
    let now = 100;
    let due: (() => void)[] = [];
    const began: string[] = [];
    let connections = 0;
    const turns = createFairTurns({
      now: () => now,
      later: (work) => due.push(work),
      connections: () => connections,
    });
    return {
      ...turns,
      began,
      connect: () => void (connections += 1),
      pass: (milliseconds: number) => void (now += milliseconds),
      /** Queues a request that takes `milliseconds`. */
      wait: (name: string, milliseconds: number) =>
        turns.wait(name.slice(0, 1), () => {
          began.push(name);
          now += milliseconds;
        }),
      turn() {
        const works = due;
        due = [];
        for (const work of works) work();
        return began.splice(0);
      },
    };
  }

  test('begin requests at once until they have run for 5 ms in one turn', () => {
    const { mayBegin, pass, turn } = loop();
    expect(mayBegin()).toBe(true);
    pass(4.9);
    expect(mayBegin()).toBe(true);
    pass(0.1);
    expect([mayBegin(), mayBegin()]).toEqual([false, false]);
    turn();
    expect(mayBegin()).toBe(true);
  });

  test('serve callers in rotation, regardless of the order of arrival', () => {
    const { wait, turn } = loop();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) wait(name, 0.1);
    expect(turn()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4']);
  });

  test('begin one expensive request per turn, or up to 32 cheap requests', () => {
    const { wait, turn } = loop();
    for (const name of ['a1', 'a2', 'b1']) wait(name, 8);
    expect([turn(), turn(), turn(), turn()]).toEqual([['a1'], ['b1'], ['a2'], []]);
    for (let number = 0; number < 60; number += 1) wait(`a${number}`, 0.1);
    expect(turn()).toHaveLength(32);
    expect(turn()).toHaveLength(28);
  });

  test('serve no request while connections arrive, for at most 20 ms', () => {
    const { wait, connect, pass, turn } = loop();
    for (let number = 0; number < 10; number += 1) wait(`a${number}`, 2.5);
    connect();
    expect(turn()).toEqual([]);
    expect(turn()).toEqual(['a0', 'a1']);
    connect();
    expect(turn()).toEqual([]);
    pass(19.9);
    connect();
    expect(turn()).toEqual([]);
    pass(0.1);
    connect();
    expect(turn()).toEqual(['a2', 'a3']);
  });

  test.each([
    { served: 10, most: 40 },
    { served: 100, most: 150 },
  ])(
    'serve no request while connections arrive, for at most $most ms after a turn of $served ms',
    ({ served, most }) => {
      const { wait, connect, pass, turn } = loop();
      for (const name of ['a1', 'a2', 'a3']) wait(name, served);
      expect(turn()).toEqual(['a1']);
      connect();
      expect(turn()).toEqual([]);
      pass(most - 0.1);
      connect();
      expect(turn()).toEqual([]);
      pass(0.1);
      connect();
      expect(turn()).toEqual(['a2']);
    },
  );
});

describe('a service whose caller requests 100 long pages at once', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
    const tlds = Array.from({ length: 1000 }, (_, index) => ({ name: `name-${index}` }));
    expect((await service.post('/v2/tlds/bulk', { tlds })).status).toBe(200);
  });

  /** Opens a connection and waits until the service has accepted it. */
  async function open(): Promise<Socket> {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write('GET /healthcheck HTTP/1.1\r\nHost: h\r\n\r\n');
    await once(socket, 'data');
    return socket;
  }

  const request = (path: string, token: string) =>
    `GET ${path} HTTP/1.1\r\nHost: h\r\nX-Auth-Token: ${token}\r\nConnection: close\r\n\r\n`;

  test.each(['/v2/tlds?limit=1', '/v2/pools', '/healthcheck'])(
    '200 for GET %s of another caller before half of the pages are complete',
    async (path) => {
      const other = await clientFor(service, ['admin']);
      expect((await other.get('/v2/pools')).status).toBe(200);
      const before = service.log.length;
      const greedy = await Promise.all(Array.from({ length: 100 }, open));
      const late = await open();
      const first = before + 101;
      await expect.poll(() => service.log.length).toBe(first);
      const ends = [...greedy, late].map((socket) => once(socket.resume(), 'end'));
      for (const socket of greedy) socket.write(request('/v2/tlds?limit=1000', service.token));
      await Promise.race(greedy.map((socket) => once(socket, 'data')));
      late.write(request(path, other.token));
      await Promise.all(ends);
      const routes = service.log
        .slice(first)
        .map((line) => JSON.parse(line) as { route: string; callerId?: string });
      const place = routes.findIndex(({ callerId }) => callerId !== 'configured');
      expect(routes).toHaveLength(101);
      expect(place).toBeLessThan(50); // without fair turns, this response would be the last
    },
  );
});
