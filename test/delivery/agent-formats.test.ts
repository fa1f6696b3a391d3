import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { serve } from '../harness/connections.ts';
import { temporaryFolder } from '../harness/service.ts';
import { startAgent, startAgentRequests } from './agent-requests.ts';
import { folderServer } from './folder-driver.ts';

// These documents follow format 1 and are written by hand. Never adapt them to the code, because a
// service and an agent of different versions exchange documents in this format.
const ID = '5f2d6a9d-1c3b-4a5e-8f70-123456789abc';
const TAG = '5f2d6a9d'.repeat(8);
const KEY = {
  id: ID,
  name: 'transfer-key',
  algorithm: 'hmac-sha256',
  version: 1,
  access: { transfer: 'all' },
  secret: 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
};
const SERVER = {
  id: ID,
  name: 'ns1',
  driver: 'bind',
  address: '192.0.2.53',
  probe_zone: null,
};
const STATE = {
  format: 1,
  tag: TAG,
  fence: 42,
  name_server: SERVER,
  stamps: ['0123456789abcdef'],
  state: { zones: ['a.test'], keys: [KEY], kept: [] },
  withheld: null,
  is_held: false,
  owned: [],
  further: [],
  is_applied: false,
  accepted: [ID],
  refused: [],
  taken: [],
  is_slow: false,
  changes: 1,
};

/** Adds an unknown member to each object in a document. */
function newer(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(newer);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, each]) => [name, newer(each)]);
  return { ...Object.fromEntries(members), added_later: { in: ['a later version'] } } as unknown;
}

interface Report {
  readonly fence: number;
  readonly changed: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/**
 * Runs an agent on a fake service that responds with these documents, and repeats the last
 * document.
 */
async function agentWith(...documents: readonly unknown[]) {
  const reports: Report[] = [];
  const waiting = [...documents];
  const url = await serve((request, response) => {
    void text(request).then((body) => {
      const { url: path = '' } = request;
      if (path.endsWith('/observed')) reports.push(JSON.parse(body) as Report);
      const desired = () => (waiting.length > 1 ? waiting.shift() : waiting[0]);
      const other = path.endsWith('/whoami')
        ? { nameservers: [ID], added_later: 1 }
        : { recorded: true, changes: 0, added_later: 1 };
      response.end(JSON.stringify(path.includes('/desired') ? desired() : other));
    });
  });
  const folder = temporaryFolder();
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'token');
  const server = folderServer(join(folder, 'server'));
  const lines: string[] = [];
  const stop = startAgent(url, tokenFile, server, 'host-1', (line) => lines.push(line));
  onTestFinished(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { reports, server, lines };
}

test.each([
  ['format 1', STATE],
  ['format 1 with members that a later version added', newer(STATE)],
])('an agent delivers the keys of a document in %s', async (_name, document) => {
  const { reports, server } = await agentWith(document);
  await expect.poll(() => reports[0]).toBeDefined();
  expect(reports[0]).toMatchObject({ fence: 42, error: null, changed: true });
  expect(server.keys()).toEqual({ 'transfer-key': 1 });
});

test.each([
  ['a later format', { format: 2, tag: TAG, fence: 43, secrets: {} }, /format 2, but this agent/],
  ['no keys', { ...STATE, fence: 43, state: { zones: [], kept: [] } }, /'keys'/],
  ['another driver', { ...STATE, fence: 43, name_server: { ...SERVER, driver: 'knot' } }, /'knot'/],
])(
  'an agent that receives a document with %s reports a mismatch, and changes no keys',
  async (_name, document, reason) => {
    const again = { ...STATE, fence: 44 };
    const { reports, server, lines } = await agentWith(STATE, document, again);
    await expect.poll(() => reports.at(2)).toBeDefined();
    expect(reports[1]).toMatchObject({
      fence: 43,
      changed: false,
      error: { code: 'agent_mismatch', message: expect.stringMatching(reason) as string },
    });
    expect(reports[2]).toMatchObject({ fence: 44, error: null });
    expect(server.keys()).toEqual({ 'transfer-key': 1 });
    expect(lines.some((line) => reason.test(line))).toBe(true);
  },
);

test('200 for a report in format 1, even with members that a later version added', async () => {
  const { service, agent, id, createKey, desired, shown } = await startAgentRequests();
  onTestFinished(() => service.close());
  const key = await createKey('key-1');
  for (const written of [(value: unknown) => value, newer]) {
    const { body } = await desired();
    const error = { code: 'unreachable', message: 'connection refused' };
    const report = {
      agent: 'host-1',
      fence: body.fence,
      error: null,
      not_begun: [],
      stamp: null,
      is_foreign: false,
      changed: false,
      found_drift: false,
      problems: [],
      differences: [],
      verified: 1,
      verdicts: [{ id: key, error }],
      open: null,
      unknown_keys: null,
      duration_ms: 10,
    };
    const path = `/v2/nameservers/${id}`;
    const lease = written({ agent: 'host-1', fence: body.fence });
    expect((await agent.call('PUT', `${path}/lease`, lease)).status).toBe(200);
    const { status, body: recorded } = await agent.call('PUT', `${path}/observed`, written(report));
    expect([status, recorded]).toEqual([200, { recorded: true }]);
    expect(await shown()).toMatchObject({ state: 'failed', error_code: 'unreachable' });
  }
});
