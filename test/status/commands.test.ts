import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { createClock } from '../../src/clock.ts';
import { beforeAll, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { tsigil } from '../cli/run.ts';
import { runInside } from '../cli/session.ts';
import { clientFor } from '../harness/zones.ts';
import { serve } from '../harness/connections.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const run = (of: Client, argv: readonly string[], columns?: number, url = of.url) =>
  runInside(
    {
      variables: { ...of.variables, TSIGIL_URL: url },
      ...(columns === undefined ? {} : { columns }),
    },
    ...argv,
  );

const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 19);

test('status ends with 0 if nothing needs a person, and shows all sections', async () => {
  const calm = await startTestService();
  for (const name of ['com', 'net']) await calm.post('/v2/tlds', { name });
  await calm.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: 'transfer' });
  expect(await run(calm, ['status'])).toEqual({
    status: 0,
    err: '',
    out: [
      'section\tresult\tdetail\trun',
      'name servers\tok\tnone\t',
      'keys\tok\t1, none failing on a working name server, none weak\t',
      'tokens\tok\t0, none expiring within 14 days\t',
      'secrets\tok\tnone in clear text\t',
      "last backup\tunknown\tnot recorded, because 'tsigil backup' has not written one\t",
      'zones\tok\t0, none outside the TLD entries\t',
      '',
    ].join('\n'),
  });
  const { out } = await run(calm, ['status', '-f', 'json']);
  expect(JSON.parse(out)).toMatchObject({
    url: calm.url,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    tlds: { total: 2 },
    problems: [],
    former_files: [],
  });
});

test.each([
  ['does not exist', undefined],
  [
    'names a server that does not run',
    `nameServers:
  - name: ns1
    driver: knot
    local: { file: FOLDER/tsigil.conf, configurationFile: FOLDER/knot.conf, controlSocket: FOLDER/knot.sock }
    address: 127.0.0.1
    pool: default
`,
  ],
])('status says nothing about former files if the configuration %s', async (_, content) => {
  const folder = temporaryFolder();
  const config = join(folder, 'tsigil.yaml');
  if (content !== undefined) writeFileSync(config, content.replaceAll('FOLDER', folder));
  const environment = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
  const { out, err } = await tsigil(folder, environment, 'status', '--config', config);
  expect([out, err]).toEqual([
    expect.stringContaining('\nname servers\tok'),
    expect.not.stringContaining(config),
  ]);
  expect(out).not.toContain('former files');
});

