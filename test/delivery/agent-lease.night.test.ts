import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { JOB_EXAMPLE } from '../../src/delivery/agent-examples.ts';
import { MAX_ANSWER_BYTES, type Answer, type Job } from '../../src/delivery/agent-protocol.ts';
import { runAgent, type AgentDependencies } from '../../src/delivery/agents/agent.ts';
import { RefusedError, type ServiceLink } from '../../src/delivery/agents/service-link.ts';
import { temporaryFolder } from '../harness/service.ts';
import { startAgentRequests, type AgentRequests } from './agent-requests.ts';
import { folderServer, type FolderServer } from './folder-driver.ts';

let requests: AgentRequests;

beforeEach(async () => {
  requests = await startAgentRequests();
});
afterEach(() => requests.service.close());

/**
 * Sends requests as another agent until that agent gets a pass. Returns the response.
 */
async function takeover() {
  for (;;) {
    const response = await requests.desired(undefined, 0, 'host-2');
    if (response.status === 200) return response;
    expect(response.body.message).toContain("'host-1' holds the lease of the name server");
    await pause(200);
  }
}

test('200 for another agent after the holder ended during a pass; a late report gets 409', async () => {
  const { createKey, desired, observe, renew, shown } = requests;
  await createKey('key-1');
  const lost = await desired();
  const response = await takeover();
  for (const refused of [await renew(lost), await observe(lost)])
    expect([refused.status, refused.body.type]).toEqual([409, 'agent_conflict']);
  expect(await shown()).toMatchObject({ keys_live: 0 });
  expect((await observe(response, { agent: 'host-2' })).status).toBe(200);
});

test('409 for another agent as long as the holder renews the lease of its pass', async () => {
  const { createKey, desired, observe, renew } = requests;
  await createKey('key-1');
  const pass = await desired();
  for (let second = 0; second < 11; second += 1) {
    expect([(await renew(pass)).status, (await desired(undefined, 0, 'host-2')).status]).toEqual([
      200, 409,
    ]);
    await pause(1000);
  }
  expect((await observe(pass)).status).toBe(200);
});

test('200 for another agent after the holder ended while it waited for changes', async () => {
  const { createKey, desired, observe, agent, id } = requests;
  await createKey('key-1');
  const pass = await desired();
  await observe(pass);
  const waiting = request(`${agent.url}/v2/nameservers/${id}/desired?agent=host-1&wait=30`, {
    headers: { 'x-auth-token': agent.token, 'if-none-match': String(pass.headers.get('etag')) },
  });
  waiting.on('error', () => undefined).end();
  await pause(1000);
  waiting.destroy();
  await takeover();
});

test('200 for a renewal, with the number of pending changes', async () => {
  const { createKey, desired, observe, renew } = requests;
  const pass = await desired();
  const length = Number(pass.body.changes);
  expect((await renew(pass)).body).toEqual({ changes: length });
  await createKey('key-1');
  expect((await renew(pass)).body).toEqual({ changes: length + 1 });
  await observe(pass);
  expect((await renew(pass)).body).toEqual({ changes: 1 });
  expect((await renew(pass, { agent: 'host-2' })).status).toBe(409);
  expect((await renew(pass, { fence: Number(pass.body.fence) - 1 })).status).toBe(409);
});

/** Returns a job with `count` keys and the number `fence`. */
function jobOf(count: number, fence: number, more: Partial<Job>): Job {
  const [first] = JOB_EXAMPLE.state?.keys ?? [];
  if (first === undefined) throw new Error('the example has no key');
  const names = Array.from(
    { length: count },
    (_, index) => `key-${String(index).padStart(4, '0')}`,
  );
  const idOf = (name: string) => `00000000-0000-4000-8000-00000000${name.slice(4)}`;
  return {
    ...JOB_EXAMPLE,
    fence,
    state: {
      zones: [],
      keys: names.map((name) => ({ ...first, name, id: idOf(name) })),
      kept: [],
    },
    accepted: names.map(idOf),
    owned: names,
    changes: 0,
    ...more,
  };
}

/**
 * Runs an agent for a name server that is a folder. `link` replaces the requests to the service.
 */
function startAgent(
  link: Pick<ServiceLink, 'desired' | 'observed' | 'renew'>,
  more: Partial<AgentDependencies> = {},
): FolderServer {
  const folder = folderServer(temporaryFolder());
  const ended = new AbortController();
  const { name, driver, id } = JOB_EXAMPLE.name_server;
  const nameServerId = () => Promise.resolve(id);
  const running = runAgent({
    link: { ...link, nameServerId, close: () => undefined },
    agent: 'host-1',
    nameServer: name,
    driver,
    random: () => 0.5,
    createDriver: () => folder.driver,
    verify: folder.verify,
    signal: ended.signal,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    ...more,
  });
  onTestFinished(async () => {
    ended.abort();
    await running;
  });
  return folder;
}

/** Returns no state, and rejects when the agent stops. */
const never: ServiceLink['desired'] = (_id, _etag, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });

test('an agent renews the lease during a long pass, and ends the pass when it loses the lease', async () => {
  let renewals = 0;
  let passes = 0;
  const refused = () => Promise.reject(new RefusedError(409, 'A later pass has begun'));
  const folder = startAgent({
    desired: (...parameters) =>
      (passes += 1) === 1 ? Promise.resolve({ job: jobOf(3, 1, {}) }) : never(...parameters),
    observed: refused,
    // The first renewal is before the apply. Later renewals are during the apply.
    renew: () => ((renewals += 1) < 3 ? Promise.resolve(0) : refused()),
  });
  folder.onApply(() => pause(7000));
  await expect.poll(() => passes).toBe(2);
  expect(renewals).toBeGreaterThanOrEqual(3);
});

test('an agent that lost its lease before the apply changes nothing', async () => {
  let passes = 0;
  const folder = startAgent({
    desired: (...parameters) =>
      (passes += 1) === 1 ? Promise.resolve({ job: jobOf(3, 1, {}) }) : never(...parameters),
    observed: () => Promise.reject(new Error('there is nothing to report')),
    renew: () => Promise.reject(new RefusedError(409, 'A later pass has begun')),
  });
  await expect.poll(() => passes).toBe(2);
  expect(folder.applies()).toBe(0);
});

test('an agent whose keys fail for long reasons sends an answer that the service accepts', async () => {
  const answers: Answer[] = [];
  const error = { code: 'not_verified', message: 'long '.repeat(200) };
  startAgent(
    {
      desired: (...parameters) =>
        answers.length === 0 ? Promise.resolve({ job: jobOf(3000, 1, {}) }) : never(...parameters),
      observed: (_id, answer) => Promise.resolve(void answers.push(answer)),
      renew: () => Promise.resolve(0),
    },
    {
      verify: (_server, _zones, { acceptedKeys }) =>
        Promise.resolve({
          failures: new Map(acceptedKeys.map(({ id }) => [id, error])),
          open: undefined,
        }),
    },
  );
  await expect.poll(() => answers).toHaveLength(1);
  expect(answers[0]).toMatchObject({
    verdicts: [],
    error: {
      code: 'not_verified',
      message: expect.stringMatching(/^3000 problems/) as string,
    },
  });
  expect(JSON.stringify(answers[0]).length).toBeLessThan(MAX_ANSWER_BYTES);
});
