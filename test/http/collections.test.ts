import { beforeAll, describe, expect, test } from 'vitest';
import {
  create,
  expectError,
  itemsOf,
  POOL_ID,
  problemsOf,
  SAMPLES,
  UNKNOWN_ID,
  type Resource,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { primary } from '../harness/zones.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/;
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Tests every collection in `SAMPLES`. */
describe.each(SAMPLES)('$collection', (sample) => {
  const path = `/v2/${sample.collection}`;
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  describe('creation', () => {
    test('201 with the whole resource, and its URL in Location', async () => {
      const response = await service.post(path, sample.body('created'));
      expect(response.status).toBe(201);
      const resource = response.body as Resource;
      expect(Object.keys(resource)).toEqual(sample.members);
      expect(resource).toMatchObject(sample.body('created'));
      expect(resource.id).toMatch(UUID_V4);
      expect(resource.created_at).toMatch(TIMESTAMP);
      expect(resource.updated_at).toBeNull();
      expect(resource.links).toEqual({ self: `${service.url}${path}/${resource.id}` });
      expect(response.headers.get('location')).toBe(resource.links.self);
      expect((await service.get(`${path}/${resource.id}`)).body).toEqual(resource);
    });

    test('201 with a created_at within 5 ms of the system clock and later than any earlier created_at', async () => {
      const before = new Date(Date.now() - 5).toISOString().slice(0, -1);
      const first = await create(service, sample, 'first-moment');
      const second = await create(service, sample, 'second-moment');
      const after = new Date(Date.now() + 5).toISOString().slice(0, -1);
      const timestamps = [before, first.created_at, second.created_at, after];
      expect(timestamps.toSorted()).toEqual(timestamps);
      expect(second.created_at).not.toBe(first.created_at);
    });

    test('409 if the name is taken, and nothing changes', async () => {
      const taken = await create(service, sample, 'taken');
      const response = await service.post(path, sample.body('taken'));
      expect(expectError(response, 409, `duplicate_${sample.noun}`)).toBe(
        `Duplicate ${sample.title}: the name belongs to 'taken' with the id ${taken.id}`,
      );
      expect(itemsOf(await service.get(`${path}?name=taken`), sample)).toEqual([taken]);
    });

    test('201 for one of 50 concurrent creations of one name, 409 for the other 49', async () => {
      const responses = await Promise.all(
        Array.from({ length: 50 }, () => service.post(path, sample.body('contested'))),
      );
      expect(responses.map(({ status }) => status).toSorted()).toEqual([
        201,
        ...Array.from({ length: 49 }, () => 409),
      ]);
      expect(itemsOf(await service.get(`${path}?name=contested`), sample)).toHaveLength(1);
    });

    test.each(sample.required)('400 without %s', async (name) => {
      const response = await service.post(path, {
        ...sample.body('incomplete'),
        [name]: undefined,
      });
      expect(problemsOf(response)).toEqual([`${name}: required`]);
      expect(response.body.errors.errors[0].message).toMatch(
        new RegExp(
          `^'${name}' is a required property(?:, unless the request has '\\w+'(?: or '\\w+')?)?$`,
        ),
      );
    });

    test('400 that lists every problem of a body', async () => {
      const response = await service.post(path, {
        ...sample.body('x'),
        name: 5,
        id: UNKNOWN_ID,
        links: {},
        junk: 1,
        more: null,
      });
      expect(problemsOf(response)).toEqual([
        'name: type',
        'id: readOnly',
        'links: readOnly',
        'junk: additionalProperties',
        'more: additionalProperties',
      ]);
      for (const name of ['name', 'id', 'links', 'junk', 'more'])
        expect(response.body.message).toContain(`'${name}'`);
    });

    test('400 with 50 problems for 900 unknown members, and with the member limit for 5,000', async () => {
      const junk = (length: number) =>
        Object.fromEntries(Array.from({ length }, (_, index) => [`junk${index}`, 1]));
      const response = await service.post(path, { ...sample.body('x'), ...junk(900) });
      expect(problemsOf(response)).toHaveLength(50);
      expect(response.body.message).toContain('and 850 more');
      const refused = await service.post(path, { ...sample.body('x'), ...junk(5000) });
      expect(expectError(refused, 400, 'invalid_object')).toBe(
        'The request body has an object with more than 1000 members. Split it into several requests.',
      );
    });

    test.each([
      { [sample.noun]: sample.body('x') },
      { version: 1 },
      { constructor: 1 },
      JSON.parse('{"__proto__":1}') as object,
    ])('400 for unknown members: %j', async (unknown) => {
      const [name] = Object.keys(unknown);
      const text = JSON.stringify(sample.body('x')).replace(
        /}$/,
        `,${JSON.stringify(unknown).slice(1)}`,
      );
      expect(problemsOf(await service.post(path, text))).toEqual([`${name}: additionalProperties`]);
    });
  });

  describe('read-only members', () => {
    let resource: Resource;
    beforeAll(async () => {
      resource = await create(service, sample, 'read-only');
    });

    test.each(['id', 'created_at', 'updated_at', 'links'])(
      '400 for %s in creations and updates, with any value',
      async (member) => {
        for (const value of [resource[member], null, 'x']) {
          expect(
            problemsOf(await service.post(path, { ...sample.body('x'), [member]: value })),
          ).toEqual([`${member}: readOnly`]);
          expect(
            problemsOf(await service.patch(`${path}/${resource.id}`, { [member]: value })),
          ).toEqual([`${member}: readOnly`]);
        }
        expect((await service.get(`${path}/${resource.id}`)).body).toEqual(resource);
      },
    );

    test('200 for the whole resource with a changed member, also with a stale updated_at', async () => {
      const stale = await create(service, sample, 'whole');
      const item = `${path}/${stale.id}`;
      const first = await service.patch(item, { ...stale, ...sample.change });
      expect(first.status, first.text).toBe(200);
      expect(first.body).toMatchObject({ ...sample.change, created_at: stale.created_at });
      const second = await service.patch(item, stale);
      expect(second.status, second.text).toBe(200);
      expect(second.body).toEqual({ ...stale, updated_at: second.body.updated_at });
      expect(String(second.body.updated_at) > String(first.body.updated_at)).toBe(true);
    });

    test('400 for the whole resource with another id or created_at, and nothing changes', async () => {
      const whole = await create(service, sample, 'not-whole');
      const { id, created_at, ...others } = whole;
      for (const body of [
        { ...whole, id: UNKNOWN_ID },
        { ...whole, id: null },
        { ...whole, created_at: '2026-01-31T12:00:00.000000' },
        { ...others, id },
        { ...others, created_at },
      ]) {
        const problems = problemsOf(
          await service.patch(`${path}/${id}`, { ...body, ...sample.change }),
        );
        expect(problems).toContain('links: readOnly');
      }
      expect((await service.get(`${path}/${id}`)).body).toEqual(whole);
      expect(problemsOf(await service.post(path, whole))).toContain('id: readOnly');
    });
  });

  describe('update', () => {
    test('200 with the changed member and updated_at, and all other members unchanged', async () => {
      const resource = await create(service, sample, 'changed');
      const response = await service.patch(`${path}/${resource.id}`, sample.change);
      expect(response.status).toBe(200);
      const changed = response.body as Resource;
      expect(Object.keys(changed)).toEqual(sample.members);
      expect(changed).toEqual({ ...resource, ...sample.change, updated_at: changed.updated_at });
      expect(changed.updated_at).toMatch(TIMESTAMP);
      expect(String(changed.updated_at) > resource.created_at).toBe(true);
      expect((await service.get(`${path}/${resource.id}`)).body).toEqual(changed);
    });

    test('200 with a later updated_at for {} and for unchanged values', async () => {
      const resource = await create(service, sample, 'untouched');
      const empty = (await service.patch(`${path}/${resource.id}`, {})).body as Resource;
      const same = (await service.patch(`${path}/${resource.id}`, sample.body('untouched')))
        .body as Resource;
      expect(empty).toEqual({ ...resource, updated_at: empty.updated_at });
      expect(same).toEqual({ ...resource, updated_at: same.updated_at });
      expect([resource.created_at, empty.updated_at, same.updated_at].toSorted()).toEqual([
        resource.created_at,
        empty.updated_at,
        same.updated_at,
      ]);
      expect(same.updated_at).not.toBe(empty.updated_at);
    });

    test('200 for a new name, and the old name can be used again', async () => {
      const resource = await create(service, sample, 'old-name');
      expect((await service.patch(`${path}/${resource.id}`, { name: 'new-name' })).body.name).toBe(
        'new-name',
      );
      await create(service, sample, 'old-name');
    });

    test('409 for the name of another resource, and nothing changes', async () => {
      const theirs = await create(service, sample, 'theirs');
      const resource = await create(service, sample, 'mine');
      const response = await service.patch(`${path}/${resource.id}`, {
        ...sample.change,
        name: 'theirs',
      });
      expect(expectError(response, 409, `duplicate_${sample.noun}`)).toBe(
        `Duplicate ${sample.title}: the name belongs to 'theirs' with the id ${theirs.id}`,
      );
      expect((await service.get(`${path}/${resource.id}`)).body).toEqual(resource);
    });

    test('400 for null in a required member, and nothing changes', async () => {
      const resource = await create(service, sample, 'not-null');
      expect(
        problemsOf(await service.patch(`${path}/${resource.id}`, { ...sample.change, name: null })),
      ).toEqual(['name: type']);
      expect((await service.get(`${path}/${resource.id}`)).body).toEqual(resource);
    });
  });

  describe('deletion', () => {
    test('204 without a body, then 404, and the name can be used again', async () => {
      const resource = await create(service, sample, 'passing');
      const response = await service.delete(`${path}/${resource.id}`);
      expect(response.status).toBe(204);
      expect(response.text).toBe('');
      expect(response.headers.get('content-length')).toBe('0');
      expect(response.headers.has('content-type')).toBe(false);
      expectError(await service.delete(`${path}/${resource.id}`), 404, `${sample.noun}_not_found`);
      expectError(await service.get(`${path}/${resource.id}`), 404, `${sample.noun}_not_found`);
      expect((await create(service, sample, 'passing')).id).not.toBe(resource.id);
    });
  });

  describe('ids', () => {
    const requests = [
      ['GET', undefined],
      ['PATCH', sample.change],
      ['DELETE', undefined],
    ] as const;

    test.each(requests)('404 for an unknown id: %s', async (method, body) => {
      const response = await service.call(method, `${path}/${UNKNOWN_ID}`, body);
      expect(expectError(response, 404, `${sample.noun}_not_found`)).toBe(
        `Could not find ${sample.title}`,
      );
    });

    test.each(requests)('400 for an invalid UUID: %s', async (method, body) => {
      for (const id of [
        'foo',
        '12345',
        `${UNKNOWN_ID.slice(0, -1)}g`,
        `{${UNKNOWN_ID}`,
        `${UNKNOWN_ID}0`,
        'x'.repeat(2000),
      ]) {
        const response = await service.call(method, `${path}/${id}`, body);
        expect(expectError(response, 400, 'invalid_uuid')).toBe(
          `Invalid UUID ${sample.noun}_id: ${id}`,
        );
      }
    });

    test('400 with the decoded id in the message', async () => {
      const response = await service.get(`${path}/a%2Fb%20%D1%80%D1%84`);
      expect(expectError(response, 400, 'invalid_uuid')).toBe(
        `Invalid UUID ${sample.noun}_id: a/b рф`,
      );
    });

    test('200 for every spelling of an id, with links in the canonical spelling', async () => {
      const resource = await create(service, sample, 'spelt');
      const bare = resource.id.replaceAll('-', '');
      for (const id of [
        resource.id.toUpperCase(),
        bare,
        `{${resource.id}}`,
        `urn:uuid:${resource.id}`,
        `%7B${bare}%7D`,
      ]) {
        expect((await service.get(`${path}/${id}`)).body).toEqual(resource);
      }
      expect((await service.patch(`${path}/${bare}`, {})).body.links).toEqual(resource.links);
      expect((await service.delete(`${path}/${bare.toUpperCase()}`)).status).toBe(204);
    });

    test('404 for a path below an item', async () => {
      expectError(await service.get(`${path}/${UNKNOWN_ID}/more`), 404, 'not_found');
    });
  });

  describe('order of checks', () => {
    test('400 for an invalid id comes first, then 415, then 400 for invalid JSON, then 404', async () => {
      const text = { 'content-type': 'text/plain' };
      expectError(await service.call('PATCH', `${path}/foo`, '{bad', text), 400, 'invalid_uuid');
      expectError(
        await service.call('PATCH', `${path}/${UNKNOWN_ID}`, '{bad', text),
        415,
        'unsupported_content_type',
      );
      expectError(await service.patch(`${path}/${UNKNOWN_ID}`, '{bad'), 400, 'invalid_json');
      expectError(await service.patch(`${path}/${UNKNOWN_ID}`, ''), 400, 'empty_request_body');
    });

    test('404 comes first, then 400 for invalid members, then 409', async () => {
      await create(service, sample, 'in-order');
      const other = await create(service, sample, 'in-order-too');
      expectError(
        await service.patch(`${path}/${UNKNOWN_ID}`, { junk: 1 }),
        404,
        `${sample.noun}_not_found`,
      );
      expect(
        problemsOf(await service.patch(`${path}/${other.id}`, { name: 'in-order', junk: 1 })),
      ).toEqual(['junk: additionalProperties']);
      expect(problemsOf(await service.post(path, { ...sample.body('in-order'), junk: 1 }))).toEqual(
        ['junk: additionalProperties'],
      );
    });
  });
});

describe('a whole resource of another type', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  test.each([
    ['pools', { name: 'p1' }, { description: 'changed' }],
    ['zones', primary('whole.example.'), { ttl: 60 }],

    [
      'nameservers',
      {
        name: 'ns1',
        pool_id: POOL_ID,
        driver: 'bind',
        address: '127.0.0.1:53',
        rights: ['transfer'],
        delivery: 'service',
        paused: true,
      },
      { description: 'changed' },
    ],
  ])('200 or 202 for %s with a changed member', async (collection, body, change) => {
    const created = await service.post(`/v2/${collection}`, body);
    expect(created.status, created.text).toBe(201);
    const path = `/v2/${collection}/${created.body.id}`;
    const { body: whole } = await service.get(path);
    const changed = await service.patch(path, { ...whole, ...change });
    expect(changed.status, changed.text).toBe(collection === 'pools' ? 202 : 200);
    expect(changed.body).toMatchObject({ id: whole.id, ...change });
  });
});
