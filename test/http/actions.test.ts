import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { boolean, enumeration, integer } from '../../src/core/field.ts';
import {
  described,
  object,
  optional,
  responseObject,
  sequence,
  unparsedList,
  withDefault,
} from '../../src/core/object.ts';
import { defineAction, type Action } from '../../src/resources/operations/action.ts';
import { ACTIONS, type AllDependencies } from '../../src/actions.ts';
import { tld } from '../../src/resources/tld.ts';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import {
  examplesOf,
  expectDocumented,
  expectDocumentedError,
  KNOWN_STRANGER,
  operationAt,
  readDocument,
  responseTo,
} from '../harness/description.ts';
import { expectError, problemsOf, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

/** An action that only this test adds to the service. */
const repeat = defineAction({
  path: '/v2/tlds/{id}/repeat',
  method: 'POST',
  right: 'tlds:list',
  operationId: 'repeat_tld',
  summary: 'Repeat numbers',
  description: 'Returns numbers that it was given.',
  type: tld,
  errors: ['duplicate'],
  parameters: {
    order: {
      ...enumeration(['up', 'down']),
      description: 'The order of the numbers.',
      example: 'up',
    },
  },
  body: {
    kind: object({
      numbers: described(unparsedList(integer(0).schema, 1, 3, 'numbers'), 'The numbers.'),
      loud: withDefault(boolean(), true),
      note: optional(integer(1, 9)),
    }),
    schemaName: 'Numbers',
    what: 'list of numbers',
    maxBytes: 200_000,
    examples: { two: { summary: 'Two numbers.', value: { numbers: [1, 2] } } },
  },
  response: {
    kind: responseObject({
      id: described(enumeration([UNKNOWN_ID]), 'The id.'),
      loud: boolean(),
      numbers: sequence(responseObject({ number: integer(0) })),
    }),
    schemaName: 'RepeatedNumbers',
    description: 'The numbers.',
    examples: {
      two: {
        summary: 'Two numbers.',
        value: { id: UNKNOWN_ID, loud: true, numbers: [{ number: 1 }, { number: 2 }] },
      },
    },
  },
  async run({ id, parameters, body }) {
    const numbers = body.numbers.map((number) => ({ number: Number(number) }));
    return {
      id,
      loud: body.loud,
      numbers: (parameters.order === 'up' ? numbers : numbers.reverse()).values(),
    };
  },
});
const PATH = `/v2/tlds/${UNKNOWN_ID}/repeat`;
const UP = `${PATH}?order=up`;

let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  (ACTIONS as Action<AllDependencies>[]).push(repeat);
  service = await startTestService(KNOWN_STRANGER);
  api = await readDocument(service);
});
afterAll(() => (ACTIONS as Action<AllDependencies>[]).pop());

describe('a new action', () => {
  test('200 for its example, with the documented response', async () => {
    const examples = examplesOf(operationAt(api, repeat.path, 'POST').requestBody?.content);
    const response = await service.post(UP, examples.two);
    expectDocumented(api, repeat.path, 'POST', response);
    expect([response.status, response.body]).toEqual([
      200,
      examplesOf(responseTo(api, repeat.path, 'POST', 200).content).two,
    ]);
  });

  test('200 with the given parameter and members, even for an id in upper case', async () => {
    const path = `/v2/tlds/${UNKNOWN_ID.toUpperCase()}/repeat?order=down&all_projects=false`;
    const { body } = await service.post(path, { loud: false, note: 3, numbers: [1, 2] });
    expect(body).toEqual({ id: UNKNOWN_ID, loud: false, numbers: [{ number: 2 }, { number: 1 }] });
  });

  test('400 with every problem of the body', async () => {
    const response = await service.post(UP, { note: 10, colour: 'red', loud: 'very' });
    expect(problemsOf(response)).toEqual([
      'loud: type',
      'note: type',
      'colour: additionalProperties',
      'numbers: required',
    ]);
    expect(response.body.message).toContain(
      "Invalid list of numbers: 'loud' must be true or false; ",
    );
    for (const numbers of [[], [1, 2, 3, 4]])
      expect(problemsOf(await service.post(UP, { numbers }))).toEqual(['numbers: items']);
    expect(problemsOf(await service.post(UP, { numbers: 7 }))).toEqual(['numbers: type']);
    expect(problemsOf(await service.post(UP, [1]))).toEqual([': type']);
  });

  test.each([
    ['', 'order must be one of up, down'],
    ['?order=left', 'order must be one of up, down'],
    ['?order=up&order=up', "'order' is repeated. Give it once"],
    ['?order=up&colour=red', "Unknown parameter 'colour'. Use one of: order"],
  ])('400 for the query %j', async (query, message) => {
    expect(
      expectError(await service.post(PATH + query, { numbers: [1] }), 400, 'bad_request'),
    ).toBe(message);
  });

  test('400 for an invalid id, and 413 for a body above the limit of the action', async () => {
    expectError(
      await service.post('/v2/tlds/x/repeat?order=up', { numbers: [1] }),
      400,
      'invalid_uuid',
    );
    expect((await service.post(UP, JSON.stringify({ numbers: [1] }).padEnd(200_000))).status).toBe(
      200,
    );
    expectError(
      await service.post(UP, JSON.stringify({ numbers: [1] }).padEnd(200_001)),
      413,
      'request_too_large',
    );
  });
});

describe.each([...ACTIONS, repeat])('$method $path', (action) => {
  const { path, method, body, right } = action;
  const query = Object.entries(action.parameters ?? {}).map(
    ([name, { example }]) => `${name}=${example}`,
  );
  const url = `${path.replace('{id}', UNKNOWN_ID)}?${query.join('&')}`;

  test('4xx responses are as documented', async () => {
    const powerless = await clientFor(service, ['stranger']);
    expectDocumentedError(
      api,
      path,
      method,
      await service.with('unknown').call(method, url, body && {}),
      'unauthorized',
    );
    const denied = await powerless.call(method, url, body && {});
    if (right === undefined) expect(denied.status).toBe(path.includes('{id}') ? 404 : 200);
    else {
      expectDocumentedError(api, path, method, denied, 'access_denied');
      expect(denied.body.message).toContain(right);
    }
    const hasPut = ACTIONS.some((each) => each.path === path && each.method === 'PUT');
    const other = await service.call(hasPut ? 'PATCH' : 'PUT', url);
    expectDocumentedError(api, path, method, other, 'method_not_allowed');
    if (path.includes('{id}'))
      expectDocumentedError(
        api,
        path,
        method,
        await service.call(method, url.replace(UNKNOWN_ID, 'example'), body && {}),
        'invalid_uuid',
      );
    if (body === undefined) return;
    for (const [type, text, mediaType] of [
      ['invalid_object', '{"unknown": 1}', 'application/json'],
      ['empty_request_body', '', 'application/json'],
      ['invalid_json', '{"a":', 'application/json'],
      ['unsupported_content_type', '{}', 'text/plain'],
    ] as const) {
      expectDocumentedError(
        api,
        path,
        method,
        await service.call(method, url, text, { 'content-type': mediaType }),
        type,
      );
    }
  });

  test('the documented examples are valid', () => {
    const bodies = Object.values(body?.examples ?? {}).map(({ value }) => body?.kind.parse(value));
    const responses =
      'response' in action
        ? Object.values(action.response.examples).map(({ value }) =>
            action.response.kind.parse(value),
          )
        : [];
    expect(
      [...bodies, ...responses].filter((parsed) => parsed === undefined || 'problem' in parsed),
    ).toEqual([]);
  });
});
