import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { detectFileFormat, FILE_FORMATS } from '../../src/keys/commands/key-file.ts';
import { recordShown } from '../harness/evidence.ts';
import { startKeystone, type Keystone } from '../harness/keystone.ts';
import { KEY_MEMBERS, POOL_ID, SECRET, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram, isMet } from '../harness/tools.ts';

const PAGE = join(import.meta.dirname, '../../docs/openstack-clients.md');
/**
 * The time limit of a test, in milliseconds. The limit is high, because the client starts slowly.
 */
const TIMEOUT_MS = 300_000;
const folder = temporaryFolder();
let service: TestService;
let variables: Record<string, string>;
// Two items per page, so that clients must follow links to further pages.
const PAGES = { TSIGIL_API_DEFAULT_LIMIT: '2' };

interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program in the folder of the test, without environment variables of another cloud. */
async function run(
  environment: Record<string, string>,
  input: string,
  program: string,
  ...argv: string[]
): Promise<Ended> {
  const child = spawn(program, argv, {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', HOME: folder, LC_ALL: 'C.UTF-8', ...environment },
  });
  child.stdin.end(input);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  recordShown('error', err);
  return { status, out, err };
}

/**
 * Runs commands in one process of the client. Words must not contain blanks, and each command must
 * succeed. Returns the JSON output of each command.
 */