test('status ends with 1 and names what needs a person, with a mark in colour on a terminal', async () => {
  const busy = await startTestService();
  const post = (path: string, body: object) =>
    busy.post(path, body, { 'x-auth-sudo-project-id': 'p' });
  await post('/v2/nameservers', {
    name: 'ns1',
    driver: 'bind',
    address: '192.0.2.53',
    pool_id: KEY_MEMBERS.resource_id,
  });
  await post('/v2/tsigkeys', { ...KEY_MEMBERS, name: 'too short', secret: 'c2VjcmV0' });
  const ofGoneZone = { scope: 'ZONE', resource_id: '5d1c1d4e-9c0c-4b7e-8d6e-0a4b3f1f6c11' };
  await post('/v2/tsigkeys', { ...KEY_MEMBERS, ...ofGoneZone, name: 'stray' });
  await post('/v2/zones', { name: 'example.org.', email: 'a@example.org' });
  await post('/v2/tlds', { name: 'com' });
  await post('/v2/tokens', { name: 'ends', roles: ['reader'], expires_at: inDays(400) });
  await post('/v2/tokens', { name: 'brief', roles: ['reader'], expires_at: inDays(1) });
  const { status, out, err } = await run(busy, ['status'], 80);
  expect([status, err]).toEqual([1, '\x1b[31mtsigil:\x1b[39m 5 problems need a person\n']);
  for (const line of out.split('\n'))
    expect(line.replaceAll(/\x1b\[\d+m/g, '').length).toBeLessThanOrEqual(80);
  expect(out).toContain('\x1b[31m✗ name servers  0 of 1 live\x1b[39m\n');
  expect(out).toContain('\x1b[32m✓ tokens        2, none expiring within 14 days\x1b[39m\n');
  const { body } = await busy.get('/v2/status');
  const problems = body.problems as { section: string; message: string; run: string }[];
  expect(problems.map(({ message, run: next }) => [message, next])).toEqual([
    [expect.stringMatching(/^ns1 is failed: no running process/), 'tsigil nameserver check ns1'],
    [
      'keys with a weak algorithm, or a short or published secret: 1 (too short)',
      'tsigil tsigkey list --weak',
    ],
    ['keys that no name server can use: 1 (too short)', 'tsigil tsigkey list --unusable'],
    ['keys without an existing pool or zone: 1 (stray)', 'tsigil tsigkey list --orphaned'],
    ['zones outside the TLD entries: 1 (example.org.)', 'tsigil zone list --outside-tlds'],
  ]);
  expect((await run(busy, ['tsigkey', 'list', '--weak', '-f', 'value', '-c', 'name'])).out).toBe(
    'too short\n',
  );
});

test('a long-lived token that expires within 14 days needs a person, a short-lived one does not', async () => {
  let now = new Date('2030-01-01T00:00:00Z');
  const clock = () => now.toISOString().replace('Z', '000');
  const later = await startTestService({}, { clock });
  const at = (days: number) => new Date(now.getTime() + days * DAY_MS).toISOString().slice(0, 19);
  const tokens = { lasting: at(90), other: at(200) };
  for (const [name, expires] of Object.entries(tokens))
    await later.post('/v2/tokens', { name, roles: ['reader'], expires_at: expires });
  now = new Date(now.getTime() + 80 * DAY_MS);
  await later.post('/v2/tokens', { name: 'brief', roles: ['reader'], expires_at: at(5) });
  const { body } = await later.get('/v2/status');
  expect(body.tokens).toMatchObject({ total: 3, expiring: [{ name: 'lasting' }] });
  expect(body.problems).toMatchObject([
    { message: 'tokens that expire within 14 days: 1 (lasting on 2030-04-01)' },
  ]);
});

test('200 with what the overview shows: published, expiring and old keys, rotations that wait, administrators and the copy of the master key', async () => {
  let aheadMs = 0;
  const clock = createClock(() => Date.now() + aheadMs);
  const busy = await startTestService(
    { TSIGIL_TSIGKEYS_MAX_AGE_DAYS: '370' },
    { clock, rotations: { intervalMs: 20, pollMs: 20 } },
  );
  // The example testkey in rndc.conf(5) of BIND 9.
  const secret = 'R3HI8P6BKw9ZwXwN3VZKuQ==';
  const ids = new Map<string, string>();
  for (const [name, more] of Object.entries({ manual: { secret }, moves: {} })) {
    const created = await busy.post('/v2/tsigkeys', { ...KEY_MEMBERS, ...more, name });
    ids.set(name, String(created.body.id));
  }
  const server = { driver: 'bind', address: '192.0.2.53', pool_id: KEY_MEMBERS.resource_id };
  const { body: ns } = await busy.post('/v2/nameservers', { ...server, name: 'ns1' });
  await busy.post('/v2/tokens', { name: 'ada', roles: ['admin'] });
  await busy.post(`/v2/tsigkeys/${ids.get('moves')}/rotate`, {});
  const { tsigkeys, ...first } = (await busy.get('/v2/status')).body;
  expect(tsigkeys).toMatchObject({ total: 3, weak: 1, published: 1, expiring: 0, old: 0 });
  expect(first.nameservers.servers).toMatchObject([
    { id: ns.id, name: 'ns1', state: 'failed', keys_live: 0, needs_person: true },
  ]);
  expect(first.changes).toMatchObject([
    { actor_name: 'admin', action: 'tsigkey.rotation.started', resource_name: 'moves' },
    { action: 'tsigkeys:rotate', resource_name: 'moves-r2' },
    { action: 'tokens:create', resource_name: 'ada' },
  ]);
  expect(first.tokens.administrators).toBe(1);
  expect(first.encryption.master_key_copied).toBe(false);
  aheadMs = 61_000; // a rotation waits for name servers for a minute before it says so
  await expect
    .poll(async () => (await busy.get('/v2/status')).body.tsigkeys.waiting)
    .toMatchObject([{ id: ids.get('moves'), name: 'moves', reason: 'not_verified', who: ['ns1'] }]);
  expect((await busy.post('/v2/encryption/confirm-copy', undefined)).status).toBe(200);
  aheadMs = 366 * DAY_MS;
  const later = (await busy.get('/v2/status')).body;
  expect(later.tsigkeys).toMatchObject({ expiring: 2, old: 2 });
  expect(later.encryption.master_key_copied).toBe(true);
});

test.runIf(process.env.TEST_DATABASE !== 'postgres')(
  '200 without a look at any secret: one that cannot be decrypted is found when somebody reads it',
  async () => {
    const { folder, ...first } = await startTestService();
    const { body } = await first.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: 'damaged' });
    await first.close();
    const database = new DatabaseSync(join(folder, 'tsigil.db'));
    database.exec("UPDATE tsigkeys SET secret = 'damaged'");
    database.close();
    const again = await startTestService({}, { folder });
    const unreadable = async () => (await again.get('/v2/status')).body.encryption.unreadable;
    expect([await unreadable(), await unreadable()]).toEqual([0, 0]);
    const states = await again.post('/v2/tsigkeys/states', { ids: [body.id] });
    expect([states.status, await unreadable()]).toEqual([200, 0]);
    await again.get(`/v2/tsigkeys/${body.id}`);
    expect(await unreadable()).toBe(1);
  },
);

