import { expect } from 'vitest';
import { comparisonForm, treeForm } from '../../src/core/text/dns-name.ts';
import type { ApiResponse, Client } from './client.ts';

/** The members of a zone, in the order of a response. */
export const ZONE_MEMBERS = [
  'id',
  'pool_id',
  'project_id',
  'name',
  'email',
  'description',
  'ttl',
  'serial',
  'shared',
  'status',
  'action',
  'version',
  'attributes',
  'type',
  'masters',
  'transferred_at',
  'created_at',
  'updated_at',
  'links',
];

/** A zone, as the API returns it. */
export interface Zone extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name: string;
  readonly serial: number;
  readonly version: number;
}

/** Returns a body that creates a PRIMARY zone. */
export function primary(
  name: string,
  members: Record<string, unknown> = {},
): Record<string, unknown> {
  return { name, email: 'hostmaster@example.org', ...members };
}

/** Returns a body that creates a SECONDARY zone. */
export function secondary(
  name: string,
  members: Record<string, unknown> = {},
): Record<string, unknown> {
  return { name, type: 'SECONDARY', masters: ['192.0.2.1'], ...members };
}

/** Creates a zone and returns it. Fails the test if the service refuses to create it. */
export async function createZone(client: Client, body: Record<string, unknown>): Promise<Zone> {
  const response = await client.post('/v2/zones', body);
  expect(response.status, response.text).toBe(201);
  return response.body as Zone;
}

/** Returns the zones of a list response. */
export function zonesOf(response: ApiResponse): Zone[] {
  expect(response.status, response.text).toBe(200);
  return (response.body as { zones: Zone[] }).zones;
}

/** Returns the names of the zones in a list response, in the same order. */
export function zoneNamesOf(response: ApiResponse): string[] {
  return zonesOf(response).map(({ name }) => name);
}

let tokens = 0;

/** Creates a token with these roles in this project, and returns a client with it. */
export async function clientFor(
  admin: Client,
  roles: string[],
  projectId: string | null = null,
): Promise<Client> {
  const response = await admin.post('/v2/tokens', {
    name: `token-${(tokens += 1)}`,
    roles,
    project_id: projectId,
  });
  expect(response.status, response.text).toBe(201);
  return admin.with((response.body as { token: string }).token);
}

/** Creates TLD entries and returns their ids by name. */
export async function createTlds(client: Client, ...names: string[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const name of names) {
    const response = await client.post('/v2/tlds', { name });
    expect(response.status, response.text).toBe(201);
    ids.set(name, (response.body as { id: string }).id);
  }
  return ids;
}

/** Checks zone names with the API. Returns the rule that rejects each name, or `ok`. */
export async function checkNames(client: Client, names: readonly string[]): Promise<string[]> {
  const response = await client.post('/v2/tlds/check', { names });
  expect(response.status, response.text).toBe(200);
  const checks = response.body.checks as {
    name: string;
    allowed: boolean;
    rule: string | null;
    message: string | null;
  }[];
  expect(checks.map(({ name }) => name)).toEqual(names);
  for (const check of checks) {
    expect(Object.keys(check)).toEqual(['name', 'allowed', 'rule', 'message']);
    expect([check.rule === null, check.message === null]).toEqual([check.allowed, check.allowed]);
  }
  return checks.map(({ rule }) => rule ?? 'ok');
}

/** Removes all TLD entries and all zones, subzones first. */
export async function removeAll(admin: Client): Promise<void> {
  const all = { 'x-auth-all-projects': 'True' };
  const tlds = (await admin.get('/v2/tlds')).body.tlds as { id: string }[];
  await Promise.all(tlds.map(({ id }) => admin.delete(`/v2/tlds/${id}`)));
  const zones = zonesOf(await admin.get('/v2/zones', all));
  const depthOf = ({ name }: Zone) => name.split('.').length;
  for (const depth of [...new Set(zones.map(depthOf))].sort((one, other) => other - one)) {
    const removals = zones
      .filter((zone) => depthOf(zone) === depth)
      .map(({ id }) => admin.delete(`/v2/zones/${id}`, all));
    for (const { status } of await Promise.all(removals)) expect(status).toBe(202);
  }
}

/** A placeholder for the six-digit number of a zone. */
const NUMBER = 'nnnnnn';

/** Returns the columns of a zone, with their values as SQL expressions. */
const columnsOf = (name: string, project: string) => ({
  id: text(`00000000-0000-4000-8000-000000${NUMBER}`),
  pool_id: text('794ccc2c-d751-44fe-b57f-8894c9f5c842'),
  project_id: text(project),
  name: text(name),
  name_key: text(comparisonForm(name)),
  tree_key: text(treeForm(comparisonForm(name))),
  email: text('hostmaster@example.org'),
  description: text('a'.repeat(100)),
  ttl: '3600',
  serial: '1 + n',
  shared: '0',
  version: '1',
  status: text('ACTIVE'),
  action: text('NONE'),
  attributes: text('{}'),
  type: text('PRIMARY'),
  masters: text('[]'),
  created_at: text(`2026-01-01T00:00:00.${NUMBER}`),
});

/**
 * Returns SQL that creates `count` zones, for SQLite and PostgreSQL. `nnnnnn` in `name` becomes the
 * number of the zone, from 100000.
 */
export function zonesBySql(count: number, name: string, project: string): string {
  const columns = columnsOf(name, project);
  return `
  WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count - 1})
  INSERT INTO zones (${Object.keys(columns).join(', ')}) SELECT ${Object.values(columns).join(', ')} FROM numbers`;
}

function text(value: string): string {
  return `'${value.replaceAll(NUMBER, "' || CAST(100000 + n AS TEXT) || '")}'`;
}
