import { IN_TURN, NEW_WORD, pipelined, requestText, single, type Attack } from './attack.ts';
import { longTrail, manyZones, PROJECT } from './databases.ts';
import type { Scenario, Target } from './scenario.ts';

const KB = 1024;
const EXAMPLE_ID = '00000000-0000-4000-8000-000000000000';

/**
 * Returns a pattern for which a backtracking matcher needs exponential time, because zones repeat
 * one letter in names and descriptions.
 */
const pattern = (last: string) => encodeURIComponent(`${'*a'.repeat(100)}*${last}`);

async function reading(
  target: Target,
  paths: readonly string[],
  attack: Partial<Attack> & { bytes?: number },
  role: 'admin' | 'reader' = 'reader',
) {
  const token = await target.token(role, PROJECT);
  const requests = paths.map((path) => requestText('GET', path, { 'X-Auth-Token': token }));
  return {
    ...IN_TURN,
    connections: 4,
    blocks: attack.bytes === undefined ? single(...requests) : pipelined(attack.bytes, ...requests),
    ...attack,
  };
}

async function posting(
  target: Target,
  role: 'admin' | 'member',
  path: string,
  body: unknown,
  attack: Partial<Attack>,
): Promise<Attack> {
  const token = await target.token(role, PROJECT);
  return {
    ...IN_TURN,
    connections: 4,
    blocks: single(requestText('POST', path, { 'X-Auth-Token': token }, body)),
    ...attack,
  };
}

/** Streams and lists a long audit trail on 20 connections, by requests that take turns. */
async function readingTheTrail(target: Target): Promise<Attack> {
  const token = await target.token('admin');
  const stream = { accept: 'application/x-ndjson', 'X-Auth-Token': token };
  return {
    ...IN_TURN,
    connections: 20,
    blocks: single(
      requestText('GET', '/v2/audit', stream),
      requestText('GET', '/v2/audit?sort_dir=asc&limit=1000', { 'X-Auth-Token': token }),
      requestText('GET', '/v2/audit?resource_id=none', stream),
    ),
  };
}

/** Attacks by a caller with a valid token. */
export const CALLERS: readonly Scenario[] = [
  {
    name: 'Pipeline 64 KB of lists of 1000 zones on 50 connections without reading responses',
    prepare: manyZones,
    attack: (target) =>
      reading(target, ['/v2/zones?limit=1000'], {
        bytes: 64 * KB,
        connections: 50,
        sending: 'always',
        reading: 'nothing',
      }),
    atLeast: { opened: 10, sentBytes: 100 * KB },
  },
  {
    name: 'Read lists of 1000 zones on 500 connections',
    prepare: manyZones,
    attack: (target) => reading(target, ['/v2/zones?limit=1000'], { connections: 500 }),
    atLeast: { succeeded: 20 },
  },
  {
    name: 'Pipeline 64 KB of requests on 200 connections',
    attack: (target) =>
      reading(target, [`/v2/zones/${EXAMPLE_ID}`], {
        bytes: 64 * KB,
        connections: 200,
        sending: 'always',
      }),
    atLeast: { opened: 200, answers: 100 },
  },
  {
    name: 'Send requests one after the other on 1000 connections',
    attack: (target) => reading(target, [`/v2/zones/${EXAMPLE_ID}`], { connections: 1000 }),
    atLeast: { opened: 500, answers: 1000 },
  },
  {
    name: 'Filter 100,000 zones by patterns',
    prepare: manyZones,
    attack(target) {
      const paths = Array.from(
        { length: 20 },
        (_, number) =>
          `/v2/zones?${number % 2 === 0 ? 'name' : 'description'}=${pattern(`b${number}`)}`,
      );
      return reading(target, paths, { bytes: 20 * 700 });
    },
    atLeast: { succeeded: 4 },
  },
  {
    name: 'List the zones outside the TLD list, among 100,000 zones',
    prepare: manyZones,
    attack: (target) =>
      reading(
        target,
        ['/v2/zones?outside_tlds=true', '/v2/zones?outside_tlds=false&limit=1000'],
        {},
        'admin',
      ),
    atLeast: { succeeded: 1 },
  },
  {
    name: 'Dry-run 1.8 MB of TLD entries on 40 connections',
    heapMb: 256,
    writes: true,
    attack(target) {
      const tlds = Array.from({ length: 20_000 }, () => ({
        name: NEW_WORD,
        description: 'd'.repeat(48),
      }));
      return posting(
        target,
        'admin',
        '/v2/tlds/bulk',
        { tlds, dry_run: true },
        { connections: 40 },
      );
    },
    atLeast: { succeeded: 1 },
  },
  {
    name: 'Send the bodies of 300 large requests at one byte per second',
    async attack(target) {
      const tlds = Array.from({ length: 20_000 }, () => ({
        name: NEW_WORD,
        description: 'd'.repeat(48),
      }));
      const attack = await posting(
        target,
        'admin',
        '/v2/tlds/bulk',
        { tlds },
        { connections: 300, sending: 'a byte a second' },
      );
      return { ...attack, begin: (attack.blocks[0]?.text.length ?? 0) - 1000 };
    },
    atLeast: { opened: 20, sentBytes: 1024 * KB },
  },
  {
    name: 'Create TLD entries, 20,000 with each request',
    writes: true,
    attack(target) {
      const tlds = Array.from({ length: 20_000 }, () => ({
        name: NEW_WORD,
        description: 'd'.repeat(48),
      }));
      return posting(target, 'admin', '/v2/tlds/bulk', { tlds }, {});
    },
    atLeast: { succeeded: 1 },
  },
  {
    name: 'Send 2 MB of nested arrays',
    attack: (target) =>
      posting(
        target,
        'admin',
        '/v2/tlds/bulk',
        `${'['.repeat(1000 * KB)}${']'.repeat(1000 * KB)}`,
        {},
      ),
    atLeast: { answers: 10 },
  },
  {
    name: 'Stream and list an audit trail of 200,000 records on 20 connections',
    prepare: longTrail,
    attack: readingTheTrail,
    atLeast: { succeeded: 10 },
  },
];
