import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { DESIRED_EXAMPLE } from '../../src/domain/delivery/agent-examples.ts';
import { readDesired } from '../../src/domain/delivery/agent-pass.ts';
import {
  DESIRED,
  MAX_AT_ONCE,
  type ObservedByAgent,
} from '../../src/domain/delivery/agent-protocol.ts';
import { runAgent } from '../../src/nameservers/agents/agent.ts';
import { createRemoteStore } from '../../src/nameservers/agents/remote-store.ts';
import { RefusedError, type ServiceLink } from '../../src/nameservers/agents/service-link.ts';
import { temporaryFolder } from '../harness/service.ts';
import { folderServer } from './folder-driver.ts';

function state(changes: readonly string[]) {
  const parsed = DESIRED.parse({ ...DESIRED_EXAMPLE, changes });
  if (!('value' in parsed)) throw new Error(parsed.problem);
  return parsed.value;
}

test('an agent reports many keys in several reports, and only the last report confirms the changes', async () => {
  const reports: ObservedByAgent[] = [];
  const given = state([randomUUID()]);
  const pass = readDesired(given, () => undefined);
  if (pass === undefined) throw new Error('a secret is absent');
  const { id } = given.name_server;
  const { store, offer } = createRemoteStore({
    id,
    agent: 'host-1',
    now: () => 0,
    report: (report) => Promise.resolve(void reports.push(report)),
    renew: () => Promise.resolve(0),
  });
  for (const count of [MAX_AT_ONCE + 1, MAX_AT_ONCE]) {
    void offer(pass);
    await store.claim(id, 'host-1', 1000);
    await store.record(id, 'host-1', given.fence, {
      outbox: [],
      state: 'live',
      error: null,
      keysWanted: 1,
      keysLive: 1,
      appliedHash: '',
      appliedAt: undefined,
      verifiedAt: undefined,
      foundDrift: false,
      removed: [],
      failed: false,
      nextCheckMs: 60_000,
      nextProbeMs: undefined,
      changed: Array.from({ length: count }, (_, index) => ({
        ...({
          keyId: randomUUID(),
          keyName: 'key',
          state: index === MAX_AT_ONCE ? 'undeliverable' : 'delivered',
          deliveredVersion: 1,
        } as const),
        appliedAt: null,
        verifiedAt: null,
        error: null,
      })),
    });
  }
  // Another program may use the name of an undeliverable key, so the next pass needs this state.
  expect(reports[0]?.deliveries[0]?.state).toBe('undeliverable');
  expect(
    reports.map(({ deliveries, changes, next_ms: next }) => [deliveries.length, changes, next]),
  ).toEqual([
    [MAX_AT_ONCE, [], 0],
    [MAX_AT_ONCE, given.changes, 60_000],
  ]);
});

test('an agent that fails reports the new keys that it has not begun to deliver', async () => {
  const reports: ObservedByAgent[] = [];
  const pass = readDesired(state([]), () => undefined);
  if (pass === undefined) throw new Error('a secret is absent');
  const [key] = pass.desired.state.keys;
  if (key === undefined) throw new Error('there is no key');
  const [begun, taken] = [randomUUID(), randomUUID()];
  const keys = [key, { ...key, id: begun }, { ...key, id: taken }];
  const row = { keyName: key.name, deliveredVersion: 0, appliedAt: null, verifiedAt: null };
  const pending = { ...row, state: 'pending', error: null } as const;
  const { id } = pass.claim.server;
  const { store, offer } = createRemoteStore({
    id,
    agent: 'host-1',
    now: () => 0,
    report: (report) => Promise.resolve(void reports.push(report)),
    renew: () => Promise.resolve(0),
  });
  for (const hasBegun of [false, true]) {
    void offer({
      ...pass,
      desired: { ...pass.desired, state: { ...pass.desired.state, keys } },
      deliveries: [{ ...pending, keyId: key.id }],
    });
    await store.claim(id, 'host-1', 1000);
    if (hasBegun) await store.begin(id, 'host-1', 1, [{ ...pending, keyId: begun }], []);
    await store.fail(id, 'host-1', 1, {
      state: 'failed',
      error: { code: 'timeout', message: 'No response.' },
      refusals: 0,
      retryMs: () => 1000,
    });
  }
  expect(reports.map(({ removed }) => removed)).toEqual([[begun, taken], [taken]]);
});

test('an agent logs that the service refuses its reports, and pauses before the next request', async () => {
  const folder = folderServer(temporaryFolder());
  const ended = new AbortController();
  const lines: object[] = [];
  let requests = 0;
  const link: ServiceLink = {
    nameServerId: () => Promise.resolve(DESIRED_EXAMPLE.name_server.id),
    desired: () => Promise.resolve(((requests += 1), state([]))),
    observed: () => Promise.reject(new RefusedError(409, 'A later pass has begun')),
    renew: () => Promise.resolve(0),
    close: () => undefined,
  };
  const { name, driver } = DESIRED_EXAMPLE.name_server;
  const running = runAgent({
    link,
    agent: 'host-1',
    nameServer: name,
    driver,
    onDrift: 'repair',
    random: () => 0.06,
    createDriver: () => folder.driver,
    verify: folder.verify,
    signal: ended.signal,
    clock: () => '2030-01-31T12:00:00.000000',
    log: { info: ignore, error: ignore, warn: (fields) => void lines.push(fields) },
  });
  onTestFinished(async () => {
    ended.abort();
    await running;
  });
  await expect.poll(() => requests).toBeGreaterThan(1);
  await pause(1000);
  expect(requests).toBeLessThan(8);
  expect(lines).toMatchObject([{ reason: 'A later pass has begun' }]);
});

function ignore(): void {
  // the test reads warnings only
}
