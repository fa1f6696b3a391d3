import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordShown } from '../harness/evidence.ts';
import { POOL_ID, SECRET, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram, isMet } from '../harness/tools.ts';

const PAGE = join(import.meta.dirname, '../../docs/openstack-clients.md');
const folder = temporaryFolder();
let service: TestService;
let variables: Record<string, string>;
beforeAll(async () => {
  // Lists of more than two items come in several pages, which the clients must follow.
  service = await startTestService({ TSIGIL_API_DEFAULT_LIMIT: '2' });
  variables = { OS_AUTH_TYPE: 'admin_token', OS_ENDPOINT: `${service.url}/v2`, OS_TOKEN: service.token };
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program in the folder with nothing in its environment that could tell it of another cloud. */
async function run(environment: Record<string, string>, input: string, program: string, ...argv: string[]): Promise<Ended> {
  const child = spawn(program, argv, { cwd: folder, env: { PATH: '/usr/bin:/bin', HOME: folder, LC_ALL: 'C.UTF-8', ...environment } });
  child.stdin.end(input);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  recordShown('error', err);
  return { status, out, err };
}

/** Runs commands in one process of the client, each of which must work, and returns what they print as JSON. */
async function openstack(...commands: string[]): Promise<Record<string, unknown>[]> {
  const lines = commands.map((command) => (/^(?:tld|tsigkey) delete/.test(command) ? command : `${command} -f json --noindent`));
  const { out, err } = await run(variables, `${lines.join('\n')}\n`, 'openstack');
  expect(err).toBe('');
  return out
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const one = (...argv: string[]): Promise<Ended> => run(variables, '', 'openstack', ...argv);

/** The id of the only resource of a collection with this name. */
async function idOf(collection: string, name: string): Promise<string> {
  const found = (await service.get(`/v2/${collection}?name=${name}`)).body[collection] as { id: string }[];
  expect(found).toHaveLength(1);
  return found[0]?.id ?? '';
}

/** The plug-in is a package of its own, whose commands the client lists. */
function hasClient(): boolean {
  const help =
    hasProgram('openstack', 'python3-openstackclient') && spawnSync('openstack', ['tsigkey', 'list', '--help'], { encoding: 'utf8' }).stdout;
  return (
    help !== false && isMet(help.includes('--algorithm'), 'openstack', 'openstack tsigkey is not installed (Debian package python3-designateclient)')
  );
}

const installed = hasClient();

describe.runIf(installed)('the unmodified OpenStack client', () => {
  test('openstack tld: create, list, show, set and delete, by name and by id', async () => {
    const [created, ...others] = await openstack(
      'tld create --name one --description "The first"',
      'tld create --name two',
      'tld create --name three',
    );
    expect(created).toMatchObject({ name: 'one', description: 'The first', updated_at: null });
    expect(others.map(({ description }) => description)).toEqual([null, null]);
    const id = String(created?.id);
    const [all, filtered, described, byName, byId, renamed, redescribed, emptied] = await openstack(
      'tld list',
      'tld list --name t*',
      'tld list --description "The first"',
      'tld show one',
      `tld show ${id}`,
      'tld set one --name first',
      `tld set ${id} --description "Still the first"`,
      'tld set first --no-description',
    );
    const namesOf = (list: unknown) => (list as { name: string }[]).map(({ name }) => name);
    expect(namesOf(all)).toEqual(['one', 'two', 'three']);
    expect(namesOf(filtered)).toEqual(['two', 'three']);
    expect(namesOf(described)).toEqual(['one']);
    expect([byName, byId]).toEqual([created, created]);
    expect(renamed).toMatchObject({ id, name: 'first', description: 'The first' });
    expect(redescribed).toMatchObject({ id, name: 'first', description: 'Still the first' });
    expect(emptied).toMatchObject({ id, name: 'first', description: null });
    expect(await openstack('tld delete first', `tld delete ${await idOf('tlds', 'two')}`, 'tld list')).toEqual([
      [{ id: await idOf('tlds', 'three'), name: 'three', description: null }],
    ]);
    await openstack('tld delete three');
  });

  test('openstack tsigkey: create, list, show, set and delete, by name and by id', async () => {
    const create = (name: string, algorithm: string, scope: string) =>
      `tsigkey create --name ${name} --algorithm ${algorithm} --secret ${SECRET} --scope ${scope} --resource-id ${POOL_ID}`;
    const [created] = await openstack(create('k1', 'hmac-sha256', 'POOL'), create('k2', 'hmac-sha512', 'ZONE'), create('k3', 'hmac-sha512', 'POOL'));
    expect(created).toMatchObject({ name: 'k1', algorithm: 'hmac-sha256', secret: SECRET, scope: 'POOL', resource_id: POOL_ID });
    const id = String(created?.id);
    const lists = await openstack('tsigkey list', 'tsigkey list --name k2', 'tsigkey list --algorithm hmac-sha512', 'tsigkey list --scope POOL');
    const names = (lists as unknown as { name: string }[][]).map((list) => list.map(({ name }) => name));
    expect(names).toEqual([['k1', 'k2', 'k3'], ['k2'], ['k2', 'k3'], ['k1', 'k3']]);
    const [byName, byId, renamed, changed] = await openstack(
      'tsigkey show k1',
      `tsigkey show ${id}`,
      'tsigkey set k1 --name k0',
      `tsigkey set ${id} --algorithm hmac-sha384 --secret bmV3IHNlY3JldA== --scope ZONE`,
    );
    expect([byName, byId]).toEqual([created, created]);
    expect(renamed).toMatchObject({ id, name: 'k0', secret: SECRET });
    expect(changed).toMatchObject({ id, name: 'k0', algorithm: 'hmac-sha384', secret: 'bmV3IHNlY3JldA==', scope: 'ZONE' });
    expect(await openstack('tsigkey delete k0', `tsigkey delete ${await idOf('tsigkeys', 'k2')}`, 'tsigkey delete k3', 'tsigkey list')).toEqual([[]]);
  });

  test('openstack zone: create, list, show, set and delete, also of other projects', async () => {
    const [created, secondary] = await openstack(
      'zone create a.example. --email a@example.org --ttl 300 --description "A zone" --attributes tier:gold',
      'zone create b.example. --type SECONDARY --masters 192.0.2.1 192.0.2.2:5300',
      'zone create c.example. --email c@example.org --sudo-project-id p2',
    );
    expect(created).toMatchObject({ name: 'a.example.', email: 'a@example.org', ttl: 300, description: 'A zone', status: 'ACTIVE', type: 'PRIMARY' });
    expect(secondary).toMatchObject({ type: 'SECONDARY', masters: '192.0.2.1, 192.0.2.2:5300' });
    const id = String(created?.id);
    const [own, all, filtered, byName, byId, changed, deleted] = await openstack(
      'zone list',
      'zone list --all-projects',
      'zone list --name a.* --email a@example.org --type PRIMARY --ttl 300 --status ACTIVE',
      'zone show a.example.',
      `zone show ${id}`,
      'zone set a.example. --email b@example.org --ttl 600 --no-description',
      `zone delete ${id}`,
    );
    const namesOf = (list: unknown) => (list as { name: string }[]).map(({ name }) => name);
    expect([namesOf(own), namesOf(all), namesOf(filtered)]).toEqual([
      ['a.example.', 'b.example.'],
      ['a.example.', 'b.example.', 'c.example.'],
      ['a.example.'],
    ]);
    expect([byName, byId]).toEqual([created, created]);
    expect(changed).toMatchObject({ id, email: 'b@example.org', ttl: 600, description: null });
    expect(deleted).toMatchObject({ id, status: 'PENDING', action: 'DELETE' });
    await openstack('zone delete b.example.', 'zone delete c.example. --sudo-project-id p2');
  });

  test('what is refused is told with the reason, and with an exit code', async () => {
    const create = ['tsigkey', 'create', '--name', 'k', '--secret', SECRET, '--resource-id', POOL_ID, '--scope', 'POOL'];
    await service.post('/v2/tlds', { name: 'taken' });
    const cases: [string[], RegExp][] = [
      [['tld', 'show', 'nosuch'], /Name nosuch didn't resolve/],
      [['tld', 'delete', UNKNOWN_ID], /Could not find Tld/],
      [['tld', 'create', '--name', 'taken'], /Duplicate Tld/],
      [['tld', 'create', '--name', 'with space'], /Invalid Tld: 'name' must be labels/],
      [[...create, '--algorithm', 'hmac-none'], /Invalid TsigKey: 'algorithm' must be one of hmac-md5/],
      [['zone', 'create', 'a.untaken.', '--email', 'a@example.org'], /Invalid TLD: no TLD entry for 'untaken'/],
      [['--os-token', 'a-token-that-is-not-valid', 'tld', 'list'], /Forbidden|requires authentication/],
    ];
    const ended = await Promise.all(cases.map(([argv]) => one(...argv)));
    for (const [index, { status, out, err }] of ended.entries()) {
      expect([status, out], err).toEqual([1, '']);
      expect(err).toMatch(cases[index]?.[1] ?? /^$/);
    }
    await service.delete(`/v2/tlds/${await idOf('tlds', 'taken')}`);
  });
});

describe.runIf(installed && hasProgram('openssl', 'openssl'))('docs/openstack-clients.md', () => {
  test('every example works, one after the other as the page shows them', async () => {
    const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
    expect(blocks.length).toBeGreaterThan(5);
    mkdirSync(join(folder, 'var'), { recursive: true });
    writeFileSync(join(folder, 'var/admin.token'), `${service.token}\n`);
    const script = blocks.join('\n').replaceAll('127.0.0.1:9001', new URL(service.url).host);
    const { status, err } = await run({}, '', 'bash', '-euo', 'pipefail', '-c', script);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect((await service.get('/v2/tlds?name=com')).body.tlds).toEqual([]);
  });
});
