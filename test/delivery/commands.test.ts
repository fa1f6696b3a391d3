import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { tsigil, type Ended } from '../cli/run.ts';
import { runInside } from '../cli/session.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { startAgentRequests } from './agent-requests.ts';

const folder = temporaryFolder();
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

const run = (...argv: string[]): Promise<Ended> =>
  tsigil(folder, { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token }, ...argv);

test('tsigkey create --wait does not wait for a pool without name servers, and prints the reason', async () => {
  const created = await run('tsigkey', 'create', 'alone', '--wait');
  expect([created.status, created.err]).toEqual([
    0,
    expect.stringContaining('The pool of the key has no name server, so nothing was delivered.'),
  ]);
  expect((await run('tsigkey', 'status', 'alone')).status).toBe(0);
});

test('if no process delivers to the name server, the commands exit with 1 and print the reason', async () => {
  expect(
    (await run('nameserver', 'create', 'ns1', '--driver', 'bind', '--address', '192.0.2.53'))
      .status,
  ).toBe(0);
  const created = await run('tsigkey', 'create', 'waiting', '--wait');
  expect([created.status, created.err]).toEqual([1, expect.stringContaining('ns1: failed')]);
  expect(created.err).toContain('no_process');
  const status = await run('tsigkey', 'status', 'waiting', '-f', 'json');
  expect([status.status, JSON.parse(status.out)]).toMatchObject([
    1,
    [{ name_server: 'ns1', state: 'failed' }],
  ]);
  const check = await run('nameserver', 'check', 'ns1');
  expect([check.status, check.out]).toEqual([1, expect.stringContaining('nameServers')]);
  const reconcile = await run('nameserver', 'reconcile', 'ns1', '--confirm');
  expect([reconcile.status, reconcile.out]).toEqual([0, "Requested a comparison of 'ns1'.\n"]);
  const list = await run('nameserver', 'list', '-f', 'json');
  expect(JSON.parse(list.out)).toMatchObject([{ name: 'ns1', state: 'failed' }]);
});

test('nameserver delete says which keys stay on the name server, also deleted ones, and asks', async () => {
  const { service: served, createKey, desired, observe } = await startAgentRequests();
  onTestFinished(() => served.close());
  const remove = (...argv: string[]) => runInside(served, 'nameserver', 'delete', 'ns1', ...argv);
  const refused = (names: string) => ({
    status: 2,
    out: '',
    err: `Keys stay on 'ns1': ${names}. They go on working there, because Tsigil no longer changes, replaces or removes them, also if you delete them.\ntsigil: Cannot ask for confirmation: standard input is not a terminal. Nothing was changed.\nUse --yes to go ahead.\n`,
  });
  const key = await createKey('live');
  await createKey('other');
  await observe(await desired());
  expect(await remove()).toEqual(refused('live, other'));
  await served.delete(`/v2/tsigkeys/${key}`);
  expect(await remove()).toEqual(refused('live, other'));
  expect(await remove('--yes')).toMatchObject({ status: 0, out: 'ns1: deleted\n' });
});

test('tsigkey create --wait waits for an agent that has not reported yet', async () => {
  const requests = await startAgentRequests();
  const { url, token } = requests.service;
  const variables = { TSIGIL_URL: url, TSIGIL_TOKEN: token };
  const ended = tsigil(folder, variables, 'tsigkey', 'create', 'first', '--wait');
  const { service: served, desired, observe } = requests;
  onTestFinished(() => served.close());
  const created = async () =>
    ((await served.get('/v2/tsigkeys?name=first')).body as { tsigkeys: object[] }).tsigkeys.length;
  await expect.poll(created).toBe(1);
  expect(await requests.shown()).toMatchObject({ error_code: 'no_agent' });
  expect((await observe(await desired())).status).toBe(200);
  const { status, err } = await ended;
  expect([status, err]).toEqual([0, expect.not.stringContaining('no_agent')]);
});
