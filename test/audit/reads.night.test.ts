import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditRecords } from '../harness/audit.ts';
import { KEY_MEMBERS, SECRET } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';

const KEY = { ...KEY_MEMBERS, name: 'key' };

interface Started {
  readonly service: TestService;
  readonly url: string;
  readonly id: string;
  /** Stops the service, and returns its records of reads and refusals. */
  stop(): Promise<Awaited<ReturnType<typeof auditRecords>>>;
}

async function start(secretReads?: string, variables = {}): Promise<Started> {
  const folder = temporaryFolder();
  const service = await startTestService(
    {
      ...(secretReads === undefined ? {} : { TSIGIL_AUDIT_SECRET_READS: secretReads }),
      ...variables,
    },
    { folder, auditIntervalMs: 20 },
  );
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await service.close();
    isClosed = true;
  };
  onTestFinished(close);
  const { body } = await service.post('/v2/tsigkeys', KEY);
  const url = `sqlite:${join(folder, 'tsigil.db')}`;
  return {
    service,
    url,
    id: body.id as string,
    async stop() {
      await close();
      return (await auditRecords(url)).filter(
        ({ action, outcome }) =>
          outcome !== 'success' || !/:(?:create|update|delete)$/.test(action),
      );
    },
  };
}

async function readAll({ service, id }: Started): Promise<void> {
  for (let count = 0; count < 5; count += 1)
    expect((await service.get(`/v2/tsigkeys/${id}`)).status).toBe(200);
  expect((await service.get('/v2/tsigkeys?name=key')).status).toBe(200);
  expect((await service.get(`/v2/tsigkeys/${id}/export?format=bind`)).status).toBe(200);
}

test('with secretReads counted, each caller, action and key adds one record with the number of reads', async () => {
  const started = await start();
  await readAll(started);
  const trail = await started.stop();
  const sum = (action: string) =>
    trail
      .filter((record) => record.action === action)
      .reduce((total, { detail }) => total + Number(detail.reads), 0);
  expect([sum('tsigkeys:get'), sum('tsigkeys:list'), sum('tsigkeys:export')]).toEqual([5, 1, 1]);
  // The first read has a record, and the others of a minute another. The requests may span two.
  expect(trail.length).toBeLessThanOrEqual(8);
  expect(trail.find(({ action }) => action === 'tsigkeys:get')).toMatchObject({
    actor_id: 'configured',
    source: '127.0.0.1',
    request_id: null,
    resource_type: 'tsigkeys',
    resource_id: started.id,
    resource_name: 'key',
    outcome: 'success',
  });
});

test('with secretReads each, every request adds one record with the request id', async () => {
  const started = await start('each');
  await readAll(started);
  const trail = await started.stop();
  expect(trail.map(({ action }) => action)).toEqual([
    ...Array<string>(5).fill('tsigkeys:get'),
    'tsigkeys:list',
    'tsigkeys:export',
  ]);
  expect(trail.every(({ request_id: id }) => id !== null)).toBe(true);
  expect(trail[5]?.detail).toEqual({ secrets: 1, filter: { name: 'key' }, ids: [started.id] });
});

test.each(['counted', 'each'])(
  'with secretReads %s, a list of several keys names them, and how they were selected',
  async (secretReads) => {
    const started = await start(secretReads);
    const { service, id } = started;
    const { body } = await service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: 'key2' });
    await service.get('/v2/tsigkeys?name=key*&limit=2');
    await service.get('/v2/tsigkeys?limit=5&unusable=false');
    const filters = [
      { name: 'key*', limit: '2' },
      { limit: '5', unusable: 'false' },
    ];
    expect(await started.stop()).toMatchObject(
      filters.map((filter) => ({
        action: 'tsigkeys:list',
        detail: { secrets: 2, filter, ids: [id, body.id] },
      })),
    );
  },
);

test.each(['counted', 'each'])(
  'with secretReads %s, a change is also a read if its response shows a secret that the caller did not send',
  async (secretReads) => {
    const started = await start(secretReads);
    const { service, id } = started;
    const path = `/v2/tsigkeys/${id}`;
    const hidden = { 'tsigil-hide-secrets': 'true' };
    expect((await service.patch(path, { secret: SECRET })).body.secret).toBe(SECRET);
    expect((await service.patch(path, {}, hidden)).body).not.toHaveProperty('secret');
    expect((await service.patch(path, {}, { 'if-match': '"1"' })).status).toBe(412);
    expect((await service.patch(path, {})).body.secret).toBe(SECRET);
    expect((await service.patch(path, { name: 'renamed' })).body.secret).toBe(SECRET);
    const trail = await started.stop();
    const reads = trail.filter(({ action }) => action === 'tsigkeys:get');
    expect(reads.map((read) => read.resource_id)).toEqual([id, id]);
    expect(reads.map(({ detail }) => detail.secrets)).toEqual([1, 1]);
  },
);

test('with secretReads off, reads add no record', async () => {
  const started = await start('off');
  await readAll(started);
  expect(await started.stop()).toEqual([]);
});

test('a response without secrets adds no record', async () => {
  const started = await start('each');
  const { body } = await started.service.post('/v2/tokens', { name: 'a', roles: ['auditor'] });
  const auditor = started.service.with(body.token as string);
  expect((await auditor.get(`/v2/tsigkeys/${started.id}`)).status).toBe(200);
  expect((await auditor.get('/v2/tsigkeys')).status).toBe(200);
  expect(await started.stop()).toEqual([]);
});

test('refused requests with a valid token are combined per caller, action and minute', async () => {
  const started = await start();
  const { service } = started;
  const { body } = await service.post('/v2/tokens', { name: 'reader', roles: ['reader'] });
  const reader = service.with(body.token as string);
  for (let count = 0; count < 20; count += 1) await reader.post('/v2/tlds', { name: 'com' });
  await service.post('/v2/tlds', { name: 'com' });
  for (let count = 0; count < 3; count += 1) await service.post('/v2/tlds', { name: 'com' });
  for (let count = 0; count < 3; count += 1) await service.with('wrong').get('/v2/tlds');
  const trail = await started.stop();
  const sum = (wanted: string) =>
    trail
      .filter(({ outcome }) => outcome === wanted)
      .reduce((total, { detail }) => total + Number(detail.requests), 0);
  expect([sum('denied'), sum('failed')]).toEqual([20, 3]);
  expect(trail.length).toBeLessThanOrEqual(8);
  expect(trail.find(({ outcome }) => outcome === 'denied')).toMatchObject({
    actor_name: 'reader',
    action: 'tlds:create',
    resource_type: 'tlds',
    resource_id: null,
  });
  const conflicts = trail.filter(({ outcome }) => outcome === 'failed');
  expect(conflicts.reduce((sum, { detail }) => sum + Number(detail.duplicate), 0)).toBe(3);
});

test('a request outside the limits of the token is recorded as denied', async () => {
  const started = await start();
  const { body } = await started.service.post('/v2/tokens', {
    name: 'limited',
    roles: ['admin'],
    keys: [started.id],
  });
  const limited = started.service.with(body.token as string);
  expect((await limited.post('/v2/tlds', { name: 'com' })).status).toBe(403);
  expect(await started.stop()).toMatchObject([
    { action: 'tlds:create', outcome: 'denied', detail: { outside_limits: 1 } },
  ]);
});
