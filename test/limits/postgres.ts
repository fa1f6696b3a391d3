import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { createDatabase, queryPostgres } from '../harness/postgres.ts';
import { TEST_MASTER_KEY } from '../harness/service.ts';
import { IN_TURN, requestText, single } from './attack.ts';
import { readingTheTrail } from './callers.ts';
import { longTrailOnPostgres, manyZonesOnPostgres, PROJECT } from './databases.ts';
import { deliveryAttacks } from './delivery.ts';
import type { Scenario } from './scenario.ts';

/**
 * The maximum private memory of one PostgreSQL backend for one connection of the service, in MB.
 */
const BACKEND_MB = 64;

/** The default maximum number of database connections of the service. */
const POOL_SIZE = 10;

const FILTERS = ['name', 'type', 'email', 'status', 'description', 'ttl'];
const SORTS = ['created_at', 'updated_at', 'name', 'serial', 'ttl', 'status'].flatMap((key) => [
  `sort_key=${key}`,
  `sort_key=${key}&sort_dir=desc`,
]);

/** Returns every permutation of the words. */
function permutations(words: readonly string[]): string[][] {
  if (words.length <= 1) return [[...words]];
  return words.flatMap((word) =>
    permutations(words.filter((other) => other !== word)).map((rest) => [word, ...rest]),
  );
}

/**
 * Returns equivalent queries in different spellings. Each could become a separate prepared
 * statement.
 */
function differentQueries(): string[] {
  return permutations(FILTERS).flatMap((names, turn) =>
    SORTS.map((sort, index) => {
      const filters = names.map(
        (name, place) =>
          `${name}=${(turn + index) % (place + 2) === 0 && name !== 'ttl' ? '*x*' : '1'}`,
      );
      return `/v2/zones?${filters.join('&')}&${sort}`;
    }),
  );
}

/** Returns the private memory of each backend of a database, in MB. */
async function backendMemoryMb(url: string): Promise<number[]> {
  // The backend of this query has ended.
  const rows = await queryPostgres<{ pid: number }>(
    url,
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  return rows.map(
    ({ pid }) =>
      Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
  );
}

/**
 * Creates a PostgreSQL database named after `folder` if it does not exist. Returns the URL of the
 * database.
 */
async function ownDatabase(folder: string): Promise<string> {
  return createDatabase(process.env.TEST_POSTGRES_URL ?? '', basename(folder));
}

async function onPostgres(folder: string, statement: string): Promise<void> {
  await queryPostgres(await ownDatabase(folder), statement);
}

/** Attacks by a caller with a valid token on a service with PostgreSQL. */
const SCENARIOS: readonly Scenario[] = [
  {
    name: 'List with the same filters in every order, on PostgreSQL',
    bound:
      'The conditions of filters have a fixed order. No prepared statement depends on a request.',
    settings: [],
    cost: 'The time of one query for each request.',
    prepare: async (folder) => ({ TSIGIL_DATABASE_URL: await ownDatabase(folder) }),
    async attack(target) {
      const token = await target.token('reader', PROJECT);
      const requests = differentQueries().map((path) =>
        requestText('GET', path, { 'X-Auth-Token': token }),
      );
      return { ...IN_TURN, seconds: 30, connections: 20, blocks: single(...requests) };
    },
    pooledConnections: POOL_SIZE,
    atLeast: { succeeded: 1000 },
    async problems(_report, service) {
      const memory = await backendMemoryMb(await ownDatabase(service.folder));
      const most = Math.max(...memory);
      return most <= BACKEND_MB ? [] : [`a backend has ${Math.round(most)} MB`];
    },
  },
  {
    name: 'Run 40 slow lists at once, on PostgreSQL',
    bound:
      'Such lists use at most a third of the connections, and the lists of one caller at most a sixth. Each list ends after 10 s.',
    settings: ['databasePool.maxConnections', 'api.scanTimeoutSeconds'],
    cost: 'Nothing for requests that read single resources.',
    prepare: manyZonesOnPostgres,
    async attack(target) {
      const token = await target.token('reader', PROJECT);
      const pattern = encodeURIComponent(`${'*a'.repeat(100)}*b`);
      const requests = ['name', 'description'].map((name) =>
        requestText('GET', `/v2/zones?${name}=${pattern}`, { 'X-Auth-Token': token }),
      );
      return { ...IN_TURN, seconds: 6, connections: 40, blocks: single(...requests) };
    },
    pooledConnections: POOL_SIZE,
    atLeast: { opened: 40 },
  },
  ...deliveryAttacks(onPostgres).map((scenario) => ({
    ...scenario,
    name: `${scenario.name}, on PostgreSQL`,
    prepare: async (folder: string) => ({
      ...(await scenario.prepare?.(folder)),
      TSIGIL_DATABASE_URL: await ownDatabase(folder),
    }),
    pooledConnections: POOL_SIZE,
  })),
  {
    name: 'Stream and list an audit trail of 200,000 records on 20 connections, on PostgreSQL',
    bound:
      'A stream pauses after each part. One runs per caller and two in total; further ones get 429.',
    settings: [],
    cost: 'The time of one part for each stream, and of one list.',
    prepare: longTrailOnPostgres,
    attack: readingTheTrail,
    pooledConnections: POOL_SIZE,
    atLeast: { succeeded: 10 },
  },
];

/** The attacks, on services that encrypt their secrets. */
export const POSTGRES = SCENARIOS.map((scenario) => ({
  ...scenario,
  variables: { TSIGIL_ENCRYPTION_MASTER_KEY: TEST_MASTER_KEY },
}));
