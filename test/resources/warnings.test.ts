import { beforeAll, describe, expect, test } from 'vitest';
import { POOL_ID, SECRET, TSIGKEYS, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    TSIGIL_CORS_ALLOWED_ORIGINS: '[https://console.example]',
  });
});

const HEADER = 'tsigil-warning';
let count = 0;
const key = (members: object) => ({ ...TSIGKEYS.body(`key-${(count += 1)}`), ...members });

/** Returns the strings in Tsigil-Warning, as a parser of structured fields reads them. */
function warningsIn({ headers }: { headers: Headers }): string[] {
  const value = headers.get(HEADER);
  return value === null ? [] : (JSON.parse(`[${value}]`) as string[]);
}

describe('Tsigil-Warning', () => {
  test.each([
    ['a usable key', {}, []],
    ['a generated secret', { algorithm: 'hmac-sha512', secret: undefined }, []],
    [
      'a weak algorithm',
      { algorithm: 'hmac-md5' },
      ['hmac-md5 must not be used (RFC 8945 section 6)'],
    ],
    [
      'a short secret',
      { secret: Buffer.alloc(31).toString('base64') },
      ['the secret is shorter than the output of hmac-sha256 (RFC 2104 section 3)'],
    ],
    [
      'a name and a secret that DNS cannot carry',
      { name: 'no domain name', secret: '"?' },
      [
        'the name must be a domain name to be used in DNS messages',
        'the secret must be base64 (RFC 4648 section 4) to be used in DNS messages',
      ],
    ],
    [
      'a pool that does not exist',
      { resource_id: UNKNOWN_ID },
      ['the resource_id is not the id of an existing pool'],
    ],
    [
      'a zone that does not exist',
      { scope: 'ZONE', resource_id: POOL_ID },
      ['the resource_id is not the id of an existing zone'],
    ],
  ])('201 for %s, with the expected warnings', async (_, members, expected) => {
    const response = await service.post('/v2/tsigkeys', key(members));
    expect(response.status, response.text).toBe(201);
    expect(warningsIn(response)).toEqual(expected);
    expect(Object.keys(response.body as object)).toEqual(TSIGKEYS.members);
  });

  test('200 for an update, with warnings about the whole key apart from an unchanged resource_id', async () => {
    const { body } = await service.post('/v2/tsigkeys', key({ resource_id: UNKNOWN_ID }));
    const path = `/v2/tsigkeys/${body.id}`;
    expect(warningsIn(await service.patch(path, { algorithm: 'hmac-sha1' }))).toEqual([
      'hmac-sha1 is not recommended (RFC 8945 section 6)',
    ]);
    expect(warningsIn(await service.patch(path, { scope: 'ZONE' }))).toEqual([
      'hmac-sha1 is not recommended (RFC 8945 section 6)',
      'the resource_id is not the id of an existing zone',
    ]);
    expect(warningsIn(await service.get(path))).toEqual([]);
  });

  test('201 for a name server whose pool has no zone to test keys in, with a warning', async () => {
    const members = { driver: 'bind', address: '192.0.2.53', pool_id: POOL_ID };
    const { body: pool } = await service.post('/v2/pools', { name: 'without-zones' });
    const warningsOf = async (more: object) =>
      warningsIn(await service.post('/v2/nameservers', { ...members, ...more }));
    const expected = [
      'the pool has no zone in which to test its keys. Create a zone, or set probe_zone',
    ];
    expect(await warningsOf({ name: 'ns-1', pool_id: pool.id })).toEqual(expected);
    expect(await warningsOf({ name: 'ns-2', pool_id: pool.id, probe_zone: 'a.test.' })).toEqual([]);
    await service.post(
      '/v2/zones',
      { name: 'tested.example.', email: 'a@example.com' },
      { 'x-auth-sudo-project-id': 'red' },
    );
    expect(await warningsOf({ name: 'ns-3' })).toEqual([]);
  });

  test('201 with a warning that contains no part of the secret', async () => {
    const secret = SECRET.slice(4);
    const response = await service.post('/v2/tsigkeys', key({ secret, algorithm: 'hmac-sha512' }));
    expect(response.headers.get(HEADER)).toContain('the secret is shorter');
    expect(response.headers.get(HEADER)).not.toContain(secret.slice(0, 6));
  });
});
