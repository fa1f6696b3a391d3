import { fill } from '../data.mjs';
import { startFloor } from '../floors.mjs';
import { postgresHarness } from '../harness.mjs';
import { floorRun, interleave, rowOf, underLoad } from '../rounds.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';

const CALLERS = 64;

/**
 * Measures reads and durable creations on PostgreSQL, with one process and with two processes. The
 * floors are raw `pg` with named statements.
 */
export async function postgres(bench) {
  const { startPostgres, createDatabase } = await postgresHarness();
  const server = await startPostgres({ fsync: 'on', synchronous_commit: 'on' });
  try {
    const database = await createDatabase(server.url, 'bench');
    const rows = await fill(database, 1000);
    const paths = rows.slice(0, 100).map(({ id }) => `/v2/tlds/${id}`);
    const floor = await startFloor(
      'pg',
      database,
      rows
        .slice(0, 100)
        .map(({ id }) => id)
        .join(','),
    );
    const bare = await startFloor('http');
    const services = {};
    for (const workers of [1, 2]) {
      const headers = services[1]?.headers;
      services[workers] = await startService({
        database,
        headers,
        variables: { TSIGIL_WORKERS: String(workers) },
        profile: bench.profileOf(`postgres-${workers}`),
      });
    }
    const headers = await ownToken(services[1]);
    const get = async (service) => {
      const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
      return () => underLoad(bench, service, { traffic: 'get', args: { paths, bodies }, headers });
    };
    const create = (service) => () =>
      underLoad(bench, service, { traffic: 'create', args: {}, headers });
    const raw = (statement) => () =>
      floorRun(floor, { statement, seconds: bench.seconds, callers: CALLERS });
    const size = Buffer.byteLength(await sendRequest(services[1], 'GET', paths[0]));
    const measured = await interleave(bench, {
      rawGet: raw('get'),
      http: () =>
        underLoad(bench, bare, {
          traffic: 'get',
          args: { paths: [`/${size}`], bodies: ['x'.repeat(size)] },
        }),
      get1: await get(services[1]),
      get2: await get(services[2]),
      rawCreate: raw('create'),
      create1: create(services[1]),
      create2: create(services[2]),
    });
    const both = measured.rawGet.map(({ rate, cpu }, round) => ({
      rate,
      cpu: cpu + measured.http[round].cpu,
    }));
    const table = [
      rowOf({
        name: 'PostgreSQL: GET, 1 process, against raw pg',
        measured: measured.get1,
        floor: measured.rawGet,
        service: services[1],
        target: { atMost: 2.5 },
      }),
      rowOf({
        name: 'PostgreSQL: GET, 1 process, against raw pg and node:http',
        measured: measured.get1,
        floor: both,
        service: services[1],
      }),
      rowOf({
        name: 'PostgreSQL: GET, 2 processes, against 1',
        measured: measured.get2,
        floor: measured.get1,
        metric: 'rate',
        service: services[2],
      }),
      rowOf({
        name: 'PostgreSQL: create, 1 process, against raw pg',
        measured: measured.create1,
        floor: measured.rawCreate,
        service: services[1],
      }),
      rowOf({
        name: 'PostgreSQL: create, 2 processes, against 1',
        measured: measured.create2,
        floor: measured.create1,
        metric: 'rate',
        service: services[2],
        target: { atLeast: 1 },
      }),
    ];
    await Promise.all([...Object.values(services), floor, bare].map((each) => each.stop()));
    return table;
  } finally {
    await server.remove();
  }
}
