import { beforeAll, describe, expect, test } from 'vitest';
import { KEY_MEMBERS, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';
import { clientFor } from '../harness/zones.ts';
import { words } from '../cli/run.ts';

let service: TestService;
let poolId: string;
let zoneId: string;
beforeAll(async () => {
  service = await startTestService();
  poolId = String((await service.post('/v2/pools', { name: 'anycast' })).body.id);
  const zone = await service.post(
    '/v2/zones',
    { name: 'example.com.', email: 'a@example.com' },
    { 'x-auth-sudo-project-id': 'someone' },
  );
  zoneId = String(zone.body.id);
});

const run = (...argv: string[]) => runInside(service, ...argv);

async function json<T = Record<string, unknown>>(...argv: string[]): Promise<T> {
  const { status, out, err } = await run(...argv, '-f', 'json');
  expect({ status, err }).toEqual({ status: 0, err: '' });
  return JSON.parse(out) as T;
}

async function keyNamed(name: string): Promise<Record<string, string>> {
  const { body } = await service.get(`/v2/tsigkeys?name=${name}`);
  return (body.tsigkeys as Record<string, string>[])[0] ?? {};
}

describe('tsigkey create', () => {
  test('with a name only, the key has hmac-sha256, a generated secret and the default pool', async () => {
    expect(await json('tsigkey', 'create', 'only-a-name')).toMatchObject({
      name: 'only-a-name',
      ...KEY_MEMBERS,
    });
    expect((await keyNamed('only-a-name')).secret).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  });

  test('a name that no name server can have needs --force, also for a change', async () => {
    const refused = {
      status: 2,
      out: '',
      err: expect.stringMatching(
        /^tsigil: No name server can have a key with the name 'two words'\n.+--force\.\n$/,
      ) as string,
    };
    expect(await run('tsigkey', 'create', 'two words')).toEqual(refused);
    expect(await keyNamed('two words')).toEqual({});
    await run('tsigkey', 'create', 'named-well');
    const rename = ['tsigkey', 'set', 'named-well', '--name', 'two words'];
    expect(await run(...rename)).toEqual(refused);
    expect(await run('tsigkey', 'rotate', 'named-well', '--name', 'two words')).toEqual(refused);
    expect((await run(...rename, '--force')).status).toBe(0);
    const { status, err } = await run('tsigkey', 'create', "it's new", '--force');
    expect([status, err]).toEqual([
      0,
      expect.stringContaining("Next:\n  tsigil tsigkey set 'it'\\''s new' --name NAME\n"),
    ]);
    expect(err).not.toContain('export');
  });

  test('the name can be an argument or a flag, but not both', async () => {
    expect((await json('tsigkey', 'create', '--name', 'by-flag')).name).toBe('by-flag');
    expect((await json('pool', 'create', 'by-argument')).name).toBe('by-argument');
    expect(await run('tsigkey', 'create', 'one', '--name', 'two')).toEqual({
      status: 2,
      out: '',
      err: "tsigil: The name is given twice: 'one' and --name. Use one of them.\n",
    });
    expect(await run('tld', 'create')).toEqual({
      status: 2,
      out: '',
      err: 'tsigil: The name of the tld is missing\nAdd it as an argument: tsigil tld create NAME.\n',
    });
  });

  test('prints the next commands on standard error after a table, but not after other formats', async () => {
    const { out, err } = await run('tsigkey', 'create', 'new-one');
    expect(out).toContain('new-one');
    expect(err).toBe(
      'Next:\n' +
        '  tsigil tsigkey export new-one --format bind\n' +
        '  tsigil tsigkey verify new-one --server HOST --zone ZONE\n',
    );
    expect((await run('tsigkey', 'create', 'quiet', '-f', 'value', '-c', 'name')).err).toBe('');
  });
});

describe('names instead of ids', () => {
  test('--pool and --zone give a new key its scope and its resource', async () => {
    expect(await json('tsigkey', 'create', 'of-pool', '--pool', 'anycast')).toMatchObject({
      scope: 'POOL',
      resource_id: poolId,
    });
    expect(await json('tsigkey', 'create', 'of-zone', '--zone', 'EXAMPLE.com')).toMatchObject({
      scope: 'ZONE',
      resource_id: zoneId,
    });
    expect(await json('tsigkey', 'create', 'of-zone-id', '--zone', zoneId)).toMatchObject({
      scope: 'ZONE',
      resource_id: zoneId,
    });
  });

  test('list filters by the name of a pool or zone', async () => {
    const names = async (...argv: string[]) =>
      (await json<{ name: string }[]>('tsigkey', 'list', '--sort', 'name', ...argv)).map(
        ({ name }) => name,
      );
    expect(await names('--pool', 'anycast')).toEqual(['of-pool']);
    expect(await names('--zone', 'example.com')).toEqual(['of-zone', 'of-zone-id']);
  });

  test('an unknown name, or two flags for one member, is refused, and no key is created', async () => {
    expect(await run('tsigkey', 'create', 'lost', '--pool', 'nosuch')).toEqual({
      status: 1,
      out: '',
      err: "tsigil: No pool is named 'nosuch'\nRun 'tsigil pool list' to list all pools.\n",
    });
    for (const flags of [
      ['--scope', 'POOL'],
      ['--resource-id', UNKNOWN_ID],
    ]) {
      const { status, err } = await run('tsigkey', 'create', 'lost', '--pool', 'default', ...flags);
      expect([status, err]).toEqual([2, expect.stringContaining('cannot be used with')]);
    }
    expect(await keyNamed('lost')).toEqual({});
  });

  test('a caller without the right to see all projects can use the names of zones of its project', async () => {
    const member = await startTestService({
      TSIGIL_POLICY: '{tsigkeys:create: [member], tsigkeys:list: [member]}',
    });
    await member.post(
      '/v2/zones',
      { name: 'own.example.', email: 'a@example.com' },
      { 'x-auth-sudo-project-id': 'own' },
    );
    const { status, out, err } = await runInside(
      await clientFor(member, ['member'], 'own'),
      ...words`tsigkey create k --zone own.example -f value -c scope`,
    );
    expect({ status, out, err }).toEqual({ status: 0, out: 'ZONE\n', err: '' });
  });
});

describe('tsigkey set --generate', () => {
  test('generates a new secret as long as the output of the algorithm', async () => {
    await json('tsigkey', 'create', 'rotated');
    const before = await keyNamed('rotated');
    const { status, out, err } = await run('tsigkey', 'set', 'rotated', '--generate');
    expect(status).toBe(0);
    expect(err).toContain('tsigil tsigkey export rotated --format bind');
    const after = await keyNamed('rotated');
    expect(after.secret).not.toBe(before.secret);
    expect(Buffer.from(after.secret ?? '', 'base64')).toHaveLength(32);
    expect(out + err).not.toContain(after.secret);
  });
});

describe('warnings of the service', () => {
  test('create and set print warnings on standard error, in every format', async () => {
    expect(
      await run(
        ...words`tsigkey create weak --algorithm hmac-md5 --resource-id ${UNKNOWN_ID} -f value -c name`,
      ),
    ).toEqual({
      status: 0,
      out: 'weak\n',
      err:
        'Warning: hmac-md5 must not be used (RFC 8945 section 6)\n' +
        'Warning: the resource_id is not the id of an existing pool\n',
    });
    const { status, err } = await run('tsigkey', 'set', 'weak', '--algorithm', 'hmac-sha1');
    expect([status, err]).toEqual([
      0,
      'Warning: hmac-sha1 is not recommended (RFC 8945 section 6)\n' +
        'Warning: the secret is shorter than the output of hmac-sha1 (RFC 2104 section 3)\n',
    ]);
  });
});
