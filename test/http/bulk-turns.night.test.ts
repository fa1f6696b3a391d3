import { beforeEach, expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const PATH = '/v2/tlds/bulk';

/**
 * The limit for a turn of the event loop. The service parses a body in one turn, and then processes
 * the list in slices of at most 15 ms. Without slices, a turn takes 0.5 s.
 */
const LONGEST_TURN_MS = 150;

/** The maximum number of measurements. Other tests on the machine can slow a measurement. */
const TRIES = 3;

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

/** Returns a request body of 1.8 MB with 20,000 entries. */
function listOf(prefix: string, options: object = {}): string {
  const tlds = Array.from({ length: 20_000 }, (_, index) => ({
    name: `${prefix}-${index}.example`,
    description: prefix.slice(0, 1).repeat(40),
  }));
  return JSON.stringify({ ...options, tlds });
}

/**
 * Sends a request and discards the response. Returns the longest turn of the event loop, in
 * milliseconds of CPU time.
 */
async function longestTurn(body: string): Promise<number> {
  let longest = 0;
  let receivedBytes = 0;
  const state = { isUnderWay: true };
  const headers = { 'x-auth-token': service.token, 'content-type': 'application/json' };
  const send = async () => {
    const response = await fetch(service.url + PATH, { method: 'POST', headers, body });
    for await (const chunk of response.body ?? []) receivedBytes += (chunk as Uint8Array).length;
    return response.status;
  };
  const done = send().finally(() => (state.isUnderWay = false));
  let before = process.cpuUsage();
  while (state.isUnderWay) {
    await new Promise((resume) => setImmediate(resume));
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.cpuUsage();
  }
  expect(await done).toBe(200);
  expect(receivedBytes).toBeGreaterThan(1_000_000);
  return longest;
}

test.each([
  ['a dry run', () => listOf('a', { dry_run: true })],
  ['new entries', (attempt: number) => listOf(`new${attempt}`)],
  ['a replacement', (attempt: number) => listOf(`other${attempt}`, { replace: true })],
])(
  '200 for a list of 1.8 MB, with turns of the event loop of at most 150 ms: %s',
  async (_what, make) => {
    await longestTurn(listOf('first')); // compiles the code and creates entries to replace
    const turns: number[] = [];
    while (turns.length < TRIES && turns.every((longest) => longest > LONGEST_TURN_MS))
      turns.push(await longestTurn(make(turns.length)));
    expect(Math.min(...turns)).toBeLessThanOrEqual(LONGEST_TURN_MS);
  },
  60_000,
);

test('201 for writes of other callers while the service processes a list of 1.8 MB', async () => {
  const other = await clientFor(service, ['admin']);
  const state = { isUnderWay: true };
  const list = service.post(PATH, listOf('a')).finally(() => (state.isUnderWay = false));
  let writes = 0;
  while (state.isUnderWay) {
    expect((await other.post('/v2/tlds', { name: `own-${writes}` })).status).toBe(201);
    writes += 1;
  }
  expect((await list).status).toBe(200);
  expect(writes).toBeGreaterThan(2);
}, 60_000);
