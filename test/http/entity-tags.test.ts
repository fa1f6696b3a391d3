import { beforeAll, describe, expect, test } from 'vitest';
import { create, expectError, POOL_ID, SAMPLES, SECRET, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor, primary } from '../harness/zones.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag') ?? '';
const change = (method: 'PATCH' | 'DELETE', path: string, tag: string, body?: object) =>
  service.call(method, path, body, { 'if-match': tag });

describe.each(SAMPLES)('a resource of $collection', (sample) => {
  const path = `/v2/${sample.collection}`;

  test('304 without a body for its ETag, until it changes', async () => {
    const created = await service.post(path, sample.body('known'));
    const item = `${path}/${created.body.id}`;
    const tag = tagOf(await service.get(item));
    expect(tag).toBe(`"${created.body.id}/${created.body.created_at}"`);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*'])
      for (const method of ['GET', 'HEAD']) {
        const response = await service.call(method, item, undefined, { 'if-none-match': known });
        expect([response.status, response.text, tagOf(response)]).toEqual([304, '', tag]);
      }
    const updated = await service.patch(item, sample.change);
    const response = await service.get(item, { 'if-none-match': tag });
    expect([response.status, response.body]).toEqual([200, updated.body]);
    expect(tagOf(response)).toBe(tagOf(updated));
    expect(tagOf(updated)).not.toBe(tag);
  });

  test('401 or 404, not 304, for the ETag of a resource that the caller may not read', async () => {
    const { id } = await create(service, sample, 'secret');
    const tag = tagOf(await service.get(`${path}/${id}`));
    const strangers = [
      service.with(''),
      service.with('wrong'),
      await clientFor(service, ['member'], 'p'),
    ];
    for (const stranger of strangers)
      for (const known of [tag, '*'])
        expect((await stranger.get(`${path}/${id}`, { 'if-none-match': known })).status).toBe(401);
    expectError(
      await service.get(`${path}/${UNKNOWN_ID}`, { 'if-none-match': '*' }),
      404,
      `${sample.noun}_not_found`,
    );
  });

  test('412 for a change of an older revision, and nothing changes', async () => {
    const { id } = await create(service, sample, 'lost-update');
    const item = `${path}/${id}`;
    const old = tagOf(await service.get(item));
    const first = await change('PATCH', item, old, sample.change);
    expect(first.status).toBe(200);
    for (const tag of [old, `W/${tagOf(first)}`, '"x"', 'x', '']) {
      expectError(await change('PATCH', item, tag, { name: 'later' }), 412, 'precondition_failed');
      expectError(await change('DELETE', item, tag), 412, 'precondition_failed');
    }
    expect((await service.get(item)).body).toEqual(first.body);
    expect((await change('PATCH', item, `"x", ${tagOf(first)}`, {})).status).toBe(200);
    expect((await change('PATCH', item, '*', {})).status).toBe(200);
    const now = tagOf(await service.get(item));
    expect((await change('DELETE', item, now)).status).toBe(204);
    expectError(await change('DELETE', item, now), 404, `${sample.noun}_not_found`);
  });

  test('200 for one of 20 concurrent changes of one revision, 412 for the other 19', async () => {
    const { id } = await create(service, sample, 'raced');
    const item = `${path}/${id}`;
    const tag = tagOf(await service.get(item));
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        change('PATCH', item, tag, { name: `raced-${index}` }),
      ),
    );
    const done = responses.filter(({ status }) => status === 200);
    expect(responses.map(({ status }) => status).toSorted()).toEqual([
      200,
      ...Array.from({ length: 19 }, () => 412),
    ]);
    expect((await service.get(item)).body).toEqual(done[0]?.body);
  });
});

test('200, not 304, if the caller knows the key only without its secret', async () => {
  const body = { ...SAMPLES[1]?.body('hidden'), secret: SECRET };
  const item = `/v2/tsigkeys/${(await service.post('/v2/tsigkeys', body)).body.id}`;
  const hide = { 'tsigil-hide-secrets': 'true' };
  const hidden = tagOf(await service.get(item, hide));
  expect((await service.get(item, { ...hide, 'if-none-match': hidden })).status).toBe(304);
  const shown = await service.get(item, { 'if-none-match': hidden });
  expect([shown.status, shown.body.secret]).toEqual([200, SECRET]);
  expect((await change('PATCH', item, hidden, { algorithm: 'hmac-sha512' })).status).toBe(200);
});

test('304 for a name server only while its state stays the same, and 412 only after an update', async () => {
  const body = { name: 'ns1', pool_id: POOL_ID, driver: 'bind', address: '127.0.0.1:53' };
  const { id } = (await service.post('/v2/nameservers', { ...body, paused: true })).body;
  const item = `/v2/nameservers/${id}`;
  const paused = tagOf(await service.get(item));
  expect((await service.get(item, { 'if-none-match': paused })).status).toBe(304);
  const updated = tagOf(await change('PATCH', item, paused, { paused: false }));
  // The service has no entry for this name server, so its state becomes an error.
  await expect
    .poll(async () => (await service.get(item, { 'if-none-match': updated })).status)
    .toBe(200);
  expect((await change('PATCH', item, updated, { description: 'x' })).status).toBe(200);
  expect((await change('PATCH', item, updated, { description: 'y' })).status).toBe(412);
});

test('no ETag in the response to an update that shows a pending zone', async () => {
  const pending = await startTestService({ TSIGIL_COMPATIBILITY: 'designate' });
  const { id } = (await pending.post('/v2/zones', primary('pending.example.'))).body;
  const item = `/v2/zones/${id}`;
  expect((await pending.patch(item, { ttl: 60 })).headers.get('etag')).toBeNull();
  const tag = tagOf(await pending.get(item));
  expect((await pending.get(item, { 'if-none-match': tag })).status).toBe(304);
});