test('status says which sections the token may not see: exit code 5', async () => {
  const { status, out, err } = await run(await clientFor(service, ['reader'], 'p1'), ['status']);
  expect([status, err]).toEqual([
    5,
    'tsigil: No problem found, but the token may not see everything: name servers, keys, tokens, secrets, last backup\nUse a token with the role auditor or admin, without limits.\n',
  ]);
  expect(out).toContain('\nkeys\tunknown\tnot visible to this token\t\n');
  const all = await run(await clientFor(service, ['auditor']), ['status']);
  expect([all.status, all.err]).toEqual([0, '']);
});

test.runIf(process.env.TEST_DATABASE !== 'postgres')(
  'status shows when tsigil backup last wrote a backup, even after its record was purged',
  async () => {
    const { folder } = service;
    const variables = { TSIGIL_DATABASE_URL: await testDatabase(folder) };
    const copy = await tsigil(folder, variables, 'backup', '--to', join(folder, 'copy.db'));
    expect(copy.status).toBe(0);
    const { out } = await run(service, ['status', '-f', 'json', '-c', 'backup']);
    const { backup } = JSON.parse(out) as { backup: { last_at: string } };
    expect(Date.now() - Date.parse(`${backup.last_at}Z`)).toBeLessThan(60_000);
    expect((await run(service, ['status'])).out).toMatch(/\nlast backup\tok\t\d+s ago, at \d{4}-/);
  },
);

test.runIf(process.env.TEST_DATABASE !== 'postgres')(
  'status after a restore names the backup, when it was written, and when it was restored',
  async () => {
    const first = await startTestService();
    const variables = { TSIGIL_DATABASE_URL: await testDatabase(first.folder) };
    const command = async (...argv: string[]) =>
      expect(await tsigil(first.folder, variables, ...argv)).toMatchObject({ status: 0 });
    const stateOf = async (of: TestService) =>
      (await of.get('/v2/status')).body.backup as {
        last_at: string;
        restored: { from: string; backup_at: string; at: string } | null;
      };
    await command('backup', '--to', 'first.db');
    const written = (await stateOf(first)).last_at;
    await command('backup', '--to', 'second.db');
    expect((await stateOf(first)).restored).toBe(null);
    await first.close();

    await command('restore', 'first.db', '--yes');
    const restarted = await startTestService({}, { folder: first.folder });
    const { last_at: last, restored } = await stateOf(restarted);
    expect(restored).toMatchObject({ from: 'first.db', backup_at: last });
    const { backup_at: of = '', at = '' } = restored ?? {};
    expect([of, written, at].toSorted()).toEqual([of, written, at]);
    const { out } = await run(restarted, ['status']);
    expect(out).toMatch(
      new RegExp(
        `\nlast backup\tok\t\\d+s ago, at ${of.slice(0, 19)}\\. Restored from 'first\\.db' of ${of.slice(0, 19)}, \\d+s ago, at ${at.slice(0, 19)}\t`,
      ),
    );
    await command('backup', '--to', 'third.db');
    const later = await stateOf(restarted);
    expect(later.restored).toEqual(restored);
    expect(later.last_at > at).toBe(true);
  },
);

test('status sends one request', async () => {
  const requests: string[] = [];
  const url = await serve(({ method = '', url: path = '' }, response) => {
    requests.push(`${method} ${path}`);
    void service
      .call(method, path)
      .then((answer) => response.writeHead(answer.status).end(answer.text));
  });
  expect((await run(service, ['status'], undefined, url)).status).toBe(0);
  expect(requests).toEqual(['GET /v2/status']);
});
