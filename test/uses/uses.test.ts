import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MAX_COUNT, type KeyUse } from '../../src/delivery/log-protocol.ts';
import type { ShownUses } from '../../src/uses/key-uses.ts';
import { createAgent } from '../harness/agent.ts';
import { timestampOf } from '../../src/core/text/timestamps.ts';
import { BRANDS_OF_STORE } from '../harness/brands/brands.ts';
import { bind } from '../harness/brands/bind.ts';
import { knot } from '../harness/brands/knot.ts';
import type { Client } from '../harness/client.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
} from '../harness/delivery.ts';
import { hasDnsTools, isGranted } from '../harness/dns-tools.ts';
import { nightly } from '../harness/nightly.ts';
import { runTsigil, startTestService } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';
import { startAgentRequests } from '../delivery/agent-requests.ts';
import { tsigil, words } from '../cli/run.ts';
import { untilPass } from '../rotation/lifecycles.ts';
import { logging } from './logging.ts';

type ServerUses = ShownUses['servers'][number];

async function usesOn(client: Client, id: string): Promise<ServerUses> {
  const { body } = await client.get(`/v2/tsigkeys/${id}/uses`);
  const [first] = (body as unknown as ShownUses).servers;
  if (first === undefined) throw new Error('The key has no name server');
  return first;
}

const installed = BRANDS_OF_STORE.filter((brand) => brand.isInstalled() && hasDnsTools());

/** What the log of each brand shows at the level that its page states. */
const SHOWN = {
  bind: { operations: ['query', 'transfer', 'update'], idle: 'not_seen', reason: null },
  knot: { operations: ['transfer', 'update'], idle: 'not_seen', reason: null },
  nsd: { operations: [], idle: 'unknown', reason: 'NSD never logs the key of a transfer.' },
  powerdns: {
    operations: ['transfer'],
    idle: 'unknown',
    reason:
      'PowerDNS never logs the queries by which secondaries check a zone that does not change.',
  },
} as const;

describe.each(installed)('the log of a $name server', (brand) => {
  test('shows who uses a key, and none of the tests of the service and of commands', async () => {
    const server = await startDeliveryServer(logging(brand));
    const service = await startTestService(delivering(server));
    onTestFinished(() => service.close());
    await createZones(service);
    const [used, idle] = [await createKey(service, 'Used'), await createKey(service, 'idle')];
    for (const key of [used, idle]) await deliveries(service, key.id);
    await untilLive(service);
    // The service follows the log from its first pass on.
    await untilPass(service, async () => {
      const { body } = await service.get(`/v2/nameservers/${(await shownServer(service)).id}`);
      expect(body.evidence).toMatchObject({ problem: null });
    });
    const tests = [[], ['--transfer'], ...(server.rights.includes('update') ? [['--update']] : [])];
    for (const flags of tests) {
      const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
      // In a process of its own, as users run it.
      const ended = await tsigil(server.folder, variables, ...words`tsigkey verify idle`, ...flags);
      expect(ended, ended.err).toMatchObject({ status: 0 });
    }
    expect(await isGranted(server.address, 'a.test', 'transfer', used)).toBe(true);
    if (server.rights.includes('update'))
      expect(await isGranted(server.address, 'a.test', 'update', used)).toBe(true);
    await isGranted(server.address, 'a.test', 'transfer', {
      ...used,
      secret: `${'A'.repeat(43)}=`,
    });
    const { operations, idle: state, reason } = SHOWN[brand.driver];
    await untilPass(service, async () => {
      const shown = await usesOn(service, used.id);
      const accepted = shown.uses.filter(({ outcome }) => outcome === 'accepted');
      expect(accepted.map(({ operation }) => operation).sort()).toEqual(operations);
      const refused = shown.uses.filter(({ outcome }) => outcome === 'refused');
      // Knot DNS logs the request before it verifies the signature.
      expect(refused).toMatchObject(brand.driver === 'knot' ? [] : [{ operation: 'request' }]);
      for (const { address } of accepted) expect(address).toBe('127.0.0.1');
      expect(shown.state).toBe(operations.length > 0 ? 'seen' : 'unknown');
      expect(await usesOn(service, idle.id)).toMatchObject({ state, reason, uses: [] });
    });
    const listed = await runInside(service, ...words`tsigkey list --unused 0m -f value -c name`);
    expect(listed.out.trim()).toBe(state === 'not_seen' ? 'Used\nidle' : '');
    const isSaid = listed.err.includes('do not show every use, so their keys are left out: ns1.');
    expect(isSaid).toBe(state === 'unknown');
    const table = await runInside(service, 'tsigkey', 'uses', 'Used');
    if (operations.length > 0)
      expect(table.out).toMatch(/^ns1\s+seen\s+transfer\s+accepted\s+127\.0\.0\.1\s/m);
    expect(table.err).toContain(reason ?? 'its log shows every use since ');
    const old = await runInside(service, 'tsigkey', 'list', '--unused', '90d', '-f', 'value');
    expect(old).toMatchObject({ status: 0, out: '' });
  });
});

