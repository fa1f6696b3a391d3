// `node bench/delivery.mjs`: measures the delivery of keys to real name servers with many zones and
// keys. Prints the time from a creation until the key is verified. Prints the times from a deletion
// until the name server refuses the key, and until the name server is live. Prints how many keys
// per second the service creates with and without name servers, and how much of a core it uses
// while nothing changes. Fails if a result misses its target. `--brand BIND` measures only BIND,
// `--brand creates` only the creation of keys, and `--brand idle` only the idle service.
// `--row TEXT` measures the rows with this text in their names. `--rights transfer`,
// `--own-lists 1000`, `--zones 100` and `--keys 10` change the rows; with `--grants 100`, each key has
// its rights in 100 zones of the pool. `--lifecycles 10000` gives so many keys of the idle service an
// expiry, and `--rotations 200` replaces so many of them, as if a day ago. `--seconds 60`, `--settle 0` and
// `--servers BIND,NSD` change the measurement of the idle service.
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { brandOf, ROWS } from './delivery-rows.mjs';
import { nameServerHarness } from './harness.mjs';
import { ownToken, sendRequest, startService, temporaryFolder } from './service.mjs';

const { values } = parseArgs({
  options: {
    brand: { type: 'string' },
    row: { type: 'string', default: '' },
    rounds: { type: 'string', default: '20' },
    rights: { type: 'string' },
    zones: { type: 'string' },
    keys: { type: 'string' },
    'own-lists': { type: 'string' },
    'pool-keys': { type: 'string' },
    grants: { type: 'string' },
    lifecycles: { type: 'string', default: '0' },
    rotations: { type: 'string', default: '0' },
    profile: { type: 'string' },
    servers: { type: 'string', default: 'BIND,BIND,BIND,BIND,Knot,Knot,NSD,NSD' },
    settle: { type: 'string', default: '160' },
    seconds: { type: 'string', default: '360' },
  },
});
const rounds = Number(values.rounds);

/** A list of grants may name 5,000 zones by their ids. */
const LARGE_BODIES = { TSIGIL_API_MAX_BODY_BYTES: '1048576' };

/** The id of the default pool. */
const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

/**
 * The settings for the comparison of creation rates. `share` is the lowest accepted ratio of the
 * rate with name servers to the rate without name servers.
 */
const CREATES = { servers: 3, rounds: 5, keys: 1000, callers: 16, share: 0.75 };

/**
 * The settings for the idle service. It reads all keys again after six checks, one a minute.
 * `percent` is the highest accepted share of a core.
 */
const IDLE = { zones: 10, keys: 2000, percent: 1 };

const harness = await nameServerHarness();
const { BRANDS, ZONES, probeKey, startDrivenServer } = harness;
const wanted = (name) =>
  values.brand === undefined || values.brand.toLowerCase() === name.toLowerCase();
const given = {
  ...(values.rights === undefined ? {} : { rights: values.rights.split(',') }),
  ...(values.zones === undefined ? {} : { zones: Number(values.zones) }),
  ...(values.keys === undefined ? {} : { keys: Number(values.keys) }),
  ...(values.grants === undefined ? {} : { granted: Number(values.grants) }),
  ...(values['own-lists'] === undefined ? {} : { ownLists: Number(values['own-lists']) }),
};
const chosen = ROWS.filter(({ name, brand }) => wanted(brand) && name.includes(values.row));
const hasCreates = wanted('creates') && values.row === '';
const hasIdle = wanted('idle') && values.row === '';
if (chosen.length === 0 && !hasCreates && !hasIdle)
  throw new Error(
    `No row matches --brand '${values.brand ?? ''}' and --row '${values.row}'. See bench/delivery-rows.mjs.`,
  );
for (const row of chosen) {
  const brand = BRANDS.find(({ name }) => name === row.brand);
  if (brand === undefined) print(`${row.name}: ${row.brand} is not installed`);
  else await measureDelivery(brand, { ...row, ...given });
}
if (hasCreates) await measureCreates();
if (hasIdle) await measureIdle({ ...IDLE, ...given });
process.exit();

