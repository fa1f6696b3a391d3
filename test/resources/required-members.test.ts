import { beforeAll, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/resources/resources.ts';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import {
  DOCUMENTED_METHODS,
  exampleBody,
  examplesOf,
  missesRequired,
  readDocument,
} from '../harness/description.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  service = await startTestService();
  api = await readDocument(service);
});

/** Returns `value` without a member, for each member of an object in it. */
function* omissions(value: unknown): Generator {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value))
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== key));
    for (const lesser of omissions(member))
      yield Array.isArray(value)
        ? value.map((each, index) => (index === Number(key) ? lesser : each))
        : { ...value, [key]: lesser };
  }
}

test(
  '400 for a missing member exactly where the OpenAPI document requires it',
  { timeout: 300_000 },
  async () => {
    let compared = 0;
    const differences: string[] = [];
    for (const [path, item] of Object.entries(api.paths))
      for (const method of DOCUMENTED_METHODS) {
        const content = item[method]?.requestBody?.content;
        const schema = content?.['application/json']?.schema;
        if (schema === undefined) continue;
        const type = RESOURCE_TYPES.find(({ collection }) => path.split('/')[2] === collection);
        const examples = Object.values(examplesOf(content));
        if (examples.length === 0 && type !== undefined)
          examples.push(exampleBody(type, method.toUpperCase()));
        expect(examples, path).not.toEqual([]);
        for (const example of examples) {
          const once = [...omissions(example)];
          for (const body of [
            example,
            {},
            ...once,
            ...once.flatMap((each) => [...omissions(each)]),
          ]) {
            const url = path.replace('{id}', 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94');
            const response = await service.call(method.toUpperCase(), url, body);
            const demands = (response.body?.errors?.errors ?? []).some(
              ({ validator }: { validator?: string }) => validator === 'required',
            );
            const misses = missesRequired(api, schema, body);
            compared += 1;
            if (misses ? response.status !== 400 : demands)
              differences.push(`${method} ${path} ${JSON.stringify(body)}: ${response.text}`);
          }
        }
      }
    expect(differences).toEqual([]);
    expect(compared).toBeGreaterThan(500);
  },
);
