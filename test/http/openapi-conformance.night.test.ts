import { beforeAll, describe, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/domain/resources/resources.ts';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import type { ApiResponse } from '../harness/client.ts';
import {
  DOCUMENTED_METHODS,
  resolve,
  examplesOf,
  expectDocumented,
  expectPromised,
  KNOWN_STRANGER,
  operationAt,
  readDocument,
  responseTo,
} from '../harness/description.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const UNKNOWN_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';

let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  service = await startTestService({ ...KNOWN_STRANGER, TSIGIL_TSIGKEYS_STRICT: 'true' });
  api = await readDocument(service);
});

/** The statuses of updates and deletions that differ from 200 and 204. */
const STATUSES: Readonly<Record<string, { update?: number; delete?: number }>> = {
  pools: { update: 202 },
  zones: { delete: 202 },
};

describe.each(RESOURCE_TYPES)('$collection', ({ collection, noun, operations }) => {
  const path = `/v2/${collection}`;
  const item = `${path}/{id}`;

  test('201 for every example, and 200, 202 and 204 for later requests, with responses as documented', async () => {
    const requests = Object.entries(
      examplesOf(operationAt(api, path, 'POST').requestBody?.content),
    );
    expect(requests.length).toBeGreaterThan(0);
    const promised = examplesOf(responseTo(api, path, 'POST', 201).content) as Record<
      string,
      Record<string, unknown>
    >;
    const places: string[] = [];
    for (const [name, request] of requests) {
      const created = await service.post(path, request);
      expect(created.status, created.text).toBe(201);
      expectDocumented(api, path, 'POST', created);
      expect(Object.keys(created.body as object)).toEqual(Object.keys(promised[name] ?? {}));
      const { pool, ...members } = request as Record<string, unknown>;
      expect(created.body).toMatchObject(members);
      if (pool !== undefined)
        expect(['resource_id', 'pool_id'].map((member) => created.body[member])).toEqual(
          ['resource_id', 'pool_id'].map((member) => promised[name]?.[member]),
        );
      places.push(`${path}/${String(created.body.id)}`);
    }
    for (const place of places) {
      for (const [method, template, url] of [
        ['GET', item, place],
        ['GET', path, path],
        ['GET', path, `${path}?limit=1&sort_key=name&sort_dir=desc`],
      ] as const) {
        const response = await service.call(method, url);
        expect(response.status).toBe(200);
        expectDocumented(api, template, method, response);
        const [example] = Object.values(examplesOf(responseTo(api, template, method, 200).content));
        expect(Object.keys(response.body as object)).toEqual(Object.keys(example as object));
      }
      if (operations.includes('update')) {
        for (const change of Object.values(
          examplesOf(operationAt(api, item, 'PATCH').requestBody?.content),
        )) {
          const updated = await service.patch(place, change);
          expect(updated.status, updated.text).toBe(STATUSES[collection]?.update ?? 200);
          expectDocumented(api, item, 'PATCH', updated);
          expect(updated.body).toMatchObject(change as object);
        }
      }
      const deleted = await service.delete(place);
      expect(deleted.status).toBe(STATUSES[collection]?.delete ?? 204);
      expectDocumented(api, item, 'DELETE', deleted);
      const [farewell = {}] = Object.values(
        examplesOf(responseTo(api, item, 'DELETE', deleted.status).content),
      ) as Record<string, unknown>[];
      const { status, action } = (deleted.body ?? {}) as Record<string, unknown>;
      expect({ status, action }).toEqual({ status: farewell.status, action: farewell.action });
    }
  });

  test('200 for every parameter with its example, and for every sort key', async () => {
    const parameters = (operationAt(api, path, 'GET').parameters ?? []).map((parameter) =>
      resolve(api, parameter),
    );
    const [request] = Object.values(
      examplesOf(operationAt(api, path, 'POST').requestBody?.content),
    );
    const { body } = await service.post(path, request);
    const asked = parameters.filter(
      (parameter) => parameter.example !== undefined && parameter.in === 'query',
    );
    const sortKeys = parameters.find(({ name }) => name === 'sort_key')?.schema.enum as string[];
    for (const [name, value] of [
      ...asked.map(({ name, example }) => [name, example] as const),
      ...sortKeys.map((key) => ['sort_key', key] as const),
    ]) {
      const response = await service.get(
        `${path}?${name}=${encodeURIComponent(String(name === 'marker' ? body.id : value))}`,
      );
      expect(response.status, `${name}=${String(value)}`).toBe(200);
      expectDocumented(api, path, 'GET', response);
    }
    for (const { name } of parameters.filter((parameter) => parameter.in === 'header')) {
      const response = await service.get(path, { [name]: 'true' });
      expect(response.status, name).toBe(200);
      expectDocumented(api, path, 'GET', response);
    }
    await service.delete(`${path}/${String(body.id)}`);
    expect(asked.length).toBeGreaterThan(4);
    expect(sortKeys.length).toBeGreaterThanOrEqual(4);
  });

  test('4xx with the statuses, headers, schemas and messages of the OpenAPI document', async () => {
    const example = Object.values(
      examplesOf(operationAt(api, path, 'POST').requestBody?.content),
    )[0] as object;
    const { body: taken } = await service.post(path, example);
    const nobody = service.with('unknown');
    const powerless = await clientFor(service, ['stranger']);
    const body = { id: UNKNOWN_ID };
    const ofBodies = (method: 'POST' | 'PATCH', template: string, url: string) =>
      [
        ['empty_request_body', method, template, () => service.call(method, url, '')],
        ['invalid_json', method, template, () => service.call(method, url, '{"name":')],
        [
          'unsupported_content_type',
          method,
          template,
          () => service.call(method, url, '{}', { 'content-type': 'text/plain' }),
        ],
        [
          'unsupported_content_encoding',
          method,
          template,
          () => service.call(method, url, '{}', { 'content-encoding': 'gzip' }),
        ],
        [
          'request_too_large',
          method,
          template,
          () => service.call(method, url, 'x'.repeat(200_000)),
        ],
      ] as const;
    const ofItems = (method: 'GET' | 'PATCH' | 'DELETE', change?: object) =>
      [
        ['invalid_uuid', method, item, () => service.call(method, `${path}/example`, change)],
        [
          `${noun}_not_found`,
          method,
          item,
          () => service.call(method, `${path}/${UNKNOWN_ID}`, change),
        ],
        ['unauthorized', method, item, () => nobody.call(method, `${path}/${UNKNOWN_ID}`, change)],
        [
          'access_denied',
          method,
          item,
          () => powerless.call(method, `${path}/${UNKNOWN_ID}`, change),
        ],
      ] as const;
    const faults: readonly (readonly [
      type: string,
      method: string,
      template: string,
      () => Promise<ApiResponse>,
    ])[] = [
      ...[
        'invalid_limit limit=0',
        'invalid_marker marker=example',
        `marker_not_found marker=${UNKNOWN_ID}`,
      ].map(queryFault),
      ...[
        'invalid_sort_key sort_key=size',
        'invalid_sort_dir sort_dir=up',
        'bad_request nosuch=1',
      ].map(queryFault),
      ['unauthorized', 'GET', path, () => nobody.get(path)],
      ['access_denied', 'GET', path, () => powerless.get(path)],
      ['method_not_allowed', 'GET', path, () => service.call('PUT', path)],
      ['invalid_object', 'POST', path, () => service.post(path, body)],
      [`duplicate_${noun}`, 'POST', path, () => service.post(path, example)],
      ...ofBodies('POST', path, path),
      ...ofItems('GET'),
      ...ofItems('DELETE'),
      ...(operations.includes('update')
        ? [...ofItems('PATCH', {}), ...ofBodies('PATCH', item, `${path}/${String(taken.id)}`)]
        : []),
    ];
    for (const [type, method, template, provoke] of faults)
      expectPromised(api, template, method, await provoke(), type);
    await service.delete(`${path}/${String(taken.id)}`);

    function queryFault(line: string) {
      const [type = '', query = ''] = line.split(' ');
      return [type, 'GET', path, () => service.get(`${path}?${query}`)] as const;
    }
  });
});

