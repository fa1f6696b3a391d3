import { finish, interleave, median, rowOf, underLoad } from '../rounds.mjs';
import { postgresHarness } from '../harness.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';

const KEYS = 100;
const STARTS = 9;
const TLDS = ['example', 'test'];
const KEY = {
  algorithm: 'hmac-sha256',
  secret: 'c2VjcmV0IG9mIHRoZSBiZW5jaG1hcms=',
  scope: 'POOL',
  resource_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
};

/** The rows on SQLite: the name, the operation, and how the builds are compared. */
const ROWS = [
  ['GET one key, CPU', 'getKey', { target: { atMost: 1.03 } }],
  ['GET one TLD, CPU', 'getTld', { target: { atMost: 1.05 } }],
  ['list of 100 keys, CPU', 'listKeys', { target: { atMost: 1.06 } }],
  ['list of TLDs, CPU', 'listTlds', { target: { atMost: 1.05 } }],
  ['key create, CPU', 'createKey', { target: { atMost: 1.05 } }],
  ['key create', 'createKey', { metric: 'rate', target: { atLeast: 0.95 } }],
  ['key DELETE, CPU', 'removeKey', { target: { atMost: 1.05 } }],
  ['key DELETE', 'removeKey', { metric: 'rate', target: { atLeast: 0.95 } }],
  ['durable create', 'create', { metric: 'rate', target: { atLeast: 0.7 } }],
  ['durable create, CPU', 'create', { target: { atMost: 1.05 } }],
  ['TLD PATCH, CPU', 'patch', { target: { atMost: 1.05 } }],
  ['TLD DELETE, CPU', 'remove', { target: { atMost: 1.05 } }],
  ['zone create, CPU', 'zones', { target: { atMost: 1.05 } }],
  ['tlds/check of 1,000 names, CPU', 'check', { target: { atMost: 1.05 } }],
];

/** How many short rounds, one build directly after the other, make one round of the table. */
const SHORT_ROUNDS = 10;

/**
 * Compares the cost of the current build with that of another build, `bench.before`. Both builds
 * run at the same time on separate databases. Their rounds are short and alternate, because the
 * speed of a machine changes by more in two seconds than the builds differ.
 */
export async function before(whole) {
  const programs = { before: whole.before, now: undefined };
  const bench = whole.quick
    ? whole
    : { ...whole, seconds: 0.25, rounds: whole.rounds * SHORT_ROUNDS };
  const rows = [...(await embedded(bench, programs)), ...(await onPostgres(bench, programs))];
  return [...rows, ...(await starts(bench, programs))];
}

/** Returns a function that measures both builds, in turns one first and the other first. */
function inPairs(onBuild) {
  let order = ['before', 'now'];
  return async () => {
    order = [...order].reverse();
    const pair = {};
    for (const name of order) pair[name] = await onBuild(name);
    return pair;
  };
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
  const operations = {};
  for (const [name, service] of Object.entries(services))
    operations[name] = await operationsOn(bench, name, service);
  const parts = Object.keys(operations.now).map((operation) => {
    const onBuild = (name) => operations[name][operation]();
    return [operation, inPairs(onBuild)];
  });
  const measured = await interleave(bench, Object.fromEntries(parts));
  const compare = comparison(bench, measured);
  for (const service of Object.values(services)) await service.stop();
  return ROWS.map(([name, operation, options]) => compare(name, operation, options));
}

/** Returns the functions that measure one build, by operation. Deletions follow creations. */
async function operationsOn(bench, name, service) {
  const ids = { tsigkeys: [], tlds: [] };
  for (let number = 0; number < KEYS; number += 1)
    ids.tsigkeys.push(await create(service, 'tsigkeys', { ...KEY, name: `key-${number}.example` }));
  for (const tld of TLDS) ids.tlds.push(await create(service, 'tlds', { name: tld }));
  const load = (traffic, args, amount) => underLoad(bench, service, { traffic, args, amount });
  const read = async (paths) => {
    const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
    return () => load('get', { paths, bodies });
  };
  const names = Array.from({ length: 1000 }, (_, number) => `zone-${number}.${TLDS[0]}.`);
  const expected = await sendRequest(service, 'POST', '/v2/tlds/check', { names });
  const changes = async (createTraffic, createArgs, removeArgs) => {
    // A short round on a busy machine may create nothing that the next one can change.
    await load(createTraffic, createArgs, 64);
    let left = 1;
    return {
      async create() {
        const measured = await load(createTraffic, createArgs);
        left = Math.max(1, Math.floor(measured.rate * bench.seconds * 0.9));
        return measured;
      },
      remove: () => load('remove', removeArgs, left),
    };
  };
  const owner = `${name} keys`;
  const keys = await changes(
    'createKeys',
    { ...KEY, service: owner },
    { service: owner, collection: 'tsigkeys' },
  );
  const tlds = await changes('create', { service: name }, { service: name });
  return {
    getKey: await read(ids.tsigkeys.map((id) => `/v2/tsigkeys/${id}`)),
    getTld: await read(ids.tlds.map((id) => `/v2/tlds/${id}`)),
    listKeys: await read(['/v2/tsigkeys?limit=100']),
    listTlds: await read([`/v2/tlds?limit=${TLDS.length}`]),
    check: () =>
      load('post', { path: '/v2/tlds/check', body: JSON.stringify({ names }), expected }),
    zones: () => load('zones', { tlds: TLDS }),
    createKey: keys.create,
    removeKey: keys.remove,
    create: tlds.create,
    patch: () => load('patch', { service: name }),
    remove: tlds.remove,
  };
}

async function onPostgres(bench, programs) {
  const { startPostgres, createDatabase } = await postgresHarness();
  const server = await startPostgres({ fsync: 'on', synchronous_commit: 'on' });
  try {
    const services = await startBoth(programs, (name) => createDatabase(server.url, name));
    const onBuild = (name) => underLoad(bench, services[name], { traffic: 'create', args: {} });
    const measured = await interleave(bench, { create: inPairs(onBuild) });
    for (const service of Object.values(services)) await service.stop();
    return [
      comparison(bench, measured)('PostgreSQL: durable create', 'create', {
        metric: 'rate',
        target: { atLeast: 0.7 },
      }),
    ];
  } finally {
    await server.remove();
  }
}

/**
 * Starts each build `STARTS` times, and compares the time to the first response and the
 * memory.
 */
async function starts(bench, programs) {
  const measured = { before: [], now: [] };
  for (let round = 0; round < STARTS; round += 1) {
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
      name: `start to first response, increase over ${bench.beforeName}`,
      value: difference('ms'),
      target: { atMost: 30, unit: 'ms' },
    }),
    finish({
      name: `memory of an idle service, increase over ${bench.beforeName}`,
      value: difference('mb'),
      target: { atMost: 6, unit: 'MB' },
    }),
  ];
}

/** Returns a function that creates the row of one operation, with the other build as the floor. */
function comparison(bench, measured) {
  return (name, operation, options) =>
    rowOf({
      name: `${name}, against ${bench.beforeName}`,
      measured: measured[operation].map(({ now }) => now),
      floor: measured[operation].map(({ before }) => before),
      shortRounds: SHORT_ROUNDS,
      peakMb: undefined,
      ...options,
    });
}

async function create(service, collection, resource) {
  return JSON.parse(await sendRequest(service, 'POST', `/v2/${collection}`, resource, 201)).id;
}
