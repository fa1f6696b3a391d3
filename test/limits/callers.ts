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

/** Returns the text that is slowest to convert to ASCII: different characters outside ASCII. */
const distinctCharacters = (count: number) =>
  String.fromCodePoint(...Array.from({ length: count }, (_, index) => codePoint(index)));
const codePoint = (index: number) =>
  index < 26_000 ? 0x3400 + index + (index >= 6_592 ? 64 : 0) : 0xac00 + index - 26_000;

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
export async function readingTheTrail(target: Target): Promise<Attack> {
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
    bound:
      'Callers take turns. Unread responses of one caller take at most 16 MB. Further requests get 503.',
    settings: ['api.responseTimeoutSeconds'],
    cost: 'The time of two lists for each request.',
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
    bound: 'Callers take turns.',
    settings: ['api.maxConnectionsPerAddress'],
    cost: 'The time of two lists for each request.',
    prepare: manyZones,
    attack: (target) => reading(target, ['/v2/zones?limit=1000'], { connections: 500 }),
    atLeast: { succeeded: 20 },
  },
  {
    name: 'Pipeline 64 KB of requests on 200 connections',
    bound:
      'Callers take turns. A connection is closed when more than 64 requests wait. The remaining input of closing connections is discarded, one at a time.',
    settings: ['api.maxConnectionsPerAddress'],
    cost: 'The time to parse the requests of one event loop turn.',
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
    bound: 'Callers take turns. While connections arrive, requests wait for at most 150 ms.',
    settings: ['api.maxConnectionsPerAddress'],
    cost: 'The time of two requests for each request.',
    attack: (target) => reading(target, [`/v2/zones/${EXAMPLE_ID}`], { connections: 1000 }),
    atLeast: { opened: 500, answers: 1000 },
  },
  {
    name: 'Check a name of 37,000 different characters',
    bound: 'The service refuses a name that is too long before it converts the name to ASCII.',
    settings: ['api.maxBodyBytes'],
    cost: 'About 1 ms of CPU time for each request.',
    attack: (target) =>
      posting(target, 'member', '/v2/tlds/check', { names: [distinctCharacters(37_000)] }, {}),
    atLeast: { succeeded: 10 },
  },
  {
    name: 'Filter 100,000 zones by patterns',
    bound: 'Such lists run in a separate thread, two per caller, for at most 10 s each.',
    settings: ['api.scanTimeoutSeconds'],
    cost: 'CPU time on another core.',
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
    name: 'Filter and sort 100,000 zones by columns without an index',
    bound: 'Such lists run in a separate thread, two per caller, for at most 10 s each.',
    settings: ['api.scanTimeoutSeconds'],
    cost: 'CPU time on another core.',
    prepare: manyZones,
    attack(target) {
      const filters = [
        'email=nobody@example.org',
        'description=none',
        'ttl=1',
        'status=ERROR',
        'type=SECONDARY',
      ];
      const sorts = ['serial', 'ttl', 'status', 'tenant_id'].flatMap((key) => [
        `sort_key=${key}&limit=1000`,
        `sort_key=${key}&sort_dir=desc&description=a*`,
      ]);
      return reading(
        target,
        [...filters, ...sorts].map((query) => `/v2/zones?${query}`),
        { bytes: 8 * KB },
      );
    },
    atLeast: { succeeded: 4 },
  },
  {
    name: 'List the zones outside the TLD list, among 100,000 zones',
    bound:
      'The filter is evaluated on one batch of rows at a time, with other requests between two batches.',
    settings: [],
    cost: 'The time of one batch.',
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
    bound: 'One such request runs per caller, two in total, in slices of 5 to 15 ms.',
    settings: [],
    cost: 'At most 1 s for a write, and the time of two slices for every other request.',
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
    bound:
      'The large bodies of one caller take at most a quarter of 32 MB. Further requests wait, or get 503.',
    settings: ['api.requestTimeoutSeconds'],
    cost: 'Nothing: three quarters of this memory stay free.',
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
    bound: 'One such request runs per caller, two in total, in slices of 5 to 15 ms.',
    settings: [],
    cost: 'At most 1 s for a write, and the time of two slices for every other request.',
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
    bound:
      'A long body with more than 50,000 arrays and objects, or 50,000 members, is refused unparsed.',
    settings: [],
    cost: 'About 5 ms of CPU time for each request.',
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
    name: 'Send 2 MB of objects whose members all have different names',
    bound:
      'A long body with more than 50,000 arrays and objects, or 50,000 members, is refused unparsed.',
    settings: [],
    cost: 'About 5 ms of CPU time for each request.',
    attack: (target) => posting(target, 'admin', '/v2/tlds/bulk', differentNames(), {}),
    atLeast: { answers: 10 },
  },
  {
    name: 'Export keys',
    bound: 'A connection runs one request at a time, and is closed when more than 64 wait.',
    settings: [],
    cost: 'The time of one request for each connection.',
    async attack(target) {
      const { body } = await target.service.post('/v2/tsigkeys', {
        name: 'k.',
        algorithm: 'hmac-sha512',
        scope: 'POOL',
        resource_id: EXAMPLE_ID,
      });
      return reading(
        target,
        [`/v2/tsigkeys/${body.id}/export?format=bind`],
        { bytes: 64 * KB, connections: 20 },
        'admin',
      );
    },
    atLeast: { succeeded: 100 },
  },
  {
    name: 'Stream and list an audit trail of 200,000 records on 20 connections',
    bound:
      'A stream pauses after each part. One runs per caller and two in total; further ones get 429.',
    settings: [],
    cost: 'The time of one part for each stream, and of one list.',
    prepare: longTrail,
    attack: readingTheTrail,
    atLeast: { succeeded: 10 },
  },
];

/** Returns a list of objects with 60 members each. All member names are different. */
function differentNames(): string {
  const objects = Array.from(
    { length: 3900 },
    (_, object) =>
      `{${Array.from({ length: 60 }, (_each, member) => `"${object}.${member}":0`).join(',')}}`,
  );
  return `{"tlds":[${objects.join(',')}]}`;
}
