import { beforeAll, describe, expect, test } from 'vitest';
import { probeKey } from '../../src/net/probe.ts';
import { bind as brand } from '../harness/brands/bind.ts';
import {
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { tsigil, type Ended, words } from '../cli/run.ts';
import { runInside } from '../cli/session.ts';
import { serve } from '../harness/connections.ts';

describe.runIf(brand.isInstalled())('with a service that delivers keys to BIND', () => {
  const folder = temporaryFolder();
  let bind: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    bind = await startDeliveryServer(brand);
    service = await startTestService(delivering(bind));
    await untilLive(service);
  });

  const run = (...argv: string[]): Promise<Ended> => tsigil(folder, service.variables, ...argv);

  test('nameserver list shows the state of each name server', async () => {
    const { status, out, err } = await run('nameserver', 'list');
    expect([status, err]).toEqual([0, '']);
    expect(out).toMatch(
      /^name\tstate\tkeys_wanted\tkeys_live\tverified_at\terror\nns1\tlive\t0\t0\t\d{4}-.*\t\n$/,
    );
  });

  test('nameserver reconcile compares the keys of a name server at once', async () => {
    const before = (await shownServer(service)).verified_at;
    expect(await run('nameserver', 'reconcile', 'ns1')).toEqual({
      status: 0,
      out: "Requested a comparison of 'ns1'.\n",
      err: '',
    });
    await expect.poll(async () => (await shownServer(service)).verified_at).not.toBe(before);
    const { id } = await shownServer(service);
    expect(await run('nameserver', 'reconcile', id, '--confirm')).toMatchObject({
      status: 0,
      out: "Requested a comparison of 'ns1'.\n",
    });
  });

  test('tsigkey create --wait and set --wait return when BIND accepts the key: exit code 0', async () => {
    const secretOf = async () => {
      const { out } = await run(...words`tsigkey show waits --reveal -f value -c secret`);
      return out.trim();
    };
    const verdict = async (secret: string) => {
      const key = { id: 'waits', name: 'waits', algorithm: 'hmac-sha256' as const, secret };
      const server = { server: bind.address, zone: 'a.test' };
      return (await probeKey(key, 'transfer', server, Date.now)).verdict;
    };
    const created = await run('tsigkey', 'create', 'waits', '--wait', '-f', 'value', '-c', 'name');
    const first = await secretOf();
    expect([created, await verdict(first)]).toEqual([
      { status: 0, out: 'waits\n', err: '' },
      'good',
    ]);
    const flags = ['--generate', '--yes', '--wait', '-f', 'value', '-c', 'name'];
    expect(await run('tsigkey', 'set', 'waits', ...flags)).toEqual({
      ...created,
      err: expect.stringContaining('Warning: ') as unknown,
    });
    expect([await verdict(await secretOf()), await verdict(first)]).toEqual([
      'good',
      'wrong secret',
    ]);
  });

  test('tsigkey set --generate and nameserver delete ask if a name server has the key', async () => {
    const show = words`tsigkey show asked --reveal -f value -c secret`;
    const set = words`tsigkey set asked --generate -f value -c name`;
    await run('tsigkey', 'create', 'asked', '--wait');
    const { out: former } = await run(...show);
    expect(await run(...set)).toEqual({
      status: 2,
      out: '',
      err: "tsigil: The key 'asked' is on ns1. The new secret replaces the former one there within seconds, and every client that still uses the former one is refused until you configure the new one. Cannot ask for confirmation: standard input is not a terminal. Nothing was changed.\nUse --yes to go ahead.\n",
    });
    expect((await run(...show)).out).toBe(former);
    const { status, err } = await run('nameserver', 'delete', 'ns1');
    expect([status, err]).toEqual([2, expect.stringMatching(/asked.* Remove .* 'nameServers' /)]);
    expect((await run(...set, '--yes')).status).toBe(0);
    expect((await run(...show)).out).not.toBe(former);
  });

  test('tsigkey delete names the name servers that lose the key; --wait returns when they refuse it', async () => {
    const names = ['lost', 'refused-soon', 'refused-now'];
    for (const name of names) await run('tsigkey', 'create', name, '--wait');
    const key = { id: 'x', name: 'refused-now', algorithm: 'hmac-sha256' as const };
    const { out: secret } = await run(
      ...words`tsigkey show refused-now --reveal -f value -c secret`,
    );
    const zone = { server: bind.address, zone: 'a.test' };
    const verdict = async () =>
      (await probeKey({ ...key, secret: secret.trim() }, 'transfer', zone, Date.now)).verdict;
    expect(await verdict()).toBe('good');
    expect(await run('tsigkey', 'delete', 'lost')).toEqual({
      status: 0,
      out: 'lost: deleted; ns1 loses it\n',
      err: '',
    });
    expect(await run('tsigkey', 'delete', 'refused-soon', 'refused-now', '--wait')).toEqual({
      status: 0,
      out: [
        'refused-soon: deleted; ns1 loses it\n',
        'refused-now: deleted; ns1 loses it\n',
        'refused-soon: removed from ns1, and refused there\n',
        'refused-now: removed from ns1, and refused there\n',
      ].join(''),
      err: '',
    });
    expect(await verdict()).toBe('unknown key');
  });

  test('tsigkey delete --wait ends with 1 if a name server still has the key', async () => {
    for (const name of ['stuck', 'stuck-too']) await run('tsigkey', 'create', name, '--wait');
    await run('nameserver', 'set', 'ns1', '--paused', 'true');
    const { status, out, err } = await run('tsigkey', 'delete', 'stuck', 'stuck-too', '--wait');
    await run('nameserver', 'set', 'ns1', '--paused', 'false');
    const keeps = 'deleted; ns1 keeps it until delivery works again (paused: ';
    expect(status).toBe(1);
    expect(out).toContain(`stuck: ${keeps}`);
    expect(out).toContain(`\nstuck-too: ${keeps}`);
    expect(err).toMatch(
      /^tsigil: Deleted, but still on name servers: stuck \(1 of 1 name servers\), stuck-too \(1 of 1 name servers\)\nns1: paused \(paused: .+tsigil nameserver set ns1 --paused false\)\n$/,
    );
  });

  test('tsigkey rotate --wait returns when the successor is verified, retire --wait when the key is refused', async () => {
    await run('tsigkey', 'create', 'turned', '--wait');
    const { out: secret } = await run(...words`tsigkey show turned --reveal -f value -c secret`);
    const key = { name: 'turned', algorithm: 'hmac-sha256' as const, secret: secret.trim() };
    const zone = { server: bind.address, zone: 'a.test' };
    const rotated = await run(...words`tsigkey rotate turned --wait -f value -c name`);
    expect(rotated).toMatchObject({ status: 0, out: 'turned-r2\n' });
    const lifecycle = await run(
      ...words`tsigkey lifecycle turned -f value -c state -c created_at -c started_at`,
    );
    expect(lifecycle.out).toMatch(/^switching \d{4}-\S+ \d{4}-\S+\nactive \d{4}-\S+ \s*\n$/);
    const retired = await run(
      ...words`tsigkey retire turned --force --wait -f value -c name -c state`,
    );
    expect(retired).toEqual({
      status: 0,
      out: 'turned retired\nturned-r2 active\n',
      err: 'turned: removed from ns1, and refused there\n',
    });
    expect((await probeKey(key, 'transfer', zone, Date.now)).verdict).toBe('unknown key');
  });

  test('nameserver check and tsigkey create --wait print what is wrong with a stopped server: exit code 1', async () => {
    await bind.stop();
    const { id } = await shownServer(service);
    const [check, byId] = [
      await run('nameserver', 'check', 'ns1'),
      await run('nameserver', 'check', id),
    ];
    const created = await run('tsigkey', 'create', 'late', '--wait', '-f', 'value', '-c', 'name');
    await bind.start();
    expect([check.status, check.out]).toEqual([1, expect.stringMatching(/\tfalse\t/)]);
    expect(check.out).toMatch(/nothing listens at the address\.\tCheck that the name server runs/);
    expect(check.out.split('nothing listens')).toHaveLength(2);
    expect(check.err).toMatch(/^tsigil: [1-9] of \d+ requirements of 'ns1' are not met\n$/);
    expect(byId.err).toBe(check.err);
    expect([created.status, created.out]).toEqual([1, 'late\n']);
    expect(created.err).toMatch(
      /^tsigil: The key does not work on 1 of 1 name servers\nns1: failed \(\w+: .+\)\nRun 'tsigil nameserver check ns1' to find the cause\.\n$/,
    );
    await run('nameserver', 'reconcile', 'ns1');
    expect((await run('tsigkey', 'status', 'late', '--wait')).status).toBe(0);
  });

  test.each([
    ['create', words`tsigkey create after-repair --wait`],
    ['set', words`tsigkey set repaired --name renamed --wait`],
    ['grants', words`tsigkey grants repaired --right transfer --wait`],
  ])('tsigkey %s --wait does not report the failure from before a repair', async (_verb, argv) => {
    await bind.stop();
    expect((await run('tsigkey', 'create', 'repaired', '--wait')).status).toBe(1);
    await bind.start();
    expect(await run(...argv)).toMatchObject({ status: 0 });
    for (const name of ['repaired', 'renamed']) await run('tsigkey', 'delete', name);
  });
});

const ID = '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61';

test('tsigkey status --wait waits while one name server is pending, even if another name server has failed', async () => {
  const answers = [
    ['failed', 'pending'],
    ['failed', 'delivered'],
  ];
  const url = await serve((_request, response) => {
    const servers = (answers.length > 1 ? answers.shift() : answers[0])?.map((state, index) => ({
      name_server: `ns${index + 1}`,
      state,
      delivered_version: 1,
      attempts: 0,
      applied_at: null,
      verified_at: null,
      next_attempt_at: null,
      error: null,
    }));
    response.end(JSON.stringify({ key_id: 'x', state: 'failed', version: 1, servers }));
  });
  const variables = { TSIGIL_URL: url, TSIGIL_TOKEN: 'token' };
  const columns = ['-f', 'value', '-c', 'name_server', '-c', 'state'];
  const argv = words`tsigkey status ${ID} --wait`;
  const { status, out } = await runInside({ variables }, ...argv, ...columns);
  expect([status, out]).toEqual([1, 'ns1 failed\nns2 delivered\n']);
});