async function openstack(...commands: string[]): Promise<Record<string, unknown>[]> {
  const lines = commands.map((command) =>
    /^(?:tld|tsigkey) delete/.test(command) ? command : `${command} -f json --noindent`,
  );
  const { out, err } = await run(variables, `${lines.join('\n')}\n`, 'openstack');
  expect(err).toBe('');
  return out
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const one = (...argv: string[]): Promise<Ended> => run(variables, '', 'openstack', ...argv);

/** Returns the id of the resource with this name. Expects exactly one such resource. */
async function idOf(collection: string, name: string): Promise<string> {
  const found = (await service.get(`/v2/${collection}?name=${name}`)).body[collection] as {
    id: string;
  }[];
  expect(found).toHaveLength(1);
  return found[0]?.id ?? '';
}

/** Returns whether the client and its plug-in for Designate, a separate package, are installed. */
function hasClient(): boolean {
  const help = () =>
    spawnSync('openstack', ['tsigkey', 'list', '--help'], { encoding: 'utf8' }).stdout;
  return (
    hasProgram('openstack', 'python3-openstackclient') &&
    isMet(() => help().includes('--algorithm'), {
      name: 'openstack',
      absence: 'openstack tsigkey is not installed',
      debianPackage: 'python3-designateclient',
    })
  );
}

const installed = hasClient();

/** Signs in with an existing token, as scripts do. */
async function signInWithToken(settings: Record<string, string> = PAGES): Promise<void> {
  service = await startTestService(settings);
  variables = {
    OS_AUTH_TYPE: 'admin_token',
    OS_ENDPOINT: `${service.url}/v2`,
    OS_TOKEN: service.token,
  };
}

describe.runIf(installed)(
  'the unmodified OpenStack client with a token',
  { timeout: TIMEOUT_MS },
  () => {
    beforeEach(() => signInWithToken());

    test('openstack tsigkey creates, lists, shows, sets and deletes keys by name and by id', async () => {
      const create = (name: string, algorithm: string, scope: string) =>
        `tsigkey create --name ${name} --algorithm ${algorithm} --secret ${SECRET} --scope ${scope} --resource-id ${POOL_ID}`;
      const [created] = await openstack(
        create('k1', 'hmac-sha256', 'POOL'),
        create('k2', 'hmac-sha512', 'ZONE'),
        create('k3', 'hmac-sha512', 'POOL'),
      );
      expect(created).toMatchObject({
        name: 'k1',
        ...KEY_MEMBERS,
        secret: SECRET,
      });
      const id = String(created?.id);
      const lists = await openstack(
        'tsigkey list',
        'tsigkey list --name k2',
        'tsigkey list --algorithm hmac-sha512',
        'tsigkey list --scope POOL',
      );
      const names = (lists as unknown as { name: string }[][]).map((list) =>
        list.map(({ name }) => name),
      );
      expect(names).toEqual([['k1', 'k2', 'k3'], ['k2'], ['k2', 'k3'], ['k1', 'k3']]);
      const [byName, byId, renamed, changed] = await openstack(
        'tsigkey show k1',
        `tsigkey show ${id}`,
        'tsigkey set k1 --name k0',
        `tsigkey set ${id} --algorithm hmac-sha384 --secret bmV3IHNlY3JldA== --scope ZONE`,
      );
      expect([byName, byId]).toEqual([created, created]);
      expect(renamed).toMatchObject({ id, name: 'k0', secret: SECRET });
      expect(changed).toMatchObject({
        id,
        name: 'k0',
        algorithm: 'hmac-sha384',
        secret: 'bmV3IHNlY3JldA==',
        scope: 'ZONE',
      });
      expect(
        await openstack(
          'tsigkey delete k0',
          `tsigkey delete ${await idOf('tsigkeys', 'k2')}`,
          'tsigkey delete k3',
          'tsigkey list',
        ),
      ).toEqual([[]]);
    });

    test('an import reads every key that openstack tsigkey list prints, with its scope', async () => {
      const members = { algorithm: 'hmac-sha256', secret: SECRET, resource_id: POOL_ID };
      const wanted = [
        { name: 'k1', scope: 'POOL' },
        { name: 'k2', scope: 'ZONE' },
        { name: 'k3', scope: 'POOL' },
      ];
      for (const each of wanted)
        expect((await service.post('/v2/tsigkeys', { ...members, ...each })).status).toBe(201);
      for (const format of ['json', 'csv'] as const) {
        const { status, out } = await one('tsigkey', 'list', '-f', format);
        expect(status).toBe(0);
        expect(detectFileFormat(out)).toBe(format);
        expect(FILE_FORMATS[format]?.read(out)).toMatchObject(
          wanted.map(({ name, scope }) => ({
            key: { name, algorithm: 'hmac-sha256', secret: SECRET },
            appliesTo: { scope, resourceId: POOL_ID },
          })),
        );
      }
    });

    test('a refused command prints the reason: exit code 1', async () => {
      const create = [
        'tsigkey',
        'create',
        '--name',
        'k',
        '--secret',
        SECRET,
        '--resource-id',
        POOL_ID,
        '--scope',
        'POOL',
      ];
      await service.post('/v2/tlds', { name: 'taken' });
      const cases: [string[], RegExp][] = [
        [['tld', 'show', 'nosuch'], /Name nosuch didn't resolve/],
        [['tld', 'delete', UNKNOWN_ID], /Could not find Tld/],
        [['tld', 'create', '--name', 'taken'], /Duplicate Tld: the name belongs to 'taken'/],
        [['recordset', 'list', UNKNOWN_ID], /does not exist: Tsigil has no record sets/],
        [['tld', 'create', '--name', 'with space'], /Invalid Tld: 'name' must consist of labels/],
        [
          [...create, '--algorithm', 'hmac-none'],
          /Invalid TsigKey: 'algorithm' must be one of hmac-md5/,
        ],
        [
          ['zone', 'create', 'a.untaken.', '--email', 'a@example.org'],
          /Invalid TLD: no TLD entry for 'untaken'/,
        ],
        [['--os-token', 'a-token-that-is-not-valid', 'tld', 'list'], /requires authentication/],
      ];
      const ended = await Promise.all(cases.map(([argv]) => one(...argv)));
      for (const [index, { status, out, err }] of ended.entries()) {
        expect([status, out], err).toEqual([1, '']);
        expect(err).toMatch(cases[index]?.[1] ?? /^$/);
      }
    });
  },
);

describe.runIf(installed)(
  'the unmodified OpenStack client with a service with compatibility: designate',
  { timeout: TIMEOUT_MS },
  () => {
    beforeEach(() => signInWithToken({ TSIGIL_COMPATIBILITY: 'designate' }));

    test('a zone is PENDING in the response to a change, and ACTIVE or deleted afterwards', async () => {
      const shown = await openstack(
        'zone create a.example. --email a@example.org',
        'zone show a.example.',
        'zone set a.example. --ttl 60',
        'zone show a.example.',
        'zone delete a.example.',
        'zone list',
      );
      const states = shown.map(({ status, action }) => [status, action]);
      expect(states.slice(0, 5)).toEqual([
        ['PENDING', 'CREATE'],
        ['ACTIVE', 'NONE'],
        ['PENDING', 'UPDATE'],
        ['ACTIVE', 'NONE'],
        ['PENDING', 'DELETE'],
      ]);
      expect(shown[5]).toEqual([]);
    });

    test('the variables of an openrc file break admin_token until they are unset', async () => {
      const sourced = { ...variables, OS_USERNAME: 'ada', OS_PROJECT_NAME: 'web' };
      const { status, err } = await run(sourced, '', 'openstack', 'tld', 'list');
      expect([status, err]).toEqual([
        1,
        expect.stringContaining("unexpected keyword argument 'project_name'"),
      ]);
      const page = readFileSync(PAGE, 'utf8');
      const unset = /^unset .*$/m.exec(page)?.[0] ?? '';
      const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${value}`);
      const script = [unset, ...exports, 'openstack tld list'].join('\n');
      expect(await run(sourced, '', 'bash', '--norc', '-euo', 'pipefail', '-c', script)).toEqual({
        status: 0,
        out: '\n',
        err: '',
      });
    });
  },
);

describe.runIf(installed && hasProgram('keystone-manage', 'keystone'))(
  'the unmodified OpenStack client with a password',
  { timeout: TIMEOUT_MS },
  () => {
    let keystone: Keystone;
    let password: string;
    beforeAll(async () => {
      keystone = await startKeystone();
      password = await keystone.createUser('operator', 'admin', { project: 'admin' });
    });
    beforeEach(async () => {
      service = await startTestService({
        ...PAGES,
        TSIGIL_AUTH_METHOD: 'keystone',
        TSIGIL_AUTH_KEYSTONE_URL: keystone.url,
        // Keystone can respond slowly while many tests run.
        TSIGIL_AUTH_KEYSTONE_TIMEOUT_SECONDS: '30',
      });
      await keystone.publish('dns', service.url);
      variables = {
        OS_AUTH_URL: `${keystone.url}/v3`,
        OS_USERNAME: 'operator',
        OS_PASSWORD: password,
        OS_PROJECT_NAME: 'admin',
        OS_USER_DOMAIN_ID: 'default',
        OS_PROJECT_DOMAIN_ID: 'default',
        OS_REGION_NAME: 'test',
        OS_IDENTITY_API_VERSION: '3',
      };
    });

    test('finds the service in the catalogue, and signs in once for many commands', async () => {
      const [tld, key, zone, keys] = await openstack(
        'tld create --name example',
        `tsigkey create --name k --algorithm hmac-sha256 --secret ${SECRET} --scope POOL --resource-id ${POOL_ID}`,
        'zone create a.example. --email a@example.org',
        'tsigkey list',
      );
      expect(tld).toMatchObject({ name: 'example' });
      expect(key).toMatchObject({ name: 'k', secret: SECRET });
      expect(zone).toMatchObject({ name: 'a.example.', status: 'ACTIVE' });
      expect(keys).toMatchObject([{ name: 'k' }]);
      expect(await openstack('tsigkey delete k', 'tld delete example', 'tld list')).toEqual([[]]);
    });
  },
);

describe.runIf(installed && hasProgram('openssl', 'openssl'))(
  'docs/openstack-clients.md',
  { timeout: TIMEOUT_MS },
  () => {
    beforeEach(() => signInWithToken());

    test('every example works in the order of the page', async () => {
      const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(
        ([, block = '']) => block,
      );
      expect(blocks.length).toBeGreaterThan(5);
      mkdirSync(join(folder, 'var'), { recursive: true });
      writeFileSync(join(folder, 'var/admin.token'), `${service.token}\n`);
      const script = blocks.join('\n').replaceAll('127.0.0.1:9001', new URL(service.url).host);
      const { status, err } = await run({}, '', 'bash', '--norc', '-euo', 'pipefail', '-c', script);
      expect({ status, err }).toEqual({ status: 0, err: '' });
      expect((await service.get('/v2/tlds?name=com')).body.tlds).toEqual([]);
    });
  },
);
