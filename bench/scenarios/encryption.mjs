import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { source, POOL } from '../data.mjs';
import { interleave, median, rowOf, underLoad } from '../rounds.mjs';
import { ownToken, sendRequest, startService, temporaryFolder } from '../service.mjs';

const KEYS = 1000;
const PAGE = 100;
const AT = '2026-01-01T00:00:00.000000';
const LATER = '2026-01-02T00:00:00.000000';

/**
 * Measures the cost of encryption at rest with warm caches. The service always encrypts the secrets
 * in a SQLite database. The floor of a request is therefore its cost minus the cost of encryption
 * in the store.
 */
export async function encryption(bench) {
  const service = await startService({ profile: bench.profileOf('encryption') });
  service.headers = await ownToken(service);
  const ids = [];
  for (let number = 0; number < KEYS; number += 1) {
    const body = newKey(`key-${number}`);
    ids.push(JSON.parse(await sendRequest(service, 'POST', '/v2/tsigkeys', body, 201)).id);
  }
  const read = async (paths, connections) => {
    const bodies = [];
    for (const path of paths) bodies.push(await sendRequest(service, 'GET', path));
    return () =>
      underLoad(bench, service, { traffic: 'get', args: { paths, bodies }, connections });
  };
  const requests = await interleave(bench, {
    get: await read(
      ids.map((id) => `/v2/tsigkeys/${id}`),
      64,
    ),
    list: await read([`/v2/tsigkeys?limit=${PAGE}`], 16),
    create: () => underLoad(bench, service, { traffic: 'createKeys', args: newKey('') }),
  });
  await service.stop();
  const [plain, encrypted] = [await openStore(false), await openStore(true)];
  const parts = {};
  for (const operation of ['get', 'list', 'create']) {
    parts[`${operation} plain`] = () => cpuOf(bench, plain[operation]);
    parts[`${operation} encrypted`] = () => cpuOf(bench, encrypted[operation]);
  }
  const stores = await interleave(bench, parts);
  await Promise.all([plain.close(), encrypted.close()]);
  const row = (name, operation, atMost) => {
    const cost = median(
      stores[`${operation} encrypted`].map(
        ({ cpu }, round) => cpu - stores[`${operation} plain`][round].cpu,
      ),
    );
    const floor = requests[operation].map(({ cpu }) => ({ cpu: cpu - cost }));
    return rowOf({
      name: `${name}, against no encryption`,
      measured: requests[operation],
      floor,
      target: { atMost },
    });
  };
  return [
    row('GET one key', 'get', 1.1),
    row(`list of ${PAGE} keys`, 'list', 1.05),
    row('create a key', 'create', 1.15),
  ];
}

/** The members of a stored key that callers do not set. */
const SET_BY_SERVICE = {
  secret_octets: 32,
  secret_set_at: AT,
  published: false,
  weak: false,
  unusable: false,
  orphaned: false,
  granted: null,
  version: 1,
  updated_at: null,
};

/** Returns the members of a key with a random secret. */
function newKey(name) {
  return {
    name,
    algorithm: 'hmac-sha256',
    secret: randomBytes(32).toString('base64'),
    scope: 'POOL',
    resource_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
  };
}

/**
 * Opens a store with keys in a new database. Returns the operations to measure. Each operation
 * returns the number of times that it ran.
 */
async function openStore(isEncrypted) {
  const [{ openDatabase }, { createKeyring }, { masterKeyOf }] = await Promise.all([
    source('database/open-database'),
    source('secrets/store/create-keyring'),
    source('core/master-key'),
  ]);
  const [{ tsigkey }, { keyed }] = await Promise.all([
    source('resources/tsigkey'),
    source('core/query'),
  ]);
  const keyring = createKeyring([masterKeyOf(randomBytes(32))]);
  const { store } = await openDatabase(
    `sqlite:${join(temporaryFolder(), 'tsigil.db')}`,
    POOL,
    () => AT,
    isEncrypted ? { secrets: { keyring, required: true } } : {},
  );
  const insertMany = async (count, at) => {
    const ids = Array.from({ length: count }, () => randomUUID());
    const insert = (id) =>
      store.write((writer) =>
        writer.insert(
          tsigkey,
          keyed(tsigkey, { ...newKey(id), ...SET_BY_SERVICE, id, created_at: at }),
        ),
      );
    await Promise.all(ids.map(insert));
    return ids;
  };
  const ids = await insertMany(KEYS, AT);
  const page = {
    limit: PAGE,
    sortField: 'created_at',
    descending: false,
    conditions: [],
    shownOnly: true,
  };
  const turn = { owner: 'bench', signal: () => undefined };
  return {
    async get() {
      for (const id of ids) await store.get(tsigkey, id);
      return ids.length;
    },
    async list() {
      await store.page(tsigkey, page, turn);
      return 1;
    },
    async create() {
      return (await insertMany(64, LATER)).length; // `list` returns only the older keys
    },
    close: () => store.close(),
  };
}

/**
 * Repeats an operation. Returns its rate per second, and the CPU time of one operation in
 * microseconds.
 */
async function cpuOf({ seconds }, operation) {
  const before = process.cpuUsage();
  const end = performance.now() + (seconds * 1000) / 2;
  let count = 0;
  while (performance.now() < end) count += await operation();
  const { user, system } = process.cpuUsage(before);
  return { rate: count / (seconds / 2), cpu: (user + system) / count };
}
