import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import { DOCUMENTED_METHODS, readDocument, resolve } from '../harness/description.ts';
import { readConfig } from '../../src/config/config.ts';
import { createServer } from '../../src/http/server.ts';
import { GUIDES_URL } from '../../src/version.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { createStore } from '../../src/database/store.ts';
import { serverDependenciesOn } from '../harness/dependencies.ts';
import {
  serverSettingsOn,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';

const UNKNOWN_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';

let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  service = await startTestService();
  api = await readDocument(service);
});

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(
      structuredClone(api) as unknown as Record<string, unknown>,
    );
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(api.openapi).toMatch(/^3\.1\./);
  });

  test('refers only to components in the document, and contains no unused components', () => {
    const references = new Set(
      [...JSON.stringify(api).matchAll(/"\$ref":"([^"]+)"/g)].map(
        ([, reference]) => reference ?? '',
      ),
    );
    for (const $ref of references) expect(resolve(api, { $ref })).toBeTypeOf('object');
    const { schemas, parameters, headers, responses } = api.components;
    const kept = Object.entries({ schemas, parameters, headers, responses }).flatMap(
      ([kind, things]) => Object.keys(things).map((name) => `#/components/${kind}/${name}`),
    );
    expect(kept.filter((name) => !references.has(name))).toEqual([]);
  });

  test('has a unique id for each operation', () => {
    const ids = Object.values(api.paths).flatMap((item) =>
      DOCUMENTED_METHODS.flatMap((method) => item[method]?.operationId ?? []),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is the same for all settings but the URL of the service', async () => {
    const other = await startTestService({
      TSIGIL_PUBLIC_URL: 'https://dns.example/a&b/',
      TSIGIL_API_DEFAULT_LIMIT: '7',
      TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: '403',
      TSIGIL_COMPATIBILITY: 'designate',
    });
    const document = await readDocument(other);
    await other.close();
    expect(document).toEqual({ ...api, servers: [{ url: 'https://dns.example/a&b' }] });
  });
});

describe('/docs', () => {
  test('200 without a token, with links to the description, the console and the guides, and no script', async () => {
    const { status, headers, text } = await service.with('').get('/docs');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=UTF-8');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; /);
    expect([...text.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)).toEqual([
      'openapi.json',
      'console/',
      GUIDES_URL,
    ]);
    expect(text).not.toContain('<script');
  });
});

describe('the routes', () => {
  test('are exactly the paths in the OpenAPI document', async () => {
    expect(await servedPaths()).toEqual(Object.keys(api.paths).sort());
  });

  test('200 for OPTIONS, with exactly the documented methods in Allow', async () => {
    for (const [path, item] of Object.entries(api.paths)) {
      const documented = DOCUMENTED_METHODS.filter((method) => item[method] !== undefined).map(
        (method) => method.toUpperCase(),
      );
      const response = await service.call('OPTIONS', path.replace('{id}', UNKNOWN_ID));
      const implied = documented.includes('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS'];
      expect(response.status).toBe(200);
      expect(response.headers.get('allow')?.split(', ').sort(), path).toEqual(
        [...documented, ...implied].sort(),
      );
    }
  });
});

/**
 * Returns the sorted paths in the router of a server, in the syntax of OpenAPI. Parses the tree
 * that the router prints.
 */
async function servedPaths(): Promise<string[]> {
  const folder = temporaryFolder();
  const store = createStore(
    await openSqlite(join(folder, 'tsigil.db'), { committed: () => undefined }),
  );
  const { app } = createServer({
    ...serverSettingsOn(readConfig(undefined, {}), serverDependenciesOn(store)),
    authenticate: async () => undefined,
    known: () => undefined,
    noteUse: () => undefined,
    errors: {
      insufficientRightsStatus: 401,
      challenges: [{ unknownCaller: 'Bearer', missingRight: 'Bearer' }],
    },
  });
  await app.ready();
  const paths = new Set<string>();
  const above: string[] = [];
  for (const [, indent = '', segment = '', methods = ''] of app
    .printRoutes({ commonPrefix: false })
    .matchAll(/^([ │]*)[├└]── (\S+)(?: \((.+)\))?$/gm)) {
    const depth = indent.length / 4;
    above[depth] = (above[depth - 1] ?? '') + segment;
    if (methods !== '') paths.add(above[depth].replaceAll(/:(\w+)/g, '{$1}'));
  }
  await app.close();
  await store.close();
  return [...paths].sort();
}
