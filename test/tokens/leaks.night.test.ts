import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/resources/resources.ts';
import type { ApiResponse } from '../harness/client.ts';
import { SECRET } from '../harness/samples.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

const random = (bytes: number) => randomBytes(bytes).toString('base64url');

const HEADERS = [
  'x-auth-sudo-project-id',
  'x-auth-sudo-tenant-id',
  'x-auth-all-projects',
  'x-designate-edit-managed-records',
  'x-designate-hard-delete',
  'openstack-dns-hide-counts',
  'x-openstack-request-id',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-subject-token',
  'x-project-id',
  'user-agent',
  'accept',
  'content-type',
  'cookie',
  'origin',
  'referer',
];
const PARAMETERS = [
  'limit',
  'marker',
  'sort_key',
  'sort_dir',
  'all_projects',
  'all_tenants',
  'edit_managed_records',
  'format',
  'unknown',
];

const folder = temporaryFolder();
let service: ServiceProcess;
let metrics: string;
const errors: ApiResponse[] = [];
/** A valid token of the service, and tokens in the forms that Keystone issues. */
const tokens: string[] = [
  `gAAAAABl${random(100)}==`,
  `eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.${random(60)}.${random(64)}`,
];

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<void> {
  const response = await service.call(method, path, body, headers);
  if (response.status >= 400) errors.push(response);
}

/** Returns bodies that contain a token in the names and values of their members. */
function bodiesWith(token: string, fields: readonly string[]): unknown[] {
  const byName = [
    { [token]: 1 },
    { [`${'x'.repeat(40)}${token}`]: 1 },
    { name: 'com', attributes: { [token]: token } },
  ];
  const byValue = fields.flatMap((field) => [
    { [field]: token },
    { [field]: [token] },
    { [field]: { [token]: token } },
  ]);
  const whole = {
    name: 'example.org.',
    email: token,
    algorithm: token,
    scope: token,
    resource_id: token,
    secret: SECRET,
    roles: [token],
    project_id: token,
  };
  return [...byName, ...byValue, whole, token, [token]];
}

beforeAll(async () => {
  service = await startServiceProcess(folder, {
    TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
    TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND: '0',
  });
  const made = await service.post('/v2/tokens', {
    name: 'leaked',
    roles: ['admin'],
    project_id: 'p',
  });
  tokens.push(made.body.token as string);
  const id = randomUUID();
  for (const token of tokens) {
    const quoted = encodeURIComponent(token);
    for (const header of HEADERS) {
      await send('GET', '/v2/zones', undefined, { [header]: token });
      await send('POST', '/v2/tlds', { name: `a${randomUUID()}` }, { [header]: token });
    }
    for (const { collection, fields, filters } of RESOURCE_TYPES) {
      const path = `/v2/${collection}`;
      for (const name of [...PARAMETERS, ...Object.keys(filters), quoted])
        await send('GET', `${path}?${name}=${quoted}`);
      for (const method of ['GET', 'PATCH', 'DELETE', 'PUT'])
        await send(method, `${path}/${quoted}`);
      for (const further of ['export', 'bulk', 'check', quoted])
        await send('GET', `${path}/${id}/${further}?format=${quoted}`);
      for (const body of bodiesWith(token, Object.keys(fields))) {
        for (const target of [path, `${path}/bulk`, `${path}/check`])
          await send('POST', target, body);
        await send('PATCH', `${path}/${id}`, body);
      }
      await send('POST', path, `{"${token}": `);
    }
    for (const path of [`/${quoted}`, `/v2/${quoted}`, `/v2/tlds/${id}#${token}`])
      await send('GET', path);
    await service.with(token).get('/v2/zones', { 'x-auth-sudo-project-id': token });
  }
  metrics = (await service.get('/metrics')).text;
  expect(await service.stop('SIGTERM')).toBe(0);
}, 300_000);

/** Returns the texts that contain a token, or a part of a token that an attacker could use. */
function leaking(texts: readonly string[]): string[] {
  return texts.filter((text) =>
    tokens.some((token) => text.includes(token.slice(-30)) || text.includes(token.slice(0, 32))),
  );
}

test('no error quotes a token from any header, parameter, path or member', () => {
  expect(errors.length).toBeGreaterThan(500);
  expect(leaking(errors.map(({ status, text }) => `${status} ${text}`))).toEqual([]);
});

test('no log line contains a token', () => {
  const lines = service.output().split('\n');
  expect(lines.length).toBeGreaterThan(500);
  expect(leaking(lines)).toEqual([]);
});

test('the metrics contain no token', () => {
  expect(leaking(metrics.split('\n'))).toEqual([]);
});

test('400 for a token as a project id, because other callers could read the token', () => {
  const own = tokens.at(-1) ?? '';
  expect(own).toMatch(/^tsigil_/);
  expect(errors.some(({ text }) => text.includes('X-Auth-Sudo-Project-ID'))).toBe(true);
  expect(
    errors.some(({ text }) =>
      text.includes("'project_id' must be the id of a project, not a token"),
    ),
  ).toBe(true);
});