/** Measures how long keys take to reach a name server with many zones and keys. */
async function measureDelivery(brand, row) {
  const { name, zones: count, keys, rights, scopes, limitMs, granted = 0 } = row;
  const names = zoneNames(count);
  // These zones name access lists for one zone, which keys with the scope `ZONE` need.
  const owners = names.slice(0, row.ownLists);
  const poolKeys = Number(values['pool-keys'] ?? 10);
  const grants = granted === 0 ? undefined : { rights, count: granted };
  const database = await filledDatabase(names, owners, keys, poolKeys, grants);
  const configured = brandOf(brand, row);
  const server = await startServer(configured, names);
  const began = performance.now();
  const service = await startService({
    ...database,
    variables: { ...LARGE_BODIES, ...delivering([{ brand: configured, server, rights }]) },
    ...(values.profile === undefined ? {} : { profile: values.profile }),
  });
  try {
    await untilLive(service);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    print(`${name}: ${names.length} zones, ${keys} keys, live after ${seconds} s`);
    for (const scope of scopes) {
      const zone = scope === 'POOL' ? names.at(-1) : owners.at(-1);
      const resource = scope === 'POOL' ? POOL : database.zoneIds.get(zone);
      const isGranted = grants !== undefined && scope === 'POOL';
      const given = isGranted ? { grants: grantsFrom(database.zoneIds, names, -1, grants) } : {};
      const times = { verified: [], refused: [], live: [] };
      const cpu = service.cpu();
      for (let round = 0; round < rounds; round += 1)
        await measureRound({ server, service, scope, resource, zone, rights, given }, times);
      const cpuMs = Math.round((service.cpu() - cpu) / 1000 / rounds);
      report(`${name}, ${scope}, verified`, times.verified, limitMs);
      report(`${name}, ${scope}, refused`, times.refused, limitMs);
      report(`${name}, ${scope}, live after the deletion`, times.live);
      print(
        `${name}, ${scope}, CPU time of the service for a creation and a deletion: ${cpuMs} ms`,
      );
    }
    const { file } = configured.options(server);
    const size = file !== undefined && existsSync(file) ? statSync(file).size : 0;
    const memory = [service.memory(), service.memory('VmHWM')]
      .map(Math.round)
      .join(' MB, at most ');
    print(`${name}: file of ${(size / 1e6).toFixed(1)} MB, memory of the service ${memory} MB`);
  } finally {
    await service.stop();
    await server.remove();
  }
}

/**
 * Creates a key, waits until the key is verified, and deletes the key. Then waits until the name
 * server refuses the key, and until the name server is live.
 */
async function measureRound(context, times) {
  const { service, scope, resource, given } = context;
  const began = performance.now();
  const round = `round-${randomBytes(6).toString('hex')}`;
  const key = await createKey(service, round, scope, resource, given);
  const deliveries = await sendRequest(service, 'GET', `/v2/tsigkeys/${key.id}/deliveries?wait=30`);
  times.verified.push(performance.now() - began);
  const { state } = JSON.parse(deliveries);
  if (state !== 'delivered')
    throw new Error(`The key is '${state}', not 'delivered': ${deliveries}`);
  await expectKey(context, key, true);
  const deleted = performance.now();
  await sendRequest(service, 'DELETE', `/v2/tsigkeys/${key.id}`, undefined, 204);
  await expectKey(context, key, false);
  times.refused.push(performance.now() - deleted);
  await untilLive(service);
  times.live.push(performance.now() - deleted);
}

/** Waits at most 30 s until a name server accepts or refuses the key for each right. */
async function expectKey({ server, zone, rights }, key, accepted) {
  const until = performance.now() + 30_000;
  for (const right of rights)
    for (;;) {
      const target = { server: server.address, zone, serials: new Map() };
      const { verdict: seen } = await probeKey(key, right, target, Date.now);
      if (seen !== 'no response' && (seen === 'good') === accepted) break;
      if (performance.now() > until)
        throw new Error(`The name server still returns '${seen}' after 30 s`);
      await pause(5);
    }
}

