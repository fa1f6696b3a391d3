import { expect, test } from 'vitest';
import { runInside } from '../cli/session.ts';
import { startAgentRequests } from '../delivery/agent-requests.ts';
import { POOL_ID } from '../harness/samples.ts';

test.each([
  ['prepared', { prepared: 'named.conf does not include the file' }, 'tsigil nameserver adopt ns1'],
  [
    'failed',
    { error: { code: 'refused_by_server', message: 'Out of memory' } },
    'tsigil nameserver check ns1',
  ],
])('status prints why a name server is %s, and the command to run next', async (...given) => {
  const [state, answer, command] = given;
  const { service, desired, observe } = await startAgentRequests();
  expect((await observe(await desired(), answer)).status).toBe(200);
  const { status, out } = await runInside(service, 'status');
  expect([status, out]).toEqual([
    1,
    expect.stringMatching(new RegExp(`\n\tproblem\tns1 is ${state}: .+\t${command}\n`)),
  ]);
});

test('200 with the code of a failed name server for a token with limits, and not with what it says', async () => {
  const { service, createKey, desired, observe } = await startAgentRequests();
  await createKey('hidden');
  const { body: zone } = await service.post('/v2/zones', {
    name: 'b.test.',
    email: 'hostmaster@b.test',
    pool_id: POOL_ID,
  });
  const error = { code: 'refused_by_server', message: "named.conf:7: unknown key 'hidden'" };
  expect((await observe(await desired(), { error })).status).toBe(200);
  expect((await service.get('/v2/status')).body).toMatchObject({
    nameservers: { servers: [{ name: 'ns1', error: error.message }] },
  });
  const members = { name: 'limited', roles: ['keymanager'], zones: [zone.id] };
  const { body: limited } = await service.post('/v2/tokens', members);
  const { body, text } = await service.with(String(limited.token)).get('/v2/status');
  expect(body).toMatchObject({
    nameservers: { servers: [{ name: 'ns1', error: null }] },
    problems: [{ message: 'ns1 is failed: refused_by_server' }],
  });
  expect(text).not.toContain('hidden');
});