describe.runIf(bind.isInstalled() && hasDnsTools())('without all that it takes', () => {
  nightly('a server without the option is unknown', async () => {
    const server = await startDeliveryServer(bind);
    const service = await startTestService(delivering(server));
    onTestFinished(() => service.close());
    const key = await createKey(service, 'k');
    await deliveries(service, key.id);
    const shown = await usesOn(service, key.id);
    expect(shown).toMatchObject({ state: 'unknown', uses: [] });
    expect(shown.reason).toContain("No log is read. Set the option 'log' of the driver.");
    expect(await shownServer(service)).toMatchObject({ evidence: null });
  });
});

describe.runIf(knot.isInstalled() && hasDnsTools())('an agent', () => {
  nightly('reports who uses a key, and reads on after a restart', async () => {
    const server = await startDeliveryServer(logging(knot));
    const service = await startTestService();
    onTestFinished(() => service.close());
    await createZones(service);
    const agent = await createAgent(service, server);
    agent.start();
    onTestFinished(async () => {
      await agent.stop('SIGTERM');
    });
    const key = await createKey(service, 'k');
    await untilLive(service);
    const seen = async () => (await usesOn(service, key.id)).uses.map(({ operation }) => operation);
    await untilPass(service, async () => {
      await isGranted(server.address, 'a.test', 'transfer', key);
      expect(await seen()).toEqual(['transfer']);
    });
    const { since } = await usesOn(service, key.id);
    await agent.stop('SIGKILL');
    agent.start();
    await untilPass(service, async () => {
      await isGranted(server.address, 'a.test', 'update', key);
      expect((await seen()).sort()).toEqual(['transfer', 'update']);
    });
    expect(agent.output()).not.toContain('ACL');
    expect((await usesOn(service, key.id)).since ?? '').not.toBe('');
    expect((await usesOn(service, key.id)).since).toBe(since);
  });
});