describe('paths without a token', () => {
  test.each(['/', '/healthcheck', '/readyz', '/metrics', '/openapi.json', '/docs'])(
    '200 as documented: %s',
    async (path) => {
      const response = await service.with('').get(path);
      expect(response.status).toBe(200);
      expectDocumented(api, path, 'GET', response);
      const [example] = Object.values(examplesOf(responseTo(api, path, 'GET', 200).content));
      if (path === '/') expect(response.body).toEqual(example);
    },
  );

  test('404 as documented', async () => {
    const { body } = await service.get('/nosuch');
    expect(api.info.description).toContain('does not exist returns 404 with the type `not_found`');
    expect(body).toEqual({
      code: 404,
      type: 'not_found',
      message: 'This path does not exist',
      request_id: expect.stringMatching(/^req-/),
    });
  });
});

/** Returns the operations that may return an error of this type. */
function placesOf(document: ApiDocument, type: string): string[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    DOCUMENTED_METHODS.filter((method) =>
      Object.values(item[method]?.responses ?? {}).some(
        (response) => type in examplesOf(resolve(document, response).content),
      ),
    ).map((method) => `${method} ${path}`),
  );
}

describe('settings that change statuses', () => {
  test('403, not 401, for a caller without the right if auth.insufficientRightsStatus is 403', async () => {
    const strict = await startTestService({ TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: '403' });
    const document = await readDocument(strict);
    const response = await (await clientFor(strict, ['reader'])).get('/v2/tlds');
    const unknown = await strict.with('unknown').get('/v2/tlds');
    expect([response.status, unknown.status]).toEqual([403, 401]);
    expectDocumented(document, '/v2/tlds', 'GET', response);
    expectDocumented(document, '/v2/tlds', 'GET', unknown);
    expect(JSON.stringify(document)).not.toContain('access_denied');
    // Creating a CATALOG zone returns 403 with either setting.
    expect(placesOf(api, 'forbidden')).toEqual(['post /v2/zones']);
    expect(placesOf(document, 'forbidden')).toEqual(placesOf(api, 'access_denied'));
  });

  test('429 for a caller above the rate limit, as documented', async () => {
    const limited = await startTestService({
      TSIGIL_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
    });
    const document = await readDocument(limited);
    let response;
    do response = await limited.get('/v2/tlds');
    while (response.status !== 429);
    expectDocumented(document, '/v2/tlds', 'GET', response);
  });
});
