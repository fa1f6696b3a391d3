import { NEW_WORD, pipelined, requestText, single, type Attack } from './attack.ts';
import { manyZones, PROJECT } from './databases.ts';
import type { Scenario, Target } from './scenario.ts';

const KB = 1024;
const EXAMPLE_ID = '00000000-0000-4000-8000-000000000000';
const SECONDS = 5;

/** What most attacks do: send, wait for the answers, send again. */
const IN_TURN = { seconds: SECONDS, sending: 'in turn', reading: 'everything', reopening: true } as const;

/** The characters of a name for which the conversion to ASCII has most to do: all different, none in ASCII. */
const distinctCharacters = (count: number) => String.fromCodePoint(...Array.from({ length: count }, (_, index) => codePoint(index)));
const codePoint = (index: number) => (index < 26_000 ? 0x3400 + index + (index >= 6_592 ? 64 : 0) : 0xac00 + index - 26_000);

async function reading(target: Target, paths: readonly string[], attack: Partial<Attack> & { bytes?: number }, role: 'admin' | 'reader' = 'reader') {
  const token = await target.token(role, PROJECT);
  const requests = paths.map((path) => requestText('GET', path, { 'X-Auth-Token': token }));
  return { ...IN_TURN, connections: 4, blocks: attack.bytes === undefined ? single(...requests) : pipelined(attack.bytes, ...requests), ...attack };
}

async function posting(target: Target, role: 'admin' | 'member', path: string, body: unknown, attack: Partial<Attack>): Promise<Attack> {
  const token = await target.token(role, PROJECT);
  return { ...IN_TURN, connections: 4, blocks: single(requestText('POST', path, { 'X-Auth-Token': token }, body)), ...attack };
}

/** Attacks by a caller whose token is valid. */
export const CALLERS: readonly Scenario[] = [
  {
    name: 'Check a name of 37 000 different characters',
    bound: 'The service refuses a name that is too long before it converts the name to ASCII.',
    settings: ['api.maxBodyBytes'],
    cost: 'About 1 ms of processor time for each request.',
    attack: (target) => posting(target, 'member', '/v2/tlds/check', { names: [distinctCharacters(37_000)] }, {}),
    atLeast: { succeeded: 10 },
  },
  {
    name: 'List the zones outside the TLDs among 100 000',
    bound: 'The service evaluates the filter on one batch of rows at a time, and serves other requests between two batches.',
    settings: [],
    cost: 'The time of one batch.',
    prepare: manyZones,
    attack: (target) => reading(target, ['/v2/zones?outside_tlds=true', '/v2/zones?outside_tlds=false&limit=1000'], {}, 'admin'),
    atLeast: { succeeded: 1 },
  },
  {
    name: 'Send the bodies of 300 large requests one byte a second',
    bound: 'One caller takes at most a quarter of 32 MB for large request bodies. Further requests wait, or the service answers them with 503.',
    settings: ['api.maxBodyBytesInFlight', 'api.requestTimeoutSeconds'],
    cost: 'Nothing: three quarters stay free.',
    async attack(target) {
      const tlds = Array.from({ length: 20_000 }, () => ({ name: NEW_WORD, description: 'd'.repeat(48) }));
      const attack = await posting(target, 'admin', '/v2/tlds/bulk', { tlds }, { connections: 300, sending: 'a byte a second' });
      return { ...attack, begin: (attack.blocks[0]?.text.length ?? 0) - 1000 };
    },
    atLeast: { opened: 20, sentBytes: 1024 * KB },
  },
  {
    name: 'Create TLD entries, 20 000 with each request',
    bound: 'The service processes one such request of a caller at a time, and two of all callers, in slices of 5 to 15 ms.',
    settings: ['api.maxBodyBytesInFlight'],
    cost: 'At most 1 s for a write, and the time of two slices for each other request.',
    writes: true,
    attack(target) {
      const tlds = Array.from({ length: 20_000 }, () => ({ name: NEW_WORD, description: 'd'.repeat(48) }));
      return posting(target, 'admin', '/v2/tlds/bulk', { tlds }, {});
    },
    atLeast: { succeeded: 1 },
  },
  {
    name: 'Send 2 MB of nested arrays',
    bound:
      'The service refuses a long body with more than 50 000 arrays and objects, or with more than 10 000 members in one object, before it parses the body.',
    settings: [],
    cost: 'About 5 ms of processor time for each request.',
    attack: (target) => posting(target, 'admin', '/v2/tlds/bulk', `${'['.repeat(1000 * KB)}${']'.repeat(1000 * KB)}`, {}),
    atLeast: { answers: 10 },
  },
  {
    name: 'Export keys',
    bound: 'The service answers the requests of a connection one after the other, and closes a connection with more than 64 waiting requests.',
    settings: [],
    cost: 'The time of one request of each connection.',
    async attack(target) {
      const { body } = await target.service.post('/v2/tsigkeys', { name: 'k.', algorithm: 'hmac-sha512', scope: 'POOL', resource_id: EXAMPLE_ID });
      return reading(target, [`/v2/tsigkeys/${body.id}/export?format=bind`], { bytes: 64 * KB, connections: 20 }, 'admin');
    },
    atLeast: { succeeded: 100 },
  },
];
