import { finish, interleave, median, rowOf, underLoad } from '../rounds.mjs';
import { postgresHarness } from '../harness.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';

const KEYS = 100;
const TLDS = ['example', 'test'];

/**
 * Compares the cost of the current build with that of another build, `bench.before`. Both builds
 * run at the same time on separate databases, and their rounds alternate.
 */
export async function before(bench) {
  const programs = { before: bench.before, now: undefined };
  const rows = [...(await embedded(bench, programs)), ...(await onPostgres(bench, programs))];
  return [...rows, ...(await starts(bench, programs))];
}

/** Starts both builds. `database` returns the database URL of a build. */
async function startBoth(programs, database = () => undefined) {
  const services = {};
  for (const [name, program] of Object.entries(programs)) {
    const service = await startService({ database: await database(name), program });
    services[name] = { ...service, headers: await ownToken(service, 'bench') };
  }
  return services;
}

async function embedded(bench, programs) {
  const services = await startBoth(programs);
  const parts = {};
  for (const [name, service] of Object.entries(services)) {
    const ids = [];
    for (let number = 0; number < KEYS; number += 1) ids.push(await createKey(service, number));
    for (const tld of TLDS) await sendRequest(service, 'POST', '/v2/tlds', { name: tld }, 201);
    const load = (traffic, args, amount) => underLoad(bench, service, { traffic, args, amount });
    const read = async (paths) => {
      const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
      return () => load('get', { paths, bodies });
    };
    const names = Array.from({ length: 1000 }, (_, number) => `zone-${number}.${TLDS[0]}.`);
    const expected = await sendRequest(service, 'POST', '/v2/tlds/check', { names });
    parts[`get ${name}`] = await read(ids.map((id) => `/v2/tsigkeys/${id}`));
    parts[`list ${name}`] = await read(['/v2/tsigkeys?limit=100']);
    parts[`check ${name}`] = () =>
      load('post', { path: '/v2/tlds/check', body: JSON.stringify({ names }), expected });
    parts[`zones ${name}`] = () => load('zones', { tlds: TLDS });
    let left = 1;
    parts[`create ${name}`] = async () => {
      const measured = await load('create', { service: name });
      left = Math.max(1, Math.floor(measured.rate * bench.seconds * 0.9));
      return measured;
    };
    parts[`patch ${name}`] = () => load('patch', { service: name });
    parts[`remove ${name}`] = () => load('remove', { service: name }, left);
  }
  const measured = await interleave(bench, parts);
  const compare = comparison(measured);
  const table = [
    compare('GET one key', 'get', { target: { atMost: 1.03 } }),
    compare('list of 100 keys', 'list', { target: { atMost: 1.06 } }),
    compare('durable create', 'create', { metric: 'rate', target: { atLeast: 0.7 } }),
    compare('durable create, CPU', 'create', { target: { atMost: 1.05 } }),
    compare('PATCH, CPU', 'patch', { target: { atMost: 1.05 } }),
    compare('DELETE, CPU', 'remove', { target: { atMost: 1.05 } }),
    compare('zone create, CPU', 'zones', { target: { atMost: 1.05 } }),
    compare('tlds/check of 1,000 names, CPU', 'check', { target: { atMost: 1.05 } }),
  ];
  for (const service of Object.values(services)) await service.stop();
  return table;
}

async function onPostgres(bench, programs) {
  const { startPostgres, createDatabase } = await postgresHarness();
  const server = await startPostgres({ fsync: 'on', synchronous_commit: 'on' });
  try {
    const services = await startBoth(programs, (name) => createDatabase(server.url, name));
    const parts = {};
    for (const [name, service] of Object.entries(services))
      parts[`create ${name}`] = () => underLoad(bench, service, { traffic: 'create', args: {} });
    const measured = await interleave(bench, parts);
    for (const service of Object.values(services)) await service.stop();
    return [
      comparison(measured)('PostgreSQL: durable create', 'create', {
        metric: 'rate',
        target: { atLeast: 0.7 },
      }),
    ];
  } finally {
    await server.remove();
  }
}

/**
 * Starts each build `3 * bench.rounds` times, and compares the time to the first response and the
 * memory.
 */
async function starts(bench, programs) {
  const measured = { before: [], now: [] };
  for (let round = 0; round < 3 * bench.rounds; round += 1) {
    for (const [name, program] of Object.entries(programs)) {
      const service = await startService({ program });
      measured[name].push({ ms: service.startMs, mb: service.memory() });
      await service.stop();
    }
  }
  const difference = (member) =>
    median(measured.now.map((each, round) => each[member] - measured.before[round][member]));
  return [
    finish({
      name: 'start to first response, increase over the other build',
      value: difference('ms'),
      target: { atMost: 30, unit: 'ms' },
    }),
    finish({
      name: 'memory of an idle service, increase over the other build',
      value: difference('mb'),
      target: { atMost: 6, unit: 'MB' },
    }),
  ];
}

/** Returns a function that creates the row of one operation, with the other build as the floor. */
function comparison(measured) {
  return (name, operation, options) =>
    rowOf({
      name: `${name}, against the other build`,
      measured: measured[`${operation} now`],
      floor: measured[`${operation} before`],
      peakMb: undefined,
      ...options,
    });
}

async function createKey(service, number) {
  const key = {
    name: `key-${number}.example`,
    algorithm: 'hmac-sha256',
    scope: 'POOL',
    resource_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
  };
  return JSON.parse(await sendRequest(service, 'POST', '/v2/tsigkeys', key, 201)).id;
}
