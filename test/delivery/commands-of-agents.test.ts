import { beforeAll, expect, test } from 'vitest';
import { tsigil, type Ended } from '../cli/run.ts';
import { temporaryFolder } from '../harness/service.ts';
import { startAgentRequests, type AgentRequests } from './agent-requests.ts';

const folder = temporaryFolder();
let requests: AgentRequests;
beforeAll(async () => {
  requests = await startAgentRequests();
});

const run = (...argv: string[]): Promise<Ended> => {
  const { url, token } = requests.service;
  return tsigil(folder, { TSIGIL_URL: url, TSIGIL_TOKEN: token }, ...argv);
};

test('tsigkey create --wait waits for an agent that has not reported yet', async () => {
  const ended = run('tsigkey', 'create', 'first', '--wait');
  const { service, desired, observe } = requests;
  const created = async () =>
    ((await service.get('/v2/tsigkeys?name=first')).body as { tsigkeys: object[] }).tsigkeys.length;
  await expect.poll(created).toBe(1);
  expect(await requests.shown()).toMatchObject({ error_code: 'no_agent' });
  expect((await observe(await desired())).status).toBe(200);
  const { status, err } = await ended;
  expect([status, err]).toEqual([0, expect.not.stringContaining('no_agent')]);
});
