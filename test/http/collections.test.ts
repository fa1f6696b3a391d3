import { beforeAll, describe, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/resources/resources.ts';
import type { Client } from '../harness/client.ts';
import {
  expectError,
  POOL_ID,
  problemsOf,
  SAMPLES,
  UNKNOWN_ID,
  type Resource,
  type Sample,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { primary, ZONE_MEMBERS } from '../harness/zones.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/;
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The sample data of a collection, and where it differs from the others. */
interface Tested extends Omit<Sample, 'collection' | 'members'> {
  readonly collection: string;
  /** The members in the order of a response, if this suite tests them. */
  readonly members?: readonly string[];
  /** The statuses of a change and of a deletion. */
  readonly changed: 200 | 202;
  readonly deleted: 204 | 202;
  /** The members that only the service sets, if this resource has more than the others. */
  readonly computed?: readonly string[];
}

/** The members of a name server that its deliveries change. */
const OF_DELIVERY = ['state', 'pending_since'];

function stored(resource: Resource): object {
  return Object.fromEntries(
    Object.entries(resource).filter(([member]) => !OF_DELIVERY.includes(member)),
  );
}

/** Every collection whose resources callers can change. */
const COLLECTIONS: readonly Tested[] = [
  ...SAMPLES.map((sample) => ({ ...sample, changed: 200 as const, deleted: 204 as const })),
  {
    collection: 'pools',
    noun: 'pool',
    title: 'Pool',
    members: [
      'id',
      'project_id',
      'name',
      'description',
      'attributes',
      'ns_records',
      'created_at',
      'updated_at',
      'links',
    ],
    required: ['name'],
    body: (name) => ({ name, description: 'A pool' }),
    change: { description: 'Another pool' },
    changed: 202,
    deleted: 204,
  },
  {
    collection: 'zones',
    noun: 'zone',
    title: 'Zone',
    members: ZONE_MEMBERS,
    required: ['name', 'email'],
    body: (name) => primary(`${name}.example.`),
    change: { description: 'Another zone' },
    changed: 200,
    deleted: 202,
    computed: ['project_id', 'serial', 'shared', 'status', 'action', 'version', 'transferred_at'],
  },
  {
    collection: 'nameservers',
    noun: 'nameserver',
    title: 'NameServer',
    required: ['name', 'pool_id', 'driver', 'address'],
    body: (name) => ({
      name,
      pool_id: POOL_ID,
      driver: 'bind',
      address: '127.0.0.1:53',
      delivery: 'agent',
      paused: true,
    }),
    change: { description: 'Another server' },
    changed: 200,
    deleted: 204,
  },
];

test('this file tests every collection whose resources callers can change', () => {
  const names = RESOURCE_TYPES.map(({ collection }) => collection);
  expect([...COLLECTIONS.map(({ collection }) => collection), 'tokens'].toSorted()).toEqual(
    names.toSorted(),
  );
});

async function create(client: Client, sample: Tested, name: string): Promise<Resource> {
  const response = await client.post(`/v2/${sample.collection}`, sample.body(name));
  expect(response.status, response.text).toBe(201);
  return response.body as Resource;
}

describe.each(COLLECTIONS)('$collection', (sample) => {
  const path = `/v2/${sample.collection}`;
  const isRenamed = sample.collection !== 'zones';
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const expectUnchanged = async (resource: Resource) =>
    expect(stored((await service.get(`${path}/${resource.id}`)).body as Resource)).toEqual(
      stored(resource),
    );

  describe('creation', () => {
    test('201 with the whole resource, and its URL in Location', async () => {
      const response = await service.post(path, sample.body('created'));
      expect(response.status).toBe(201);
      const resource = response.body as Resource;
      if (sample.members !== undefined) expect(Object.keys(resource)).toEqual(sample.members);
      expect(resource).toMatchObject(sample.body('created'));
      expect(resource.id).toMatch(UUID_V4);
      expect(resource.created_at).toMatch(TIMESTAMP);
      expect(resource.updated_at).toBeNull();
      expect(resource.links).toEqual({ self: `${service.url}${path}/${resource.id}` });
      expect(response.headers.get('location')).toBe(resource.links.self);
      await expectUnchanged(resource);
    });

    test('409 if the name is taken, and nothing changes', async () => {
      const taken = await create(service, sample, 'taken');
      const response = await service.post(path, sample.body('taken'));
      expect(expectError(response, 409, `duplicate_${sample.noun}`)).toBe(
        `Duplicate ${sample.title}: the name belongs to '${taken.name}' with the id ${taken.id}`,
      );
      const { body } = await service.get(`${path}?name=${taken.name}`);
      expect((body[sample.collection] as Resource[]).map(stored)).toEqual([stored(taken)]);
    });

    test('201 for one of 50 concurrent creations of one name, 409 for the other 49', async () => {
      const responses = await Promise.all(
        Array.from({ length: 50 }, () => service.post(path, sample.body('contested'))),
      );
      expect(responses.map(({ status }) => status).toSorted()).toEqual([
        201,
        ...Array.from({ length: 49 }, () => 409),
      ]);
    });

    test.each(sample.required)('400 without %s', async (name) => {
      const body = { ...sample.body('incomplete'), [name]: undefined };
      const response = await service.post(path, body);
      expect(problemsOf(response)).toEqual([`${name}: required`]);
      expect(response.body.message).toContain(`'${name}' is a required property`);
    });

    test('400 that lists every problem of a body', async () => {
      const wrong = { name: 5, id: UNKNOWN_ID, links: {}, junk: 1, constructor: null };
      const response = await service.post(path, { ...sample.body('x'), ...wrong });
      expect(problemsOf(response)).toEqual([
        'name: type',
        'id: readOnly',
        'links: readOnly',
        'junk: additionalProperties',
        'constructor: additionalProperties',
      ]);
      for (const name of Object.keys(wrong)) expect(response.body.message).toContain(`'${name}'`);
      const text = JSON.stringify(sample.body('x')).replace(/}$/, ',"__proto__":1}');
      expect(problemsOf(await service.post(path, text))).toEqual([
        '__proto__: additionalProperties',
      ]);
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
  });

  describe('read-only members', () => {
    test('400 in creations and updates, with any value', async () => {
      const resource = await create(service, sample, 'read-only');
      for (const member of ['id', 'created_at', 'updated_at', 'links', ...(sample.computed ?? [])])
        for (const value of [resource[member], null, 'x']) {
          const created = await service.post(path, { ...sample.body('x'), [member]: value });
          expect(problemsOf(created)).toEqual([`${member}: readOnly`]);
          const changed = await service.patch(`${path}/${resource.id}`, { [member]: value });
          expect(problemsOf(changed)).toEqual([`${member}: readOnly`]);
        }
      await expectUnchanged(resource);
    });

    test('2xx for the whole resource with a changed member, also with a stale updated_at', async () => {
      const stale = (await service.get(`${path}/${(await create(service, sample, 'whole')).id}`))
        .body as Resource;
      const item = `${path}/${stale.id}`;
      const first = await service.patch(item, { ...stale, ...sample.change });
      expect(first.status, first.text).toBe(sample.changed);
      expect(first.body).toMatchObject({ ...sample.change, created_at: stale.created_at });
      const second = await service.patch(item, stale);
      expect(second.status, second.text).toBe(sample.changed);
      for (const member of Object.keys(sample.change))
        expect(second.body[member]).toEqual(stale[member]);
      expect(String(second.body.updated_at) > String(first.body.updated_at)).toBe(true);
    });

    test('400 for the whole resource with another id or created_at, and nothing changes', async () => {
      const whole = await create(service, sample, 'not-whole');
      for (const other of [{ id: UNKNOWN_ID }, { created_at: '2026-01-31T12:00:00.000000' }]) {
        const body = { ...whole, ...other, ...sample.change };
        const changed = await service.patch(`${path}/${whole.id}`, body);
        expect(problemsOf(changed)).toContain('links: readOnly');
      }
      await expectUnchanged(whole);
      expect(problemsOf(await service.post(path, whole))).toContain('id: readOnly');
    });
  });

  describe('update', () => {
    test('2xx with the changed member and a later updated_at, also for {} and unchanged values', async () => {
      const resource = await create(service, sample, 'changed');
      let before = resource;
      for (const change of [sample.change, {}, sample.change]) {
        const response = await service.patch(`${path}/${resource.id}`, change);
        expect(response.status, response.text).toBe(sample.changed);
        const changed = response.body as Resource;
        const { updated_at, version, serial } = changed;
        const computed = version === undefined ? {} : { version, serial };
        expect(stored(changed)).toEqual(
          stored({ ...resource, ...sample.change, ...computed, updated_at }),
        );
        expect(updated_at).toMatch(TIMESTAMP);
        expect(String(updated_at) > (before.updated_at ?? resource.created_at)).toBe(true);
        await expectUnchanged(changed);
        before = changed;
      }
    });

    test.runIf(isRenamed)('2xx for a new name, and the old name can be used again', async () => {
      const { id } = await create(service, sample, 'old-name');
      const renamed = await service.patch(`${path}/${id}`, { name: 'new-name' });
      expect([renamed.status, renamed.body.name]).toEqual([sample.changed, 'new-name']);
      await create(service, sample, 'old-name');
    });

    test.runIf(isRenamed)('409 for the name of another resource, and nothing changes', async () => {
      const theirs = await create(service, sample, 'theirs');
      const resource = await create(service, sample, 'mine');
      const change = { ...sample.change, name: 'theirs' };
      const response = await service.patch(`${path}/${resource.id}`, change);
      expect(expectError(response, 409, `duplicate_${sample.noun}`)).toBe(
        `Duplicate ${sample.title}: the name belongs to 'theirs' with the id ${theirs.id}`,
      );
      await expectUnchanged(resource);
    });
  });

  test('2xx for a deletion, then 404, and the name can be used again', async () => {
    const resource = await create(service, sample, 'passing');
    const response = await service.delete(`${path}/${resource.id}`);
    expect(response.status).toBe(sample.deleted);
    if (sample.deleted === 204) {
      expect([response.text, response.headers.get('content-length')]).toEqual(['', '0']);
      expect(response.headers.has('content-type')).toBe(false);
    }
    expectError(await service.delete(`${path}/${resource.id}`), 404, `${sample.noun}_not_found`);
    expectError(await service.get(`${path}/${resource.id}`), 404, `${sample.noun}_not_found`);
    expect((await create(service, sample, 'passing')).id).not.toBe(resource.id);
  });

  describe('ids', () => {
    const REQUESTS = [
      ['GET', undefined],
      ['PATCH', sample.change],
      ['DELETE', undefined],
    ] as const;

    test.each(REQUESTS)(
      '404 for an unknown id, 400 for an invalid UUID: %s',
      async (method, body) => {
        const unknown = await service.call(method, `${path}/${UNKNOWN_ID}`, body);
        expect(expectError(unknown, 404, `${sample.noun}_not_found`)).toBe(
          `Could not find ${sample.title}`,
        );
        for (const id of [
          'foo',
          `${UNKNOWN_ID.slice(0, -1)}g`,
          `{${UNKNOWN_ID}`,
          'x'.repeat(2000),
        ]) {
          const response = await service.call(method, `${path}/${id}`, body);
          expect(expectError(response, 400, 'invalid_uuid')).toBe(
            `Invalid UUID ${sample.noun}_id: ${id}`,
          );
        }
      },
    );

    test('400 with the decoded id in the message, and 404 for a path below an item', async () => {
      const response = await service.get(`${path}/a%2Fb%20%D1%80%D1%84`);
      expect(expectError(response, 400, 'invalid_uuid')).toBe(
        `Invalid UUID ${sample.noun}_id: a/b рф`,
      );
      expectError(await service.get(`${path}/${UNKNOWN_ID}/more`), 404, 'not_found');
    });

    test('2xx for every spelling of an id, with links in the canonical spelling', async () => {
      const { id, links } = await create(service, sample, 'spelt');
      const bare = id.replaceAll('-', '');
      for (const spelling of [id.toUpperCase(), bare, `{${id}}`, `urn:uuid:${id}`, `%7B${bare}%7D`])
        expect((await service.get(`${path}/${spelling}`)).body).toMatchObject({ id, links });
      expect((await service.patch(`${path}/${bare}`, {})).body.links).toEqual(links);
      expect((await service.delete(`${path}/${bare.toUpperCase()}`)).status).toBe(sample.deleted);
    });
  });

  test('400 for an invalid id comes first, then 415, 400 for invalid JSON, 404, 400 for invalid members, 409', async () => {
    const text = { 'content-type': 'text/plain' };
    const unknown = `${path}/${UNKNOWN_ID}`;
    expectError(await service.call('PATCH', `${path}/foo`, '{bad', text), 400, 'invalid_uuid');
    const typed = await service.call('PATCH', unknown, '{bad', text);
    expectError(typed, 415, 'unsupported_content_type');
    expectError(await service.patch(unknown, '{bad'), 400, 'invalid_json');
    expectError(await service.patch(unknown, ''), 400, 'empty_request_body');
    expectError(await service.patch(unknown, { junk: 1 }), 404, `${sample.noun}_not_found`);

    const { name } = await create(service, sample, 'in-order');
    const other = await create(service, sample, 'in-order-too');
    for (const response of [
      await service.patch(`${path}/${other.id}`, { name, junk: 1 }),
      await service.post(path, { ...sample.body('in-order'), junk: 1 }),
    ])
      expect(problemsOf(response)).toContain('junk: additionalProperties');
  });
});
