import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ApiResponse, Client } from '../harness/client.ts';
import { expectError, problemsOf } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import {
  checkNames,
  clientFor,
  createTlds,
  createZone,
  primary,
  removeAll,
  secondary,
  zonesOf,
  type Zone,
} from '../harness/zones.ts';

let service: TestService;
let member: Client;
beforeAll(async () => {
  service = await startTestService();
  member = await clientFor(service, ['member'], 'red');
});
afterEach(() => removeAll(service));

const ALL = { 'x-auth-all-projects': 'True' };

/** Creates a zone and deletes it again. Returns `ok` or the error message. */
async function creationOf(client: Client, body: Record<string, unknown>): Promise<string> {
  const response = await client.post('/v2/zones', body);
  if (response.status === 201) {
    await client.delete(`/v2/zones/${response.body.id}`);
    return 'ok';
  }
  return expectError(response, 400, 'invalid_zone_name');
}

const INVALID = /^Invalid TLD: no TLD entry for/;
const SAME = /^Zone name cannot be the same as a TLD/;

describe('zone creation', () => {
  test.each([
    [[], 'example.net.', /^ok$/],
    [['com'], 'Example.COM.', /^ok$/],
    [['COM'], 'a.b.example.com.', /^ok$/],
    [['com'], 'example.net.', INVALID],
    [['com', 'co.uk'], 'example.co.uk.', INVALID],
    [['uk', 'co.uk'], 'example.co.uk.', /^ok$/],
    [['uk', 'CO.UK'], 'Co.Uk.', SAME],
    [['co.uk'], 'y.co.uk.', INVALID],
    [['xn--3e0b707e'], 'example.xn--3e0b707e.', /^ok$/],
    [['arpa'], '2.168.192.in-addr.arpa.', /^ok$/],
    [['com'], '2.168.192.in-addr.arpa.', INVALID],
    [['com'], 'com.', /^More than one label/],
  ])(
    'with the entries %j, %s gets the same result for all callers and types of zones',
    async (entries, name, verdict) => {
      await createTlds(service, ...entries);
      for (const client of [member, service]) {
        for (const body of [primary(name), secondary(name)])
          expect(await creationOf(client, body)).toMatch(verdict);
      }
      expect((await service.post('/v2/zones', primary(name), ALL)).status).toBe(
        String(verdict) === '/^ok$/' ? 201 : 400,
      );
    },
  );

  test('400 or 201 immediately after entries are created, renamed or deleted', async () => {
    const attempt = () => creationOf(member, primary('site.example.'));
    expect(await attempt()).toBe('ok');
    const id = (await createTlds(service, 'org')).get('org');
    expect(await attempt()).toMatch(INVALID);
    expect((await service.patch(`/v2/tlds/${id}`, { name: 'EXAMPLE' })).status).toBe(200);
    expect(await attempt()).toBe('ok');
    const whole = (await createTlds(service, 'site.example')).get('site.example');
    expect(await attempt()).toMatch(SAME);
    await service.delete(`/v2/tlds/${whole}`);
    expect(await attempt()).toBe('ok');
    await service.patch(`/v2/tlds/${id}`, { name: 'org', description: null });
    expect(await attempt()).toMatch(INVALID);
    await service.delete(`/v2/tlds/${id}`);
    expect(await attempt()).toBe('ok');
  });

  test('400 for a name that only an entry with a failed creation would allow', async () => {
    await createTlds(service, 'org');
    expect((await service.post('/v2/tlds', { name: 'ORG' })).status).toBe(409);
    expect((await service.post('/v2/tlds', { name: 'example.' })).status).toBe(400);
    expect(await creationOf(member, primary('site.example.'))).toMatch(INVALID);
  });
});

describe('existing zones', () => {
  test('can be updated and deleted whatever the TLD entries are, but new subzones are checked', async () => {
    const ids = await createTlds(service, 'net');
    const zones = [
      await createZone(member, primary('pre.net.')),
      await createZone(member, secondary('second.net.')),
    ];
    const read = async (): Promise<Zone[]> => zonesOf(await member.get('/v2/zones'));
    expect(await read()).toEqual(zones);

    const net = `/v2/tlds/${ids.get('net')}`;
    const steps: (() => Promise<ApiResponse>)[] = [
      () => service.patch(net, { name: 'com' }),
      () => service.post('/v2/tlds', { name: 'pre.net' }),
      () => service.delete(net),
    ];
    for (const step of steps) {
      expect((await step()).status).toBeLessThan(300);
      expect(await read()).toEqual(zones);
    }
    expect(await creationOf(member, primary('sub.pre.net.'))).toMatch(INVALID);
    expect((await member.patch(`/v2/zones/${zones[0]?.id}`, { ttl: 5 })).status).toBe(200);
    expect((await member.delete(`/v2/zones/${zones[0]?.id}`)).status).toBe(202);
    expect(await creationOf(member, primary('pre.net.'))).toMatch(INVALID);
  });
});

