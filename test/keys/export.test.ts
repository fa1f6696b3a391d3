import { beforeAll, describe, expect, test } from 'vitest';
import { BRAND_NAMES } from '../../src/brands/brands.ts';
import { EXPORT_FORMATS, exportKey } from '../../src/keys/export/export-formats.ts';
import { create, expectError, SECRET, TSIGKEYS, type Resource } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
let key: Resource;
beforeAll(async () => {
  service = await startTestService();
  key = await create(service, TSIGKEYS, 'Transfer.example.');
});

const exported = (id: string, query: string) => service.get(`/v2/tsigkeys/${id}/export${query}`);

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  py: 'text/x-python',
};

describe.each(Object.entries(EXPORT_FORMATS))('?format=%s', (format, { extension }) => {
  test('200 with the text, its media type and a file name', async () => {
    const response = await exported(key.id, `?format=${format}`);
    expect([response.status, response.text]).toEqual([
      200,
      exportKey(format, { name: key.name, algorithm: 'hmac-sha256', secret: SECRET }).text,
    ]);
    const mediaType = MEDIA_TYPES[extension] ?? 'text/plain';
    expect(response.headers.get('content-type')).toBe(`${mediaType}; charset=UTF-8`);
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="transfer.example.${extension}"`,
    );
    expect(response.headers.get('cache-control')).toBe('no-store');
  });
});

test.each(['', '?format=', '?format=yaml', '?format=__proto__', '?format=BIND'])(
  '400 with the list of formats for the query %j',
  async (query) => {
    expect(expectError(await exported(key.id, query), 400, 'bad_request')).toBe(
      `format must be one of ${Object.keys(EXPORT_FORMATS).join(', ')}`,
    );
  },
);

test.each(['?format=bind&format=knot', '?format=bind&colour=red', '?format=%FF'])(
  '400 for the query %j',
  async (query) => {
    expectError(await exported(key.id, query), 400, 'bad_request');
  },
);

test.each([
  [
    'a name that closes a quoted string',
    'bind',
    { name: 'a"; }; include "x' },
    'the name must be a domain name to be used in DNS messages',
  ],
  [
    'a secret that is not base64',
    'knot',
    { name: 'odd', secret: 'SomeSecretKey-of-nobody-0123456789' },
    'the secret must be base64',
  ],
  [
    'an algorithm that the consumer lacks',
    'cert-manager',
    { name: 'sha384', algorithm: 'hmac-sha384' },
    'cert-manager cannot use hmac-sha384',
  ],
])('409 with the reason for %s', async (_case, format, members, reason) => {
  const made = await service.post('/v2/tsigkeys', { ...TSIGKEYS.body('any'), ...members });
  const { id } = made.body as Resource;
  const response = await exported(id, `?format=${format}`);
  expect(expectError(response, 409, 'not_exportable')).toContain(reason);
  expect(response.text).not.toContain('SomeSecretKey');
});

describe('?for=secondary', () => {
  const query = '&for=secondary&primary=';

  test('200 for a reverse zone of a part of a network (RFC 2317)', async () => {
    const zone = '0/25.2.0.192.in-addr.arpa';
    const response = await exported(key.id, `?format=bind${query}192.0.2.53&zone=${zone}.`);
    expect([response.status, response.text]).toEqual([
      200,
      expect.stringContaining(`zone "${zone}" {`),
    ]);
  });

  test.each(BRAND_NAMES)('200 in the format %s', async (format) => {
    const response = await exported(
      key.id,
      `?format=${format}${query}192.0.2.53&zone=Example.ORG.`,
    );
    expect([response.status, response.text]).toEqual([
      200,
      exportKey(
        format,
        { name: key.name, algorithm: 'hmac-sha256', secret: SECRET },
        { host: '192.0.2.53', port: 53, zone: 'example.org' },
      ).text,
    ]);
    expect(response.text).toContain(SECRET);
    expect(response.text).toContain('192.0.2.53');
    expect(response.text).toContain('example.org');
  });

  test.each([
    ['?format=lego&for=secondary&primary=192.0.2.53', new RegExp(BRAND_NAMES.join(', '))],
    ['?format=bind&for=secondary', /needs primary/],
    ['?format=bind&for=secondary&primary=ns1.example.org', /IPv4 or IPv6/],
    ['?format=bind&for=secondary&primary=192.0.2.53&zone=a%3Bb.example', /domain name/],
    ['?format=powerdns&for=secondary&primary=192.0.2.53&zone=a%24(id).example', /domain name/],
    ['?format=powerdns&for=secondary&primary=192.0.2.53&zone=0/25.-x.example', /domain name/],
    ['?format=bind&primary=192.0.2.53', /for=secondary/],
    ['?format=bind&for=other', /for /],
  ])('400 for %s', async (text, reason) => {
    const response = await exported(key.id, text);
    expectError(response, 400, 'bad_request');
    expect(response.body.message).toMatch(reason);
  });
});
