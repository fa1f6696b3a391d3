import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/domain/resources.ts';
import {
  resolve,
  type ApiDocument,
  type Content,
  type DOCUMENTED_METHODS,
  type OperationObject,
  type ResponseObject,
} from '../../src/http/openapi-document.ts';
import type { Answer } from '../harness/client.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const UNKNOWN_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';
const JSON_BODY = 'application/json';

let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  service = await startTestService({ TSIGIL_TSIGKEYS_STRICT: 'true' });
  api = await readDocument(service);
});
afterAll(() => service.close());

async function readDocument({ get }: TestService): Promise<ApiDocument> {
  return (await get('/openapi.json')).body as ApiDocument;
}

function operationAt(document: ApiDocument, path: string, method: string): OperationObject {
  const operation = document.paths[path]?.[method.toLowerCase() as (typeof DOCUMENTED_METHODS)[number]];
  if (operation === undefined) throw new Error(`The document has no ${method} ${path}`);
  return operation;
}

function responseTo(document: ApiDocument, path: string, method: string, status: number): ResponseObject {
  const response = operationAt(document, path, method).responses[status];
  if (response === undefined) throw new Error(`${method} ${path} may not answer ${status}`);
  return resolve(document, response);
}

function examplesOf(content: Content | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(content?.[JSON_BODY]?.examples ?? {}).map(([name, { value }]) => [name, value]));
}

/** What the document's JSON schemas say against `value`. */
function complaints(document: ApiDocument, schema: object, value: unknown): unknown {
  const formats = { uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, uri: (text: string) => URL.canParse(text), 'date-time': /^[\d-]+T[\d:]+Z$/ };
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats });
  const validate = ajv.compile({ $id: 'api', components: document.components, ...schema });
  return validate(value) ? undefined : validate.errors;
}

/** Expects that the document allows `answer`: its status, those of its headers that mean something, and its body. */
function expectDocumented(document: ApiDocument, path: string, method: string, answer: Answer): void {
  const response = responseTo(document, path, method, answer.status);
  const documented = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  const meaningful = Object.keys(document.components.headers).map((name) => name.toLowerCase());
  for (const name of meaningful.filter((name) => answer.headers.has(name))) expect([...documented]).toContain(name);
  const [mediaType, content] = Object.entries(response.content ?? {})[0] ?? [];
  expect(answer.headers.get('content-type')?.split(';')[0]).toBe(mediaType);
  if (content === undefined) expect(answer.text).toBe('');
  else expect(complaints(document, content.schema, mediaType === JSON_BODY ? answer.body : answer.text)).toBeUndefined();
}