describe('uses that an agent reports', () => {
  const use = (key: string, address = '192.0.2.4', more: object = {}): KeyUse => ({
    key,
    operation: 'transfer',
    outcome: 'accepted',
    address,
    count: 2,
    first_at: '2030-01-31T12:00:00.000000',
    last_at: '2030-01-31T12:00:00.000000',
    ...more,
  });
  const evidence = { problem: null, shown: [] };

  test('say what to switch on of a BIND that runs, and for its next start', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    const key = await agent.createKey('k');
    await agent.observe(await agent.desired(), { evidence, uses: [] });
    const { reason } = await usesOn(service, key);
    expect(reason).toContain("Run 'rndc querylog on', set 'querylog yes;' in the options");
  });

  test('are added up, only for keys of the name server, and go with the key and the server', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    const [key, other] = [await agent.createKey('k'), await agent.createKey('other')];
    const later = { last_at: '2030-01-31T12:05:00.000000' };
    await agent.observe(await agent.desired(), { evidence, uses: [use('k'), use('nobody')] });
    await agent.observe(await agent.desired(), { evidence, uses: [use('k', undefined, later)] });
    expect((await usesOn(service, key)).uses).toEqual([
      {
        operation: 'transfer',
        outcome: 'accepted',
        address: '192.0.2.4',
        count: 4,
        first_at: '2030-01-31T12:00:00.000000',
        ...later,
      },
    ]);
    expect((await usesOn(service, other)).uses).toEqual([]);
    await service.delete(`/v2/tsigkeys/${key}`);
    expect((await service.get(`/v2/tsigkeys/${key}/uses`)).status).toBe(404);
    await agent.observe(await agent.desired(), { evidence, uses: [use('k'), use('other')] });
    expect((await usesOn(service, other)).state).toBe('seen');
    expect((await service.delete(`/v2/nameservers/${agent.id}`)).status).toBe(204);
    const { body } = await service.get(`/v2/tsigkeys/${other}/uses`);
    expect(body.servers).toEqual([]);
  });

  test('are copied with the database', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    const key = await agent.createKey('k');
    await agent.observe(await agent.desired(), { evidence, uses: [use('k')] });
    const { uses } = await usesOn(service, key);
    await service.close();
    const urlOf = (file: string) => `sqlite:${join(service.folder, file)}`;
    const [from, to] = [urlOf('tsigil.db'), urlOf('copy.db')];
    const copied = runTsigil(service.folder, {}, 'copy-database', '--from', from, '--to', to);
    expect(copied, copied.stderr).toMatchObject({ status: 0 });
    const copy = await startTestService({ TSIGIL_DATABASE_URL: to });
    onTestFinished(() => copy.close());
    expect((await usesOn(copy, key)).uses).toEqual(uses);
    expect(uses).toHaveLength(1);
  });

  test('show which keys were not used for 90 days', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    for (const name of ['used', 'abandoned', 'never']) await agent.createKey(name);
    const before = (days: number) => timestampOf(Date.now() - days * 86_400_000);
    const usedAt = (days: number) => ({ first_at: before(days), last_at: before(days) });
    const since = { since: before(100), last: before(0) };
    const shown = ['query', 'transfer'].map((operation) => ({ operation, ...since }));
    const uses = [use('used', '192.0.2.4', usedAt(89)), use('abandoned', '192.0.2.4', usedAt(91))];
    await agent.observe(await agent.desired(), { evidence: { problem: null, shown }, uses });
    const list = async (time: string) =>
      runInside(service, 'tsigkey', 'list', '--unused', time, '-f', 'value', '-c', 'name');
    expect(await list('90d')).toMatchObject({ out: 'abandoned\nnever\n', err: '' });
    expect(await list('95d')).toMatchObject({ out: 'never\n', err: '' });
    expect(await list('101d')).toMatchObject({
      out: '',
      err: `The logs of these name servers do not reach back that far, so their keys are left out: ns1 (since ${since.since})\n`,
    });
  });

  test('within a day are named before a key is deleted, which needs a confirmation, and in the plan of a rotation', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    for (const name of ['used', 'forced', 'old', 'tried']) await agent.createKey(name);
    const before = (hours: number) => {
      const at = timestampOf(Date.now() - hours * 3_600_000);
      return { first_at: at, last_at: at };
    };
    const uses = [
      use('used', '192.0.2.4', before(23)),
      use('used', '192.0.2.5', before(1)),
      use('forced', '192.0.2.4', before(1)),
      use('old', '192.0.2.4', before(25)),
      use('tried', '192.0.2.4', { ...before(1), outcome: 'refused', operation: 'request' }),
    ];
    await agent.observe(await agent.desired(), { evidence, uses });
    const plan = await runInside(service, ...words`tsigkey rotate used tried --dry-run -f json`);
    expect(JSON.parse(plan.out)).toMatchObject([
      { who_must_act: ['192.0.2.5', '192.0.2.4', 'unknown clients of ns1'] },
      { who_must_act: ['unknown clients of ns1'] },
    ]);
    const remove = (...argv: string[]) => runInside(service, 'tsigkey', 'delete', ...argv);
    const asked = await remove('used', 'forced', 'old');
    expect([asked.status, asked.out]).toEqual([2, '']);
    expect(asked.err).toContain(
      "Keys were used within a day: 'used' by 192.0.2.5, 192.0.2.4; 'forced' by 192.0.2.4. These clients are refused after the deletion.\ntsigil: Cannot ask for confirmation",
    );
    expect((await remove('old', 'tried')).status).toBe(0);
    expect((await remove('used', '--yes')).status).toBe(0);
    expect((await remove('forced', '--force')).status).toBe(0);
  });

  test('are said to reach back to the same time by uses and by a rotation, which needs a whole day', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    const key = await agent.createKey('k');
    const observe = async (minutes: number) => {
      const at = (ago: number) => timestampOf(Date.now() - ago * 60_000);
      const shown = ['query', 'transfer'].map((operation) => ({
        operation,
        since: at(minutes),
        last: at(0),
      }));
      const answered = { evidence: { problem: null, shown }, uses: [], key_references: [] };
      expect((await agent.observe(await agent.desired(), answered)).status).toBe(200);
    };
    await observe(40);
    const { since } = await usesOn(service, key);
    const text = `its log shows every use since ${since}, and a rotation needs a whole day`;
    expect((await runInside(service, 'tsigkey', 'uses', 'k')).err).toBe(`ns1: ${text}\n`);
    await service.post(`/v2/tsigkeys/${key}/rotate`, {});
    await vi.waitFor(
      async () => {
        await observe(40);
        const { body } = await service.get(`/v2/tsigkeys/${key}/lifecycle`);
        expect(body.keys[0].waiting).toMatchObject({
          reason: 'unknown_consumers',
          who: [
            expect.stringMatching(
              /^ns1 \(its log shows every use since .*, and a rotation needs a whole day\)$/,
            ),
          ],
        });
      },
      { timeout: 120_000, interval: 300 },
    );
    const { err } = await runInside(service, 'tsigkey', 'lifecycle', 'k');
    expect(err).toContain(
      'not every use of a whole day is known on ns1 (its log shows every use since ',
    );
    await observe(24 * 60 + 1);
    const long = await runInside(service, 'tsigkey', 'uses', 'k');
    expect(long.err).toMatch(/^ns1: its log shows every use since \S+$/m);
  });

  test('are refused with what is no address, and are added up to a limit', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    const key = await agent.createKey('k');
    const report = async (more: object, address?: string) =>
      agent.observe(await agent.desired(), { evidence, uses: [use('k', address, more)] });
    for (const address of ['a\nb', '\u001b[31m', '=1+1', 'ns1'])
      expect((await report({}, address)).status).toBe(400);
    expect((await report({ count: 1e15 })).status).toBe(400);
    for (let count = 0; count < 3; count += 1)
      expect((await report({ count: MAX_COUNT })).status).toBe(200);
    expect((await usesOn(service, key)).uses).toMatchObject([{ count: MAX_COUNT }]);
  });

  test('stay when others send requests that the name server refuses', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    const [key, idle] = [await agent.createKey('k'), await agent.createKey('idle')];
    const now = new Date().toISOString().slice(0, 17) + '00.000000';
    const shown = ['query', 'transfer'].map((operation) => ({ operation, since: now, last: now }));
    const report = async (uses: readonly object[]) =>
      agent.observe(await agent.desired(), { evidence: { problem: null, shown }, uses });
    await report([use('k', '192.0.2.9', { first_at: now, last_at: now })]);
    const refused = { operation: 'request', outcome: 'refused' };
    await report(
      Array.from({ length: 1000 }, (_, index) => use('k', `2001:db8::${index}`, refused)),
    );
    const { uses } = await usesOn(service, key);
    expect(uses).toHaveLength(1000);
    expect(uses.filter(({ address }) => address === '192.0.2.9')).toHaveLength(1);
    expect(await usesOn(service, idle)).toMatchObject({ state: 'not_seen', since: now });
  });

  test('are at most 1,000 for a name server, the last ones, and then nothing counts as not seen', async () => {
    const agent = await startAgentRequests();
    const { service } = agent;
    onTestFinished(() => service.close());
    const [key, idle] = [await agent.createKey('k'), await agent.createKey('idle')];
    const now = new Date().toISOString().slice(0, 17) + '00.000000';
    const shown = ['query', 'transfer'].map((operation) => ({ operation, since: now, last: now }));
    const report = (uses: readonly object[]) => async () =>
      agent.observe(await agent.desired(), { evidence: { problem: null, shown }, uses });
    await report([])();
    expect(await usesOn(service, idle)).toMatchObject({ state: 'not_seen', since: now });
    const many = Array.from({ length: 1000 }, (_, index) => use('k', `2001:db8::${index}`));
    await report(many)();
    await report([use('k', '192.0.2.9', { last_at: '2030-02-01T00:00:00.000000' })])();
    const { uses } = await usesOn(service, key);
    expect(uses).toHaveLength(1000);
    expect(uses[0]?.address).toBe('192.0.2.9');
    const reason = 'It has more uses than are stored.';
    expect(await usesOn(service, idle)).toMatchObject({ state: 'unknown', since: null, reason });
  });
});
