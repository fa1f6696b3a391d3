import { databaseWith } from '../data.mjs';
import { startFloor } from '../floors.mjs';
import { finish, floorRun, interleave, median, rowOf, underLoad } from '../rounds.mjs';
import { ownToken, startService } from '../service.mjs';

/**
 * Measures durable changes over 64 connections. The floor is raw SQLite with one insertion per
 * commit.
 */
export async function writes(bench) {
  const [{ setting }, { path }] = [await databaseWith(1000), await databaseWith(1000)];
  const [service, floor] = await Promise.all([
    startService({ database: setting, profile: bench.profileOf('writes') }),
    startFloor('sqlite', path),
  ]);
  const headers = await ownToken(service);
  // A short round on a busy machine may create nothing that the next one can change.
  await underLoad(bench, service, { traffic: 'create', args: {}, amount: 64, headers });
  let left = 0;
  const { one, create, patch, remove } = await interleave(bench, {
    one: () => floorRun(floor, { seconds: bench.seconds }),
    async create() {
      const measured = await underLoad(bench, service, { traffic: 'create', args: {}, headers });
      left = Math.max(1, Math.floor(measured.rate * bench.seconds * 0.9));
      return measured;
    },
    patch: () => underLoad(bench, service, { traffic: 'patch', args: {}, headers }),
    remove: () => underLoad(bench, service, { traffic: 'remove', args: {}, amount: left, headers }),
  });
  const rows = [
    rowOf({
      name: 'durable create, 64 connections',
      measured: create,
      floor: one,
      metric: 'rate',
      service,
      target: { atLeast: 2.5 },
    }),
    finish({
      name: 'durable create: p99',
      p99: median(create.map(({ p99 }) => p99)),
      value: median(create.map(({ p99 }) => p99)),
      target: { atMost: 25, unit: 'ms' },
    }),
    rowOf({
      name: 'PATCH, 64 connections',
      measured: patch,
      floor: one,
      metric: 'rate',
      service,
      target: { atLeast: 2 },
    }),
    rowOf({
      name: 'DELETE, 64 connections',
      measured: remove,
      floor: one,
      metric: 'rate',
      service,
      target: { atLeast: 2 },
    }),
  ];
  await Promise.all([service.stop(), floor.stop()]);
  return rows;
}
