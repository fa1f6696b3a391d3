import { beforeAll, describe, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/resources/resources.ts';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import type { ApiResponse } from '../harness/client.ts';
import {
  exampleBody,
  examplesOf,
  expectDocumented,
  expectDocumentedError,
  KNOWN_STRANGER,
  operationAt,
  readDocument,
  resolve,
  responseTo,
} from '../harness/description.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

/** The id in the examples of the OpenAPI document. No resource has this id. */
const UNKNOWN_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';

let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  service = await startTestService({ ...KNOWN_STRANGER, TSIGIL_TSIGKEYS_STRICT: 'true' });
  api = await readDocument(service);
});

/** Returns the members of a response, in the order of its schema. */
function membersOf(path: string, method: string, status: number): string[] {
  const { content } = responseTo(api, path, method, status);
  const reference = content?.['application/json']?.schema as { $ref: string };
  return Object.keys(resolve<{ properties?: object }>(api, reference).properties ?? {});
}

describe.each(RESOURCE_TYPES)('$collection', (type) => {
  const { collection, operations, statuses } = type;
  const path = `/v2/${collection}`;
  const item = `${path}/{id}`;

  test('201 for the examples of its fields, and responses as documented for it until it is deleted', async () => {
    const example = exampleBody(type, 'POST');
    const created = await service.post(path, example);
    expect(created.status, created.text).toBe(201);
    expectDocumented(api, path, 'POST', created);
    expect(Object.keys(created.body as object)).toEqual(membersOf(path, 'POST', 201));
    expect(created.body).toMatchObject(example);
    const place = `${path}/${String(created.body.id)}`;
    for (const [template, url] of [
      [item, place],
      [path, path],
      [path, `${path}?limit=1&sort_key=name&sort_dir=desc`],
    ] as const) {
      const response = await service.get(url);
      expect(response.status).toBe(200);
      expectDocumented(api, template, 'GET', response);
      expect(Object.keys(response.body as object)).toEqual(membersOf(template, 'GET', 200));
    }
    if (operations.includes('update')) {
      const change = exampleBody(type, 'PATCH');
      const updated = await service.patch(place, change);
      expect(updated.status, updated.text).toBe(statuses?.update ?? 200);
      expectDocumented(api, item, 'PATCH', updated);
      expect(updated.body).toMatchObject(change);
    }
    const deleted = await service.delete(place);
    expect(deleted.status).toBe(statuses?.delete ?? 204);
    expectDocumented(api, item, 'DELETE', deleted);
  });

  test('200 for every parameter with its example, and for every sort key', async () => {
    const parameters = (operationAt(api, path, 'GET').parameters ?? []).map((parameter) =>
      resolve(api, parameter),
    );
    const { body } = await service.post(path, exampleBody(type, 'POST'));
    const id = String(body.id);
    const asked = parameters.filter((each) => each.in === 'query' && each.example !== undefined);
    const sortKeys = parameters.find(({ name }) => name === 'sort_key')?.schema.enum as string[];
    for (const query of [
      ...asked.map(({ name, example }) => [name, name === 'marker' ? id : String(example)]),
      ...sortKeys.map((key) => ['sort_key', key]),
    ]) {
      const text = query.map(encodeURIComponent).join('=');
      const response = await service.get(`${path}?${text}`);
      expect(response.status, text).toBe(200);
      expectDocumented(api, path, 'GET', response);
    }
    for (const { name } of parameters.filter((parameter) => parameter.in === 'header')) {
      const response = await service.get(path, { [name]: 'true' });
      expect(response.status, name).toBe(200);
      expectDocumented(api, path, 'GET', response);
    }
    await service.delete(`${path}/${id}`);
  });

  test('4xx with the statuses, headers, schemas and types of the document', async () => {
    const powerless = await clientFor(service, ['stranger']);
    const text = { 'content-type': 'text/plain' };
    const faults: [method: string, template: string, string, Promise<ApiResponse>][] = [
      ['GET', path, 'invalid_limit', service.get(`${path}?limit=0`)],
      ['GET', path, 'bad_request', service.get(`${path}?nosuch=1`)],
      ['GET', path, 'unauthorized', service.with('unknown').get(path)],
      ['GET', path, 'access_denied', powerless.get(path)],
      ['GET', path, 'method_not_allowed', service.call('PUT', path)],
      ['POST', path, 'invalid_object', service.post(path, { id: UNKNOWN_ID })],
      ['POST', path, 'unsupported_content_type', service.call('POST', path, '{}', text)],
      ['POST', path, 'request_too_large', service.call('POST', path, 'x'.repeat(200_000))],
      ['GET', item, 'invalid_uuid', service.get(`${path}/example`)],
      ['DELETE', item, 'access_denied', powerless.delete(`${path}/${UNKNOWN_ID}`)],
    ];
    for (const [method, template, type, response] of faults)
      expectDocumentedError(api, template, method, await response, type);
  });
});

test.each(['/', '/v2', '/healthcheck', '/readyz', '/metrics', '/openapi.json', '/docs'])(
  '200 as documented without a token: %s',
  async (path) => {
    const response = await service.with('').get(path);
    expect(response.status).toBe(200);
    expectDocumented(api, path, 'GET', response);
  },
);

test('200 for the example of the check of zone names, with the example of its response', async () => {
  const path = '/v2/tlds/check';
  const [example] = Object.values(examplesOf(operationAt(api, path, 'POST').requestBody?.content));
  const response = await service.post(path, example);
  expectDocumented(api, path, 'POST', response);
  const [promised] = Object.values(examplesOf(responseTo(api, path, 'POST', 200).content));
  expect(response.body).toEqual(promised);
});

test('403, not 401, for a caller without the right if auth.insufficientRightsStatus is 403', async () => {
  const strict = await startTestService({ TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: '403' });
  const denied = await (await clientFor(strict, ['reader'])).get('/v2/tlds');
  expectDocumentedError(api, '/v2/tlds', 'GET', denied, 'forbidden');
  const unknown = await strict.with('unknown').get('/v2/tlds');
  expectDocumentedError(api, '/v2/tlds', 'GET', unknown, 'unauthorized');
});

test('429 for a caller above the rate limit, as documented', async () => {
  const limited = await startTestService({
    TSIGIL_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
  });
  let response;
  do response = await limited.get('/v2/tlds');
  while (response.status !== 429);
  expectDocumentedError(api, '/v2/tlds', 'GET', response, 'too_many_requests');
});
