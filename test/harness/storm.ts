import { expect } from 'vitest';
import type { Client } from './client.ts';

/**
 * The possible states of one resource. After an acknowledged write, exactly one state is possible.
 */
export interface Expected {
  readonly collection: string;
  /**
   * Each state is the resource's members as JSON, or undefined for a resource that does not exist.
   */
  possible: (string | undefined)[];
}

/** A ledger of all writes: resources by id, and creations without a response by name. */
export interface Ledger {
  readonly resources: Map<string, Expected>;
  readonly withoutResponse: Map<string, string>;
}

const RESOURCE_ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
/** How a storm writes each type of resources. */
const WRITERS = {
  tlds: {
    body: (name: string) => ({ name, description: `made by ${name}` }),
    change: (name: string): object => ({ name: `${name}-renamed` }),
    computed: {},
    deleted: 204,
  },
  tsigkeys: {
    body: (name: string) => ({
      name,
      algorithm: 'hmac-sha256',
      secret: Buffer.from(`s-${name}`).toString('base64'),
      scope: 'POOL',
      resource_id: RESOURCE_ID,
    }),
    change: (name: string): object => ({ name: `${name}-renamed` }),
    computed: {},
    deleted: 204,
  },
  zones: {
    body: (name: string) => ({ name, email: 'hostmaster@example.org', attributes: { of: name } }),
    change: (): object => ({ description: 'changed' }),
    computed: { version: 2 },
    deleted: 202,
  },
} as const;
type Collection = keyof typeof WRITERS;
const COLLECTIONS = Object.keys(WRITERS) as Collection[];

/** Returns a resource's members without its links, because links change with the port. */
function comparable(resource: Record<string, unknown>): string {
  return JSON.stringify({ ...resource, links: undefined });
}

/** Returns the members without `updated_at`, because a caller knows it only from a response. */
function withoutUpdatedAt(json: string): string {
  return JSON.stringify({ ...(JSON.parse(json) as object), updated_at: undefined });
}

/**
 * Returns the response. Returns undefined if no response arrived, or if the service could not
 * determine whether it applied the request.
 */
async function send(client: Client, method: string, path: string, body?: object) {
  try {
    const response = await client.call(method, path, body);
    return response.status === 503 ? undefined : response;
  } catch {
    return undefined;
  }
}

/**
 * Creates, changes and deletes resources whose names begin with `prefix`, one resource after
 * another. `next` returns the client for a resource, or undefined to stop. Its argument is whether
 * all requests for the previous resource got a response. Returns the number of acknowledged writes.
 * Throws if a response is wrong.
 */
export async function storm(
  next: (answered: boolean) => Client | undefined,
  prefix: string,
  ledger: Ledger,
): Promise<number> {
  let acknowledged = 0;
  let answered = true;
  for (let step = 0; ; step += 1) {
    const client = next(answered);
    if (client === undefined) return acknowledged;
    const collection = COLLECTIONS[step % COLLECTIONS.length] ?? 'tlds';
    const length = Math.floor(step / COLLECTIONS.length) % 3;
    const name = `${prefix}-s${step}`;
    // The first entry stays, and permits zones below it.
    const own = collection === 'zones' ? `${name}.${prefix}-s0.` : name;
    const done = await live(client, collection, own, length, ledger);
    acknowledged += done.acknowledged;
    answered = done.answered;
    if (step === 0 && !answered) return acknowledged;
  }
}

/**
 * Creates one resource, changes it if `length` is above 0, and deletes it if `length` is above 1.
 */
async function live(
  client: Client,
  collection: Collection,
  name: string,
  length: number,
  ledger: Ledger,
) {
  const writer = WRITERS[collection];
  ledger.withoutResponse.set(name, collection);
  const created = await send(client, 'POST', `/v2/${collection}`, writer.body(name));
  if (created === undefined) return { acknowledged: 0, answered: false };
  expect(created.status, created.text).toBe(201);
  ledger.withoutResponse.delete(name);
  const id = created.body.id as string;
  const before = comparable(created.body);
  const entry: Expected = { collection, possible: [before] };
  ledger.resources.set(id, entry);
  if (length === 0) return { acknowledged: 1, answered: true };

  const changes = writer.change(name);
  const after = JSON.stringify({
    ...(JSON.parse(before) as object),
    ...changes,
    ...writer.computed,
  });
  entry.possible = [before, after];
  const updated = await send(client, 'PATCH', `/v2/${collection}/${id}`, changes);
  if (updated === undefined) return { acknowledged: 1, answered: false };
  expect(updated.status, updated.text).toBe(200);
  entry.possible = [comparable(updated.body)];
  if (length === 1) return { acknowledged: 2, answered: true };

  entry.possible = [comparable(updated.body), undefined];
  const deleted = await send(client, 'DELETE', `/v2/${collection}/${id}`);
  if (deleted === undefined) return { acknowledged: 2, answered: false };
  expect(deleted.status, deleted.text).toBe(writer.deleted);
  entry.possible = [undefined];
  return { acknowledged: 3, answered: true };
}

async function readAll(
  client: Client,
): Promise<Map<string, { collection: string; resource: Record<string, unknown> }>> {
  const all = new Map<string, { collection: string; resource: Record<string, unknown> }>();
  for (const collection of COLLECTIONS) {
    let path: string | undefined = `/v2/${collection}`;
    while (path !== undefined) {
      const page: { status: number; body: Record<string, never> } = await client.get(path);
      expect(page.status).toBe(200);
      for (const resource of page.body[collection] as unknown as Record<string, unknown>[])
        all.set(resource.id as string, { collection, resource });
      const { next } = page.body.links as unknown as { next?: string };
      path = next === undefined ? undefined : new URL(next).pathname + new URL(next).search;
    }
  }
  return all;
}

/**
 * Compares the database with the ledger, and then sets the ledger to the content of the database.
 */
export async function verify(client: Client, ledger: Ledger): Promise<void> {
  const found = await readAll(client);
  for (const [id, entry] of ledger.resources) {
    const there = found.get(id);
    const actual = there === undefined ? undefined : comparable(there.resource);
    // With one possible state, the write was acknowledged and the row must match exactly. With two
    // states, the row must be in the state before or after the write.
    if (entry.possible.length === 1)
      expect({ id, state: actual }).toEqual({ id, state: entry.possible[0] });
    else
      expect(entry.possible.map((state) => state && withoutUpdatedAt(state))).toContain(
        actual && withoutUpdatedAt(actual),
      );
    entry.possible = [actual];
  }
  for (const [id, { collection, resource }] of found) {
    if (ledger.resources.has(id)) continue;
    const name = resource.name as string;
    expect(ledger.withoutResponse.get(name), `${name}: was never requested`).toBe(collection);
    expect(resource).toMatchObject({
      ...WRITERS[collection as Collection].body(name),
      updated_at: null,
    });
    ledger.resources.set(id, { collection, possible: [comparable(resource)] });
  }
  ledger.withoutResponse.clear();
}

/** Returns an empty ledger. */
export function emptyLedger(): Ledger {
  return { resources: new Map(), withoutResponse: new Map() };
}

/** Returns the number of resources with more than one possible state. */
export function countInDoubt(ledger: Ledger): number {
  return (
    ledger.withoutResponse.size +
    [...ledger.resources.values()].filter(({ possible }) => possible.length > 1).length
  );
}