describe('the name check', () => {
  test('200 with the result for each name, in order, with or without a trailing dot', async () => {
    await createTlds(service, 'uk', 'co.uk', 'com');
    const names = [
      'a.com.',
      'a.COM',
      'com.',
      'co.uk',
      'a.org.',
      'a..com.',
      'рф.',
      '',
      'a.com.',
      'a.com..',
    ];
    expect(await checkNames(member, names)).toEqual([
      'ok',
      'ok',
      'more_than_one_label',
      'not_a_tld',
      'tld_entry',
      'domain_name',
      'domain_name',
      'domain_name',
      'ok',
      'domain_name',
    ]);
    const [check] = (await member.post('/v2/tlds/check', { names: ['a.org.'] })).body.checks;
    expect(check).toEqual({
      name: 'a.org.',
      allowed: false,
      rule: 'tld_entry',
      message: expect.stringMatching(INVALID),
    });
  });

  test('200 with allowed for every name of two labels if there are no entries', async () => {
    expect(await checkNames(member, ['a.com.', 'com', 'a_b.c'])).toEqual([
      'ok',
      'more_than_one_label',
      'ok',
    ]);
  });

  test('200 for a name of 30,000 different characters, without a conversion to ASCII', async () => {
    const name = Array.from({ length: 30_000 }, (_, index) =>
      String.fromCharCode(index < 20_000 ? 0x4e00 + index : 0x5de0 + index),
    ).join('');
    const { status, body } = await service.post('/v2/tlds/check', { names: [name] });
    const [{ rule, message }] = body.checks;
    expect([status, rule, message]).toEqual([
      200,
      'domain_name',
      'The name must be at most 254 characters long',
    ]);
  });

  test('200 for 1,000 names, 400 for 1,001 names and for an empty list', async () => {
    await createTlds(service, 'even');
    const names = Array.from(
      { length: 1000 },
      (_, index) => `zone-${index}.${index % 2 === 0 ? 'even' : 'odd'}.`,
    );
    expect(await checkNames(member, names)).toEqual(
      names.map((_, index) => (index % 2 === 0 ? 'ok' : 'tld_entry')),
    );
    for (const bad of [[...names, 'a.b.'], []])
      expect(problemsOf(await member.post('/v2/tlds/check', { names: bad }))).toEqual([
        'names: items',
      ]);
  });

  test.each([
    [[], ': type'],
    ['x', ': type'],
    [5, ': type'],
    [{}, 'names: required'],
    [{ names: null }, 'names: type'],
    [{ names: 'a.b.' }, 'names: type'],
    [{ names: {} }, 'names: type'],
    [{ names: [5] }, 'names: type'],
    [{ names: ['a.b.', null] }, 'names: type'],
    [{ names: ['a\0'] }, 'names: type'],
    [{ names: ['\ud800'] }, 'names: type'],
  ])('400 for the body %j, with the problem %s', async (body, problem) => {
    expect(problemsOf(await member.call('POST', '/v2/tlds/check', JSON.stringify(body)))).toEqual([
      problem,
    ]);
  });

  test('400 for an unknown member or invalid JSON, 415 for another media type', async () => {
    expect(problemsOf(await member.post('/v2/tlds/check', { names: ['a.b.'], more: 1 }))).toEqual([
      'more: additionalProperties',
    ]);
    expectError(await member.call('POST', '/v2/tlds/check', '{'), 400, 'invalid_json');
    expectError(await member.call('POST', '/v2/tlds/check'), 415, 'unsupported_content_type');
    expectError(
      await member.call('POST', '/v2/tlds/check', '{}', { 'content-type': 'text/plain' }),
      415,
      'unsupported_content_type',
    );
  });

  test('401 without zones:create, even for an invalid body; 405 or 400 for other methods', async () => {
    for (const roles of [['reader'], ['auditor']]) {
      const client = await clientFor(service, roles, 'red');
      for (const body of ['{', JSON.stringify({ names: ['a.b.'] })])
        expectError(await client.call('POST', '/v2/tlds/check', body), 401, 'access_denied');
    }
    expect((await member.with('wrong').post('/v2/tlds/check', { names: ['a.b.'] })).status).toBe(
      401,
    );
    expect(await checkNames(service, ['a.b.'])).toEqual(['ok']);
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expectError(await service.call(method, '/v2/tlds/check'), 400, 'invalid_uuid');
    const response = await service.call('PUT', '/v2/tlds/check');
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers.get('allow')).toBe('POST, OPTIONS');
  });

  test('200 changes nothing, and an existing zone has no effect', async () => {
    await createTlds(service, 'example');
    await createZone(member, primary('taken.example.'));
    const state = async () => [
      (await service.get('/v2/tlds')).body,
      (await service.get('/v2/zones', ALL)).body,
    ];
    const before = await state();
    expect(await checkNames(member, ['taken.example.', 'new.example.', 'a.org.'])).toEqual([
      'ok',
      'ok',
      'tld_entry',
    ]);
    expect(await state()).toEqual(before);
  });
});
