import { beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from './session.ts';
import { clientFor } from '../harness/zones.ts';

let service: TestService;
const run = async (...argv: string[]) => runInside(service, ...argv);

beforeAll(async () => {
  service = await startTestService();
  await run('pool', 'create', 'edge');
  await run('zone', 'create', 'a.test.', '--email', 'hostmaster@a.test', '--pool', 'edge');
  await run('tsigkey', 'create', 'of-zone', '--zone', 'a.test');
  await run('tsigkey', 'create', 'of-default');
  const token = (name: string, ...flags: string[]) =>
    run('token', 'create', name, '--role', 'keymanager', ...flags);
  await token('edge-ci', '--pool', 'edge', '--from', '192.0.2.0/24');
  await token('zone-ci', '--zone', 'a.test', '--expires', '2130-01-31T12:00:00');
  await token('default-ci', '--pool', 'default');
});

test('access KEY lists the tokens and roles that can read the secret, with their limits by name', async () => {
  const { status, out, err } = await run('access', 'of-zone');
  expect([status, err]).toEqual([0, '']);
  const rows = out.split('\n').map((line) => line.split('\t'));
  expect(rows[0]).toEqual(['kind', 'name', 'rights', 'limits', 'expires_at', 'last_used_at']);
  const named = (name: string) => rows.filter((row) => row[1] === name);
  expect(named('edge-ci')).toEqual([
    ['token', 'edge-ci', 'tsigkeys:reveal', 'pool edge, from 192.0.2.0/24', '', ''],
  ]);
  expect(named('zone-ci')).toEqual([
    ['token', 'zone-ci', 'tsigkeys:reveal', 'zone a.test.', '2130-01-31T12:00:00.000000', ''],
  ]);
  expect(named('default-ci')).toEqual([]);
  expect(named('keymanager')).toEqual([['role', 'keymanager', 'tsigkeys:reveal', '', '', '']]);
});

test('access without a key lists the tokens that can read any secret, also as JSON', async () => {
  const { out } = await run('access', '-f', 'json');
  const names = (JSON.parse(out) as { kind: string; name: string }[])
    .filter(({ kind }) => kind === 'token')
    .map(({ name }) => name);
  expect(names).toEqual(['default-ci', 'edge-ci', 'zone-ci']);
});

test('token list shows the limits by name', async () => {
  const { out } = await run('token', 'list');
  const rows = out.split('\n').map((line) => line.split('\t'));
  expect(rows[0]).toEqual(['name', 'roles', 'limits', 'project_id', 'expires_at']);
  expect(rows.slice(1, -1).map(([name, , limits]) => [name, limits])).toEqual([
    ['default-ci', 'pool default'],
    ['edge-ci', 'pool edge, from 192.0.2.0/24'],
    ['zone-ci', 'zone a.test.'],
  ]);
  expect((await run('token', 'list', '-f', 'value', '-c', 'limits')).out).toContain('pool edge');
});

test('access names an unknown key, and the role that a refused token needs', async () => {
  expect(await run('access', 'nosuch')).toMatchObject({
    status: 1,
    err: expect.stringContaining("No tsigkey is named 'nosuch'") as string,
  });
  const refused = await runInside(await clientFor(service, ['keymanager']), 'access', 'of-zone');
  expect([refused.status, refused.out]).toEqual([4, '']);
  expect(refused.err).toContain("the right 'tokens:list' needs one of the roles admin, auditor");
});
