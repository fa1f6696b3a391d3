import { join } from 'node:path';
import { rmSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';

const ROUNDS = 20;
const WORKERS = 24;
const STORM_MILLISECONDS = 120;

/** What a caller may rely on about one resource: the states it can be in, of which an acknowledged write leaves exactly one. */
interface Expected {
  readonly collection: string;
  /** The resource's own members as JSON, or undefined for a resource that does not exist. */
  possible: (string | undefined)[];
}

/** What the callers of all rounds know, by id; and, by name, creations that nobody heard of again. */
interface Ledger {
  readonly resources: Map<string, Expected>;
  readonly unanswered: Map<string, string>;
}

const RESOURCE_ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const COLLECTIONS = {
  tlds: (name: string) => ({ name, description: `made by ${name}` }),
  tsigkeys: (name: string) => ({ name, algorithm: 'hmac-sha256', secret: `s-${name}`, scope: 'POOL', resource_id: RESOURCE_ID }),
} as const;
type Collection = keyof typeof COLLECTIONS;

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A resource's members without its links, which change with the port. */
function essence(resource: Record<string, unknown>): string {
  return JSON.stringify({ ...resource, links: undefined });
}

/** The members that a caller sent or was told, without those that only the answer to an unanswered request would have told. */
function withoutUpdatedAt(json: string): string {
  return JSON.stringify({ ...(JSON.parse(json) as object), updated_at: undefined });
}

/** The answer, or undefined when the service died before it came. */
async function ask(client: Client, method: string, path: string, body?: object) {
  try {
    return await client.call(method, path, body);
  } catch {
    return undefined;
  }
}

/** Creates, changes and deletes resources of its own until the service dies; counts what was acknowledged. */
async function storm(client: Client, worker: number, round: number, ledger: Ledger): Promise<number> {
  let acknowledged = 0;
  for (let step = 0; ; step += 1) {
    const collection: Collection = (worker + step) % 2 === 0 ? 'tlds' : 'tsigkeys';
    const name = `r${round}-w${worker}-s${step}`;
    ledger.unanswered.set(name, collection);
    const created = await ask(client, 'POST', `/v2/${collection}`, COLLECTIONS[collection](name));
    if (created === undefined) return acknowledged;
    expect(created.status).toBe(201);
    ledger.unanswered.delete(name);
    const id = created.body.id as string;
    const before = essence(created.body);
    const entry: Expected = { collection, possible: [before] };
    ledger.resources.set(id, entry);
    acknowledged += 1;
    if (step % 3 === 0) continue;

    const changes = { name: `${name}-renamed` };
    const after = JSON.stringify({ ...(JSON.parse(before) as object), ...changes });
    entry.possible = [before, after];
    const updated = await ask(client, 'PATCH', `/v2/${collection}/${id}`, changes);
    if (updated === undefined) return acknowledged;
    expect(updated.status).toBe(200);
    entry.possible = [essence(updated.body)];
    acknowledged += 1;
    if (step % 3 === 1) continue;

    entry.possible = [essence(updated.body), undefined];
    const deleted = await ask(client, 'DELETE', `/v2/${collection}/${id}`);
    if (deleted === undefined) return acknowledged;
    expect(deleted.status).toBe(204);
    entry.possible = [undefined];
    acknowledged += 1;
  }
}

async function readAll(client: Client): Promise<Map<string, { collection: string; resource: Record<string, unknown> }>> {
  const all = new Map<string, { collection: string; resource: Record<string, unknown> }>();
  for (const collection of Object.keys(COLLECTIONS)) {
    let path: string | undefined = `/v2/${collection}`;
    while (path !== undefined) {
      const page: { status: number; body: Record<string, never> } = await client.get(path);
      expect(page.status).toBe(200);
      for (const resource of page.body[collection] as unknown as Record<string, unknown>[]) all.set(resource.id as string, { collection, resource });
      const { next } = page.body.links as unknown as { next?: string };
      path = next === undefined ? undefined : new URL(next).pathname + new URL(next).search;
    }
  }
  return all;
}

/** Compares the database with what callers know, and afterwards knows what is there. */
async function verify(client: Client, ledger: Ledger): Promise<void> {
  const found = await readAll(client);
  for (const [id, entry] of ledger.resources) {
    const there = found.get(id);
    const actual = there === undefined ? undefined : essence(there.resource);
    // One possible state: acknowledged, and exact. Two: the one before or the one after, whole.
    if (entry.possible.length === 1) expect({ id, state: actual }).toEqual({ id, state: entry.possible[0] });
    else expect(entry.possible.map((state) => state && withoutUpdatedAt(state))).toContain(actual && withoutUpdatedAt(actual));
    entry.possible = [actual];
  }
  for (const [id, { collection, resource }] of found) {
    if (ledger.resources.has(id)) continue;
    const name = resource.name as string;
    expect(ledger.unanswered.get(name), `${name}: nobody asked for it`).toBe(collection);
    expect(resource).toMatchObject({ ...COLLECTIONS[collection as Collection](name), updated_at: null });
    ledger.resources.set(id, { collection, possible: [essence(resource)] });
  }
  ledger.unanswered.clear();
}

/** Beside the running service, so that it is the service which recovers the database. */
function checkIntegrity(): unknown {
  const database = new DatabaseSync(join(folder, 'var/tsigil.db'), { readOnly: true });
  try {
    return database.prepare('PRAGMA integrity_check').get();
  } finally {
    database.close();
  }
}

test(`kill -9 in the middle of concurrent writes, ${ROUNDS} times: acknowledged writes stay, others are whole or absent`, async () => {
  const ledger: Ledger = { resources: new Map(), unanswered: new Map() };
  let acknowledged = 0;
  let inDoubt = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const service = await startServiceProcess(folder);
    await verify(service, ledger);
    expect(checkIntegrity()).toEqual({ integrity_check: 'ok' });
    const workers = Array.from({ length: WORKERS }, (_, worker) => storm(service, worker, round, ledger));
    setTimeout(() => service.process.kill('SIGKILL'), STORM_MILLISECONDS + round * 7);
    for (const count of await Promise.all(workers)) acknowledged += count;
    inDoubt += ledger.unanswered.size + [...ledger.resources.values()].filter(({ possible }) => possible.length > 1).length;
    expect(await service.stop('SIGKILL')).toBeNull();
  }
  const service = await startServiceProcess(folder);
  await verify(service, ledger);
  expect(checkIntegrity()).toEqual({ integrity_check: 'ok' });
  expect(await service.stop('SIGTERM')).toBe(0);
  // The storms were storms: writes were acknowledged, and every kill caught some under way.
  expect(acknowledged).toBeGreaterThan(ROUNDS * WORKERS);
  expect(inDoubt).toBeGreaterThan(ROUNDS);
}, 90_000);
