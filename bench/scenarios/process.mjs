import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { databaseWith } from '../data.mjs';
import { finish, interleave, median, rowOf } from '../rounds.mjs';
import { ownToken, ROOT, sendRequest, startService } from '../service.mjs';

/**
 * Measures the time from the start of the process to its first response, without rows and with
 * 100,000 rows.
 */
export async function start(bench) {
  const started = async (count) => {
    const service = await startService({ database: (await databaseWith(count)).setting });
    const measured = { rate: 1000 / service.startMs, cpu: service.cpu(), p50: service.startMs };
    await service.stop();
    return measured;
  };
  const { empty, full } = await interleave(
    { ...bench, rounds: bench.rounds + 2 },
    { empty: () => started(0), full: () => started(100_000) },
  );
  const target = { atMost: 400, unit: 'ms', of: 'p50' };
  return [
    rowOf({ name: 'start to first response, empty', measured: empty, target }),
    rowOf({ name: 'start to first response, 100,000 rows', measured: full, target }),
    rowOf({
      name: 'start: 100,000 rows against empty',
      measured: full,
      floor: empty,
      target: { atMost: 1.1 },
    }),
  ];
}

/** The time limit of the memory scenario. A slow machine completes fewer requests in this time. */
const MAX_MEMORY_SECONDS = 90;

/**
 * Measures the resident memory of an idle service without rows, of an idle service with 100,000
 * rows, and after up to 1,000,000 requests.
 */
export async function memory(bench) {
  const { setting, rows } = await databaseWith(100_000);
  const [fresh, service] = [
    await startService({}),
    await startService({ database: setting, profile: bench.profileOf('memory') }),
  ];
  const atMost = (name, value) => finish({ name, value, target: { atMost: 120, unit: 'MB' } });
  const out = [
    atMost('memory: idle, empty', fresh.memory()),
    atMost('memory: idle, 100,000 rows', service.memory()),
  ];
  await fresh.stop();
  const headers = await ownToken(service);
  const paths = rows.slice(0, 100).map(({ id }) => `/v2/tlds/${id}`);
  const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
  const tenth = bench.quick ? 2000 : 100_000;
  const levels = [];
  const began = performance.now();
  while (levels.length < 10 && performance.now() - began < MAX_MEMORY_SECONDS * 1000) {
    await bench.load.send({
      url: service.url,
      headers,
      traffic: 'get',
      args: { paths, bodies },
      connections: 64,
      amount: tenth,
    });
    levels.push(service.memory());
    service.emptyLog();
  }
  const requests = (tenth * levels.length).toLocaleString('en-GB');
  out.push({
    ...atMost(`memory: after ${requests} requests`, levels.at(-1)),
    peakMb: service.memory('VmHWM'),
  });
  const growth = median(levels.slice(-3)) / median(levels.slice(0, 4));
  out.push(
    finish({
      name: 'memory: last requests against first requests',
      ratio: growth,
      value: growth,
      target: { atMost: 1.1 },
    }),
  );
  await service.stop();
  return out;
}

/** Measures the size of a production installation on disk: the runtime packages and the program. */
export async function size() {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const shipped = Object.entries(packages).filter(
    ([path, { dev, optional }]) => path !== '' && dev !== true && optional !== true,
  );
  const kilobytes = (paths) => {
    const { stdout } = spawnSync('du', ['-sk', ...paths], { cwd: ROOT, encoding: 'utf8' });
    return stdout
      .trim()
      .split('\n')
      .reduce((sum, line) => sum + Number(line.split('\t')[0]), 0);
  };
  const outermost = shipped
    .map(([path]) => path)
    .filter((path) => path.lastIndexOf('node_modules/') === 0);
  const name = `size: ${shipped.length} packages, and the program of ${(kilobytes(['dist']) / 1024).toFixed(1)} MB`;
  return [
    finish({
      name,
      value: kilobytes([...outermost, 'dist']) / 1024,
      target: { atMost: 60, unit: 'MB' },
    }),
  ];
}