/** Compares the creation rates with and without 3 BIND servers, in alternating rounds. */
async function measureCreates() {
  const brand = BRANDS.find(({ name }) => name === 'BIND');
  if (brand === undefined) return print('creations: BIND is not installed');
  const servers = await Promise.all(
    Array.from({ length: CREATES.servers }, () => startServer(brand, ZONES)),
  );
  const without = await startService({ ...(await filledDatabase(ZONES, ZONES, 0, 0)) });
  const delivery = await startService({
    ...(await filledDatabase(ZONES, ZONES, 0, 0)),
    variables: delivering(servers.map((server) => ({ brand, server }))),
  });
  const rates = { without: [], delivery: [] };
  try {
    await untilLive(delivery);
    for (let round = -1; round < CREATES.rounds; round += 1) {
      const pair = [await createMany(without, round), await createMany(delivery, round)];
      const lag = performance.now();
      await untilLive(delivery);
      const lagMs = Math.round(performance.now() - lag);
      print(
        `creations without and with name servers, round ${round + 1}: ${pair.map(Math.round).join(' and ')} /s, live ${lagMs} ms later`,
      );
      if (round < 0) continue; // the first round warms the services up
      rates.without.push(pair[0]);
      rates.delivery.push(pair[1]);
    }
  } finally {
    for (const service of [without, delivery]) await service.stop();
    for (const server of servers) await server.remove();
  }
  const [before, after] = [median(rates.without), median(rates.delivery)];
  verdict(
    `creations: ${Math.round(before)} /s without name servers, ${Math.round(after)} /s with ${CREATES.servers}, ${Math.round((1 - after / before) * 100)}% fewer`,
    after >= before * CREATES.share,
    `at most ${Math.round((1 - CREATES.share) * 100)}% fewer`,
  );
}

/**
 * Measures how much of a core a service uses that only checks its name servers. The CPU time of the
 * process and its children counts, so that other programs hardly change the result.
 */
async function measureIdle({ zones: count, keys, percent }) {
  const names = values.servers === '' ? [] : values.servers.split(',');
  const known = BRANDS.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Error(`Unknown name server '${unknown}' in --servers. Use: ${known.join(', ')}.`);
  const missing = BRANDS.filter(({ name }) => names.includes(name)).filter(
    (brand) => !brand.isInstalled(),
  );
  if (missing.length > 0)
    print(`idle: not installed, so not measured: ${missing.map(({ name }) => name).join(', ')}`);
  const brands = names
    .map((name) => BRANDS.find((brand) => brand.name === name))
    .filter((brand) => !missing.includes(brand));
  const zones = zoneNames(count);
  const poolKeys = Number(values['pool-keys'] ?? keys);
  const lifecycles = Number(values.lifecycles);
  const database = await filledDatabase(zones, zones, keys, poolKeys, undefined, lifecycles);
  const served = [];
  for (const each of brands) {
    const isPowerdns = each.name === 'PowerDNS';
    // Otherwise PowerDNS needs a minute to write its keys, which no measurement includes.
    const brand = isPowerdns ? brandOf(each, { synchronous: 0 }) : each;
    const rights = each.name === 'NSD' ? ['transfer'] : ['transfer', 'update'];
    served.push({ brand, rights, server: await startServer(brand, zones) });
  }
  const service = await startService({
    ...database,
    variables: delivering(served),
    ...(values.profile === undefined ? {} : { profile: values.profile }),
  });
  try {
    if (served.length > 0) await untilLive(service, 300);
    // The third check of a new name server, after 30, 60 and 60 s, is the first that uses again what the
    // service knows.
    await pause(Number(values.settle) * 1000);
    const [start, began, before] = [service.cpu(), performance.now(), await passesOf(service)];
    const replaced = `${lifecycles} with a lifecycle, ${values.rotations} of them replaced, `;
    const rotating = lifecycles === 0 ? '' : replaced;
    const what = `idle: ${keys} keys, ${rotating}${zones.length} zones, ${brands.map(({ name }) => name).join(', ')}`;
    print(`${what}: ${(start / 1e6).toFixed(1)} s of CPU time until all are live and verified`);
    await pause(Number(values.seconds) * 1000);
    const used = service.cpu() - start;
    const share = used / (performance.now() - began) / 10;
    const passes = (await passesOf(service)).map((passed, index) => passed - before[index]);
    verdict(
      `${what}: ${share.toFixed(2)}% of a core in ${values.seconds} s with ${passes[0]} passes, ${passes[1]} of them not 'unchanged'; ${service.memory().toFixed(0)} MB`,
      share <= percent,
      `at most ${percent}%`,
    );
  } finally {
    await service.stop();
    for (const { server } of served) await server.remove();
  }
}

