import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { createEstate, type Estate } from '../harness/limited-tokens.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { tsigil, type Ended, words } from '../cli/run.ts';

const folder = temporaryFolder();
let service: TestService;
let estate: Estate;

beforeAll(async () => {
  service = await startTestService();
  estate = await createEstate(service);
});

const run = (...argv: string[]): Promise<Ended> => tsigil(folder, service.variables, ...argv);

const create = (...argv: string[]): Promise<Ended> =>
  run('token', 'create', '--name', randomUUID(), '--role', 'admin', '-f', 'json', ...argv);

test('token create limits the token to pools, zones and keys by name or id, and to networks', async () => {
  const { pools, zones, poolKeys } = estate;
  const nameOf = async (path: string) =>
    String((await service.get(path, { 'x-auth-all-projects': 'true' })).body.name);
  const { status, out } = await create(
    '--pool',
    await nameOf(`/v2/pools/${pools[0]}`),
    '--pool',
    pools[1],
    '--zone',
    await nameOf(`/v2/zones/${zones[0]}`),
    '--key',
    await nameOf(`/v2/tsigkeys/${poolKeys[0]}`),
    ...words`--from 127.0.0.0/8 --from 2001:db8::1`,
  );
  expect(status).toBe(0);
  const created = JSON.parse(out) as { id: string; token: string };
  expect(created).toMatchObject({
    pools,
    zones: [zones[0]],
    keys: [poolKeys[0]],
    addresses: ['127.0.0.0/8', '2001:db8::1/128'],
  });
  const environment = service.with(created.token).variables;
  const { out: shown } = await tsigil(folder, environment, 'whoami', '-f', 'json');
  expect(JSON.parse(shown)).toMatchObject({ pools, addresses: ['127.0.0.0/8', '2001:db8::1/128'] });
  const refused = await tsigil(folder, environment, 'tld', 'list');
  expect(refused.status).toBe(4);
  expect(refused.err).toContain("The limits of the token do not include the right 'tlds:list'");
  expect(refused.err).toContain("Run 'tsigil whoami' to see the limits of the token.");
});

test.each([
  [['--pool', 'no-such-pool'], /no-such-pool/],
  [['--from', '192.0.2.1/24'], /use '192\.0\.2\.0\/24'/],
  [['--expires', '0d'], /Invalid expiry '0d': the token would expire at once\./],
  [['--role', 'operator'], /unknown role 'operator'\. Use one of: admin, auditor/],
])('token create refuses %j and suggests a correct value', async (argv, message) => {
  const { status, err } = await create(...argv);
  expect(status).not.toBe(0);
  expect(err).toMatch(message);
});

test('token list --unused lists the tokens that no one used within the given time', async () => {
  await create('--expires', '90d');
  const { out } = await run('token', 'list', '--unused', '90d', '-f', 'json');
  expect(JSON.parse(out)).toEqual([]);
  const { status, err } = await run('token', 'list', '--unused', 'soon');
  expect([status, err]).toEqual([2, expect.stringContaining("Invalid time 'soon'")]);
});
