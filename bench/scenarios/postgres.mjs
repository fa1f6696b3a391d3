import { fill } from '../data.mjs';
import { startFloor } from '../floors.mjs';
import { postgresHarness } from '../harness.mjs';
import { floorRun, interleave, rowOf, underLoad } from '../rounds.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';

const CALLERS = 64;

/**
 * Measures reads and durable creations on PostgreSQL. The floors are raw `pg` with named statements.
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
    const service = await startService({ database, profile: bench.profileOf('postgres') });
    const headers = await ownToken(service);
    const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
    const raw = (statement) => () =>
      floorRun(floor, { statement, seconds: bench.seconds, callers: CALLERS });
    const size = Buffer.byteLength(await sendRequest(service, 'GET', paths[0]));
    const measured = await interleave(bench, {
      rawGet: raw('get'),
      http: () =>
        underLoad(bench, bare, {
          traffic: 'get',
          args: { paths: [`/${size}`], bodies: ['x'.repeat(size)] },
        }),
      get: () => underLoad(bench, service, { traffic: 'get', args: { paths, bodies }, headers }),
      rawCreate: raw('create'),
      create: () => underLoad(bench, service, { traffic: 'create', args: {}, headers }),
    });
    const both = measured.rawGet.map(({ rate, cpu }, round) => ({
      rate,
      cpu: cpu + measured.http[round].cpu,
    }));
    const table = [
      rowOf({
        name: 'PostgreSQL: GET, against raw pg',
        measured: measured.get,
        floor: measured.rawGet,
        service,
        target: { atMost: 2.5 },
      }),
      rowOf({
        name: 'PostgreSQL: GET, against raw pg and node:http',
        measured: measured.get,
        floor: both,
        service,
      }),
      rowOf({
        name: 'PostgreSQL: create, against raw pg',
        measured: measured.create,
        floor: measured.rawCreate,
        service,
      }),
    ];
    await Promise.all([service, floor, bare].map((each) => each.stop()));
    return table;
  } finally {
    await server.remove();
  }
}