/** Returns the number of passes, and how many of them found or changed something or failed. */
async function passesOf(service) {
  const text = await sendRequest(service, 'GET', '/metrics');
  const lines = text.matchAll(/^tsigil_delivery_passes_total\{.*result="(.+)"\} (\d+)$/gm);
  const passes = [...lines].map(([, result, count]) => [result, Number(count)]);
  const sum = (some) => some.reduce((total, [, count]) => total + count, 0);
  return [sum(passes), sum(passes.filter(([result]) => result !== 'unchanged'))];
}

/** Creates keys with concurrent callers. Returns the number of keys per second. */
async function createMany(service, round) {
  const began = performance.now();
  await inParallel(CREATES.callers, CREATES.keys, (index) =>
    createKey(service, `burst-${round}-${index}`, 'POOL', POOL),
  );
  return (CREATES.keys * 1000) / (performance.now() - began);
}

/** Starts a name server. Kills the name server when this process ends, even after a signal. */
async function startServer(brand, zones) {
  const server = await startDrivenServer(brand, zones);
  process.on('exit', () => {
    server.signal('SIGKILL');
    rmSync(server.folder, { recursive: true, force: true });
  });
  return server;
}

/** Returns `count` zone names, including those of the harness. */
function zoneNames(count) {
  const more = Array.from({ length: count - ZONES.length }, (_, index) => `zone-${index}.test`);
  return [...ZONES, ...more];
}

/**
 * Creates a database with zones and keys through the API of a service without name servers.
 * `poolKeys` of the keys apply to the pool, and each other key to one zone of `owners`. With `grants`,
 * all apply to the pool, and have rights in some of its zones.
 */
async function filledDatabase(zones, owners, keys, poolKeys, grants, lifecycles = 0) {
  const database = `sqlite:${join(temporaryFolder(), 'tsigil.db')}`;
  const service = await startService({ database, variables: LARGE_BODIES });
  const { headers } = service;
  const project = { ...service, headers: await ownToken(service, 'bench') };
  const zoneIds = new Map();
  await inParallel(16, zones.length, async (index) => {
    const body = { name: `${zones[index]}.`, email: 'hostmaster@a.test' };
    const { id } = JSON.parse(await sendRequest(project, 'POST', '/v2/zones', body, 201));
    zoneIds.set(zones[index], id);
  });
  await inParallel(16, keys, async (index) => {
    const key = await createOne(index);
    if (index < lifecycles) await giveLifecycle(service, key, index);
  });
  await service.stop();
  if (lifecycles > 0) await age(database);
  return { database, headers, zoneIds };

  function createOne(index) {
    const zone = zoneIds.get(owners[index % owners.length]);
    if (grants !== undefined)
      return createKey(service, `granted-${index}`, 'POOL', POOL, {
        grants: grantsFrom(zoneIds, zones, index, grants),
      });
    return index < poolKeys
      ? createKey(service, `pool-${index}`, 'POOL', POOL)
      : createKey(service, `key-${index}`, 'ZONE', zone);
  }
}