describe.each(RESOURCE_TYPES)('$collection', ({ collection, operations }) => {
  const path = `/v2/${collection}`;
  const item = `${path}/{id}`;

  test('201, 200 and 204: every example is taken, and answered as the document shows', async () => {
    const requests = Object.entries(examplesOf(operationAt(api, path, 'POST').requestBody?.content));
    expect(requests.length).toBeGreaterThan(0);
    const promised = examplesOf(responseTo(api, path, 'POST', 201).content) as Record<string, Record<string, unknown>>;
    for (const [name, request] of requests) {
      const created = await service.post(path, request);
      expect(created.status, created.text).toBe(201);
      expectDocumented(api, path, 'POST', created);
      expect(Object.keys(created.body as object)).toEqual(Object.keys(promised[name] ?? {}));
      expect(created.body).toMatchObject(request as object);
      const place = `${path}/${String(created.body.id)}`;

      for (const [method, template, url] of [
        ['GET', item, place],
        ['GET', path, path],
        ['GET', path, `${path}?limit=1&sort_key=name&sort_dir=desc`],
      ] as const) {
        const answer = await service.call(method, url);
        expect(answer.status).toBe(200);
        expectDocumented(api, template, method, answer);
        const [example] = Object.values(examplesOf(responseTo(api, template, method, 200).content));
        if (template === item) expect(Object.keys(answer.body as object)).toEqual(Object.keys(example as object));
      }
      if (operations.includes('update')) {
        for (const change of Object.values(examplesOf(operationAt(api, item, 'PATCH').requestBody?.content))) {
          const updated = await service.patch(place, change);
          expect(updated.status, updated.text).toBe(200);
          expectDocumented(api, item, 'PATCH', updated);
          expect(updated.body).toMatchObject(change as object);
        }
      }
      const deleted = await service.delete(place);
      expect(deleted.status).toBe(204);
      expectDocumented(api, item, 'DELETE', deleted);
    }
  });

  test('200 for every parameter with its example', async () => {
    const parameters = (operationAt(api, path, 'GET').parameters ?? []).map((parameter) => resolve(api, parameter));
    const [request] = Object.values(examplesOf(operationAt(api, path, 'POST').requestBody?.content));
    const { body } = await service.post(path, request);
    for (const { name, example } of parameters.filter((parameter) => parameter.example !== undefined)) {
      const answer = await service.get(`${path}?${name}=${encodeURIComponent(String(name === 'marker' ? body.id : example))}`);
      expect(answer.status, name).toBe(200);
      expectDocumented(api, path, 'GET', answer);
    }
    await service.delete(`${path}/${String(body.id)}`);
    expect(parameters.length).toBeGreaterThan(4);
  });

  test('4xx: real errors have the statuses, headers, schemas and words of the document', async () => {
    const example = Object.values(examplesOf(operationAt(api, path, 'POST').requestBody?.content))[0] as object;
    const { body: taken } = await service.post(path, example);
    const nobody = service.with('unknown');
    const reader = service.with(String((await service.post('/v2/tokens', { name: `reader of ${collection}`, roles: ['reader'] })).body.token));
    const body = { id: UNKNOWN_ID };
    const ofBodies = (method: 'POST' | 'PATCH', template: string, url: string) =>
      [
        ['empty_request_body', method, template, () => service.call(method, url, '')],
        ['invalid_json', method, template, () => service.call(method, url, '{"name":')],
        ['unsupported_content_type', method, template, () => service.call(method, url, '{}', { 'content-type': 'text/plain' })],
        ['request_too_large', method, template, () => service.call(method, url, 'x'.repeat(200_000))],
      ] as const;
    const ofItems = (method: 'GET' | 'PATCH' | 'DELETE', change?: object) =>
      [
        ['invalid_uuid', method, item, () => service.call(method, `${path}/example`, change)],
        [`${nounOf(collection)}_not_found`, method, item, () => service.call(method, `${path}/${UNKNOWN_ID}`, change)],
        ['unauthorized', method, item, () => nobody.call(method, `${path}/${UNKNOWN_ID}`, change)],
        ['access_denied', method, item, () => reader.call(method, `${path}/${UNKNOWN_ID}`, change)],
      ] as const;
    const mishaps: readonly (readonly [type: string, method: string, template: string, () => Promise<Answer>])[] = [
      ...['invalid_limit limit=0', 'invalid_marker marker=example', `marker_not_found marker=${UNKNOWN_ID}`].map(queryMishap),
      ...['invalid_sort_key sort_key=size', 'invalid_sort_dir sort_dir=up', 'bad_request nosuch=1'].map(queryMishap),
      ['unauthorized', 'GET', path, () => nobody.get(path)],
      ['access_denied', 'GET', path, () => reader.get(path)],
      ['method_not_allowed', 'GET', path, () => service.call('PUT', path)],
      ['invalid_object', 'POST', path, () => service.post(path, body)],
      [`duplicate_${nounOf(collection)}`, 'POST', path, () => service.post(path, example)],
      ...ofBodies('POST', path, path),
      ...ofItems('GET'),
      ...ofItems('DELETE'),
      ...(operations.includes('update') ? [...ofItems('PATCH', {}), ...ofBodies('PATCH', item, `${path}/${String(taken.id)}`)] : []),
    ];
    for (const [type, method, template, provoke] of mishaps) {
      const answer = await provoke();
      expectDocumented(api, template, method, answer);
      const promised = examplesOf(responseTo(api, template, method, answer.status).content)[type] as Record<string, unknown>;
      const { message, ...rest } = answer.body as Record<string, unknown>;
      expect(Object.keys(promised), type).toEqual(Object.keys(answer.body as object));
      expect({ ...promised, ...rest }, type).toEqual({
        ...promised,
        request_id: rest.request_id,
        ...(rest.errors === undefined ? {} : { errors: rest.errors }),
      });
      if (!VARYING.has(type)) expect(message, type).toBe(promised.message);
    }
    await service.delete(`${path}/${String(taken.id)}`);

    function queryMishap(line: string) {
      const [type = '', query = ''] = line.split(' ');
      return [type, 'GET', path, () => service.get(`${path}?${query}`)] as const;
    }
  });
});

/** The types whose words depend on the request. */
const VARYING = new Set(['access_denied', 'bad_request', 'invalid_object', 'method_not_allowed', 'request_too_large']);

function nounOf(collection: string): string {
  return RESOURCE_TYPES.find((type) => type.collection === collection)?.noun ?? '';
}

describe('paths without a token', () => {
  test.each(['/', '/healthcheck', '/readyz', '/metrics', '/openapi.json', '/docs'])('200 as the document says: %s', async (path) => {
    const answer = await service.with('').get(path);
    expect(answer.status).toBe(200);
    expectDocumented(api, path, 'GET', answer);
    const [example] = Object.values(examplesOf(responseTo(api, path, 'GET', 200).content));
    if (path === '/') expect(answer.body).toEqual(example);
  });

  test('404 as the document says', async () => {
    const { body } = await service.get('/nosuch');
    const promised = api.components.responses.NotFound?.content?.[JSON_BODY]?.examples?.not_found?.value as object;
    expect(body).toEqual({ ...promised, request_id: body.request_id });
  });
});

describe('settings that change statuses', () => {
  test('403 for a caller without the right, where that is configured, and 401 no more', async () => {
    const strict = await startTestService({ TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: '403' });
    const document = await readDocument(strict);
    const { body } = await strict.post('/v2/tokens', { name: 'reader', roles: ['reader'] });
    const answer = await strict.with(String(body.token)).get('/v2/tlds');
    const unknown = await strict.with('unknown').get('/v2/tlds');
    await strict.close();
    expect([answer.status, unknown.status]).toEqual([403, 401]);
    expectDocumented(document, '/v2/tlds', 'GET', answer);
    expectDocumented(document, '/v2/tlds', 'GET', unknown);
    expect(JSON.stringify(document)).not.toContain('access_denied');
    expect(JSON.stringify(api)).not.toContain('"forbidden"');
  });

  test('429 for a caller that asks too often', async () => {
    const limited = await startTestService({ TSIGIL_RATE_LIMIT_REQUESTS_PER_SECOND: '1', TSIGIL_RATE_LIMIT_BURST: '1' });
    const document = await readDocument(limited);
    const answers = [await limited.get('/v2/tlds'), await limited.get('/v2/tlds'), await limited.get('/v2/tlds')];
    await limited.close();
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toBeDefined();
    if (refused !== undefined) expectDocumented(document, '/v2/tlds', 'GET', refused);
  });
});
