import { expect } from 'vitest';
import { auditRecords } from '../harness/audit.ts';
import type { ApiResponse, Client } from '../harness/client.ts';

/** An accepted change, with the values that its record must contain. */
interface Done {
  readonly requestId: string;
  readonly actor: string;
  readonly action: string;
  readonly id: string;
  /** The values of `description` before and after the change. */
  readonly description: readonly [before: string | null, after: string | null];
}

/** Returns a generator of pseudo-random numbers that are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/**
 * Creates, changes and deletes TLD entries as three callers, on all processes. Also sends requests
 * that the service refuses. Returns the accepted changes.
 */
export async function runOperations(processes: readonly Client[], count: number): Promise<Done[]> {
  const [first] = processes;
  if (first === undefined) throw new Error('No process runs');
  const tokens = new Map<string, string>([['configured', first.token]]);
  for (const name of ['second', 'third']) {
    const { body } = await first.post('/v2/tokens', { name, roles: ['admin'] });
    tokens.set(body.id as string, body.token as string);
  }
  const done: Done[] = [];
  const work = async (actor: string, token: string, seed: number) => {
    const random = numbers(seed);
    const own: { id: string; description: string | null }[] = [];
    const note = (
      { headers }: ApiResponse,
      operation: string,
      id: string,
      description: Done['description'],
    ) => {
      const requestId = headers.get('x-openstack-request-id') ?? '';
      done.push({ requestId, actor, action: `tlds:${operation}`, id, description });
    };
    for (let step = 0; step < Math.ceil(count / 3); step += 1) {
      const client = (processes[random(processes.length)] ?? first).with(token);
      const chosen = own[random(own.length + 1)];
      const description = `step ${step}`;
      if (chosen === undefined) {
        const name = `t${seed}-${step}`;
        const created = await client.post('/v2/tlds', { name, description });
        expect(created.status).toBe(201);
        const id = created.body.id as string;
        note(created, 'create', id, [null, description]);
        own.push({ id, description });
        expect((await client.post('/v2/tlds', { name })).status).toBe(409);
      } else if (random(2) === 0) {
        const changed = await client.patch(`/v2/tlds/${chosen.id}`, { description });
        expect(changed.status).toBe(200);
        note(changed, 'update', chosen.id, [chosen.description, description]);
        chosen.description = description;
      } else {
        const deleted = await client.delete(`/v2/tlds/${chosen.id}`);
        expect(deleted.status).toBe(204);
        note(deleted, 'delete', chosen.id, [chosen.description, null]);
        own.splice(own.indexOf(chosen), 1);
      }
    }
  };
  await Promise.all([...tokens].map(([actor, token], index) => work(actor, token, index + 1)));
  return done;
}

/** Expects exactly one record of each accepted change, and no other record about TLD entries. */
export async function expectOneRecordEach(url: string, done: readonly Done[]): Promise<void> {
  const trail = (await auditRecords(url)).filter(
    ({ resource_type: type, outcome }) => type === 'tlds' && outcome === 'success',
  );
  const shown = trail.map((record) => ({
    requestId: record.request_id,
    actor: record.actor_id,
    action: record.action,
    id: record.resource_id,
    description: (record.detail.changes as Record<string, unknown>).description,
  }));
  const sorted = (list: readonly { requestId: string | null }[]) =>
    [...list].sort((one, other) => ((one.requestId ?? '') < (other.requestId ?? '') ? -1 : 1));
  expect(sorted(shown)).toEqual(sorted(done));
}