/**
 * Gives a key an expiry in 100 days, and replaces the first keys. The clients of half of these have
 * moved, so that both keys work for the overlap of a week.
 */
async function giveLifecycle(service, { id }, index) {
  const expiry = new Date(Date.now() + 100 * 86_400_000).toISOString().replace('Z', '000');
  const path = `/v2/tsigkeys/${id}`;
  await sendRequest(service, 'PATCH', `${path}/lifecycle`, { expires_at: expiry });
  if (index >= Number(values.rotations)) return;
  await sendRequest(service, 'POST', `${path}/rotate`, {}, 201);
  if (index % 2 === 0) await sendRequest(service, 'POST', `${path}/confirm`, {});
}

/** Lets each rotation have begun a day ago: its clients take days, and the job looks less often. */
async function age(database) {
  const { DatabaseSync } = await import('@photostructure/sqlite');
  const file = new DatabaseSync(database.replace(/^sqlite:/, ''));
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().replace('Z', '000');
  file
    .prepare(
      `UPDATE tsigkey_lifecycles SET started_at = ?, verified_at = ? WHERE state <> 'active'`,
    )
    .run(yesterday, yesterday);
  file.close();
}

/** Returns grants for `count` zones: those after the zones of the key before, or the last ones. */
function grantsFrom(zoneIds, zones, index, { rights, count }) {
  const start = index < 0 ? zones.length - count : (index * count) % zones.length;
  const granted = Array.from({ length: count }, (_, at) => zones[(start + at) % zones.length]);
  return [{ rights, zones: granted.map((zone) => zoneIds.get(zone)) }];
}

function createKey(service, name, scope, resource, more = {}) {
  const body = { name, algorithm: 'hmac-sha256', scope, resource_id: resource, ...more };
  return sendRequest(service, 'POST', '/v2/tsigkeys', body, 201).then(JSON.parse);
}

/** Returns the environment variable that sets `nameServers`. */
function delivering(served) {
  const entries = served.map(({ brand, server, rights }, index) => ({
    name: `ns${index + 1}`,
    driver: brand.driver,
    rights,
    address: `127.0.0.1:${server.address.port}`,
    probeZone: `${ZONES[0]}.`,
    local: brand.options(server),
  }));
  return { TSIGIL_NAME_SERVERS: JSON.stringify(entries) };
}

/** Waits until every name server has all its keys. */
async function untilLive(service, seconds = 60) {
  const until = performance.now() + seconds * 1000;
  for (;;) {
    const list = await sendRequest(service, 'GET', '/v2/nameservers');
    const states = JSON.parse(list).nameservers.map(({ state }) => state);
    if (states.length > 0 && states.every((state) => state === 'live')) return;
    if (performance.now() > until)
      throw new Error(`The name servers are not live after ${seconds} s: ${list}`);
    await pause(20);
  }
}

/** Runs `work` for each number below `count`, with at most `atOnce` concurrent calls. */
async function inParallel(atOnce, count, work) {
  const waiting = Array.from({ length: count }, (_, index) => index).values();
  const run = async () => {
    for (const index of waiting) await work(index);
  };
  await Promise.all(Array.from({ length: atOnce }, run));
}

function report(what, measured, limitMs) {
  const sorted = measured.toSorted((one, other) => one - other);
  const at = (share) => sorted[Math.ceil(share * sorted.length) - 1];
  const shown = [0.5, 0.95, 0.99].map((share) => `p${share * 100} ${Math.round(at(share))}`);
  const text = `${what}: ${shown.join(', ')} ms`;
  if (limitMs === undefined) print(text);
  else verdict(text, at(0.95) < limitMs, `p95 below ${limitMs} ms`);
}

function verdict(text, isMet, target) {
  print(`${text} (target: ${target}; ${isMet ? 'met' : 'MISSED'})`);
  if (!isMet) process.exitCode = 1;
}

function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)];
}

function print(text) {
  process.stdout.write(`${text}\n`);
}
