import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { serve } from '../harness/connections.ts';
import { POOL_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';

let service: TestService;
let pool: string;
const zones = new Map<string, string>();
beforeAll(async () => {
  service = await startTestService();
  pool = String((await service.post('/v2/pools', { name: 'anycast' })).body.id);
  const names = Array.from({ length: 12 }, (_, index) => `z${index}.example.`);
  for (const name of ['a.example.', 'b.example.', ...names]) {
    const body = { name, email: 'a@example.com', pool_id: pool };
    const made = await service.post('/v2/zones', body, { 'x-auth-sudo-project-id': 'someone' });
    zones.set(name, String(made.body.id));
  }
});

const run = (...argv: string[]) => runInside(service, 'tsigkey', ...argv);
async function created(...argv: string[]) {
  const { status, out, err } = await run('create', ...argv, '-f', 'json');
  expect({ status, err }).toEqual({ status: 0, err: '' });
  const { id, scope, resource_id: resource } = JSON.parse(out) as Record<string, string>;
  const { body } = await service.get(`/v2/tsigkeys/${id}/grants`);
  return { scope, resource, grants: body.grants as unknown };
}
const idOf = (name: string) => zones.get(`${name}.example.`) ?? '';
const both = () => [idOf('a'), idOf('b')].sort();

describe('tsigkey create', () => {
  test('one zone without a pool is the scope, and a right narrows it', async () => {
    const place = { scope: 'ZONE', resource: idOf('a') };
    expect(await created('one', '--zone', 'a.example')).toEqual({ ...place, grants: null });
    expect(await created('two', '--zone', 'a.example', '--right', 'transfer')).toEqual({
      ...place,
      grants: [{ rights: ['transfer'], zones: 'all' }],
    });
  });

  test('zones beside a pool, or several, are grants within the pool', async () => {
    const place = { scope: 'POOL', resource: pool };
    expect(await created('three', '--pool', 'anycast', '--zone', 'a.example')).toEqual({
      ...place,
      grants: [{ rights: ['transfer', 'update'], zones: [idOf('a')] }],
    });
    expect(
      await created('four', '--zone', 'a.example', '--zone', 'b.example', '--right', 'transfer'),
    ).toEqual({ ...place, grants: [{ rights: ['transfer'], zones: both() }] });
    expect(await created('five', '--pool', 'anycast', '--none')).toEqual({ ...place, grants: [] });
    expect(await created('six', '--right', 'update')).toEqual({
      scope: 'POOL',
      resource: POOL_ID,
      grants: [{ rights: ['update'], zones: 'all' }],
    });
  });

  test('refuses an unknown right, a zone of another pool, and flags that exclude each other', async () => {
    const { status, err } = await run('create', 'x', '--right', 'query');
    expect([status, err]).toEqual([2, expect.stringContaining('Use one of: transfer, update.')]);
    const other = await run('create', 'x', '--pool', 'default', '--zone', 'a.example');
    expect([other.status, other.err]).toEqual([
      1,
      expect.stringContaining('in the pool of the key'),
    ]);
    for (const flags of [
      ['--none', '--right', 'transfer'],
      ['--zone', 'a.example', '--scope', 'ZONE'],
    ])
      expect((await run('create', 'x', ...flags)).status).toBe(2);
  });
});

describe('tsigkey grants', () => {
  test('does not overwrite what another caller changes meanwhile', async () => {
    const { body: key } = await service.post('/v2/tsigkeys', {
      name: 'contended',
      algorithm: 'hmac-sha256',
      scope: 'POOL',
      resource_id: pool,
      grants: [{ rights: ['transfer'], zones: both() }],
    });
    const narrow = [{ rights: ['transfer'], zones: [idOf('a')] }];
    /** Narrows the grants just before the first change of the command reaches the service. */
    const between = await serve((request, response) => {
      const forward = async () => {
        const path = String(request.url);
        if (request.method === 'PUT') await service.call('PUT', path, { grants: narrow });
        const headers = { ...(request.headers as Record<string, string>) };
        headers.host = new URL(service.url).host;
        const sent = request.method === 'PUT' ? await text(request) : undefined;
        const answer = await service.call(String(request.method), path, sent, headers);
        response.writeHead(answer.status, { etag: answer.headers.get('etag') ?? '' });
        response.end(answer.text);
      };
      void forward();
    });
    const parameters = ['grants', 'contended', '--right', 'transfer', '--right', 'update'];
    const through = { variables: { ...service.variables, TSIGIL_URL: between } };
    const { status, err } = await runInside(through, 'tsigkey', ...parameters);
    expect([status, err]).toEqual([1, expect.stringContaining('has changed since')]);
    const { body } = await service.get(`/v2/tsigkeys/${key.id}/grants`);
    expect(body.grants).toEqual(narrow);
  });

  const shown = async (...argv: string[]) => {
    const { status, out, err } = await run('grants', ...argv, '-f', 'csv');
    expect({ status, err }).toEqual({ status: 0, err: '' });
    return out.split('\n').slice(1, -1);
  };

  test('shows and replaces what a key opens', async () => {
    await created('changing', '--pool', 'anycast');
    expect(await shown('changing')).toEqual(['all that the name server gives,all of its scope']);
    expect(await shown('changing', '--zone', 'a.example', '--right', 'transfer')).toEqual([
      'transfer,a.example.',
    ]);
    expect(await shown('changing')).toEqual(['transfer,a.example.']);
    expect(await shown('changing', '--none')).toEqual(['nothing,none']);
    expect((await run('grants', 'changing', '-f', 'json')).out).toBe('{\n  "grants": []\n}\n');
    expect((await run('grants', 'changing', '--reset', '--yes')).status).toBe(0);
    expect(await shown('changing')).toEqual(['all that the name server gives,all of its scope']);
    expect((await run('grants', 'changing', '-f', 'json')).out).toBe('{\n  "grants": null\n}\n');
  });

  test('a change of only the rights keeps the zones, and of only the zones keeps the rights', async () => {
    await created('kept', '--pool', 'anycast', '--zone', 'a.example', '--right', 'update');
    const changes: [string[], string, string][] = [
      [
        ['--right', 'transfer'],
        'transfer,a.example.',
        'The key gets more than before: transfer in a.example. (before: update in a.example.)\n',
      ],
      [
        ['--zone', 'b.example'],
        'transfer,b.example.',
        'The key gets more than before: transfer in b.example. (before: transfer in a.example.)\n',
      ],
    ];
    for (const [flags, row, said] of changes) {
      const { status, out, err } = await run('grants', 'kept', ...flags, '-f', 'csv');
      expect({ status, row: out.split('\n')[1], err }).toEqual({ status: 0, row, err: said });
    }
    await created('whole', '--pool', 'anycast');
    expect(await shown('whole', '--right', 'transfer')).toEqual(['transfer,all of its scope']);
    expect(await shown('whole', '--zone', 'a.example')).toEqual(['transfer,a.example.']);
  });

  test('asks before a limited key gets rights in every zone of its scope', async () => {
    await created('limited', '--pool', 'anycast', '--zone', 'a.example', '--right', 'transfer');
    for (const [flag, after] of [
      ['--all-zones', 'transfer in all of its scope'],
      ['--reset', 'all that the name server gives in all of its scope'],
    ] as const) {
      const { status, err } = await run('grants', 'limited', flag);
      expect([status, err]).toEqual([
        2,
        expect.stringContaining(
          `The key gets more than before: ${after} (before: transfer in a.example.)\ntsigil: Cannot ask for confirmation`,
        ),
      ]);
      expect(await shown('limited')).toEqual(['transfer,a.example.']);
    }
    expect((await run('grants', 'limited', '--all-zones', '--yes')).status).toBe(0);
    expect(await shown('limited')).toEqual(['transfer,all of its scope']);
  });

  test('refuses to keep zones or rights of which a key has none or different ones', async () => {
    for (const [grants, opened] of [
      [[], 'nothing'],
      [
        [
          { rights: ['transfer'], zones: 'all' },
          { rights: ['update'], zones: [idOf('a')] },
        ],
        'different zones with different rights',
      ],
    ] as const) {
      const place = { scope: 'POOL', resource_id: pool };
      const body = { name: opened, algorithm: 'hmac-sha256', ...place, grants };
      const { id } = (await service.post('/v2/tsigkeys', body)).body;
      for (const flags of [['--right', 'transfer'], ['--zone', 'b.example'], ['--all-zones']]) {
        const { status, err } = await run('grants', String(id), ...flags);
        expect([status, err]).toEqual([
          2,
          `tsigil: The key opens ${opened}, so it can keep neither its zones nor its rights. Nothing was changed.\nUse --right together with --zone or --all-zones.\n`,
        ]);
      }
      expect((await service.get(`/v2/tsigkeys/${String(id)}/grants`)).body).toEqual({ grants });
    }
  });
});

test('zone delete names the keys that lose rights with the zone, and asks', async () => {
  const { body: own } = await service.post('/v2/pools', { name: 'cut' });
  const zones = ['whole.example.', 'cut.example.'];
  for (const name of zones)
    await service.post('/v2/zones', { name, email: 'a@example.com', pool_id: own.id });
  const remove = (...argv: string[]) => runInside(service, 'zone', 'delete', ...argv);
  await created('everywhere', '--pool', 'cut');
  expect((await remove('whole.example')).status).toBe(0);
  await created('only-cut', '--zone', 'cut.example', '--none');
  await created('granted', '--pool', 'cut', '--zone', 'cut.example');
  expect(await remove('nosuch.example', 'cut.example')).toEqual({
    status: 2,
    out: '',
    err: "Keys lose what they open in 'cut.example': only-cut, granted. Name servers then refuse it.\ntsigil: Cannot ask for confirmation: standard input is not a terminal. Nothing was changed.\nUse --yes to go ahead.\n",
  });
  for (let index = 0; index < 20; index += 1) await created(`a${index}`, '--pool', 'cut');
  expect((await remove('cut.example')).err).toContain(
    "'cut.example': only-cut, perhaps some of 2 more. ",
  );
  expect(await remove('cut.example', '--yes')).toMatchObject({ status: 0, err: '' });
});

test('zone show and nameserver show say which keys open what', async () => {
  const { body: own } = await service.post('/v2/pools', { name: 'shown' });
  const body = { name: 'shown.example.', email: 'a@example.com', pool_id: own.id };
  await service.post('/v2/zones', body, { 'x-auth-sudo-project-id': 'someone' });
  const server = { name: 'ns1', pool_id: own.id, driver: 'bind', address: '192.0.2.53' };
  await service.post('/v2/nameservers', server);
  const noted = async (...argv: string[]) => (await runInside(service, ...argv)).err;
  expect(await noted('zone', 'show', 'shown.example', '--all-projects')).toBe('Keys: none\n');
  await created('open', '--pool', 'shown');
  await created('narrow', '--pool', 'shown', '--zone', 'shown.example', '--right', 'transfer');
  expect(await noted('zone', 'show', 'shown.example', '--all-projects')).toBe(
    'Keys: narrow (transfer), open (transfer, update)\n',
  );
  expect(await noted('nameserver', 'show', 'ns1')).toBe(
    'Keys: narrow (transfer in 1 zone), open (transfer)\n',
  );
  expect(await noted('nameserver', 'show', 'ns1', '-f', 'json')).toBe('');
});
