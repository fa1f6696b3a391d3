import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ApiResponse, Client } from '../harness/client.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { queryByAnotherProgram } from '../harness/sqlite-programs.ts';
import { createTlds, primary, ZONE_MEMBERS, zonesOf, type Zone } from '../harness/zones.ts';

const ROUNDS = 6;
const WORKERS = 16;

/**
 * The last acknowledged state of a zone, and the kind of a later request that has no response yet.
 */
interface Knowledge {
  acknowledged: Zone | 'absent';
  pending?: 'creation' | 'change' | 'deletion' | undefined;
}

const folder = temporaryFolder();

/**
 * Creates, changes and deletes zones with distinct names until the service is killed. Calls
 * `onAcknowledged` for each acknowledged write. Returns the number of acknowledged writes.
 */
async function storm(
  client: Client,
  prefix: string,
  known: Map<string, Knowledge>,
  onAcknowledged: () => void,
): Promise<number> {
  for (let acknowledged = 0, index = 0; ; index += 1) {
    const name = `${prefix}-${index}.storm.`;
    const knowledge: Knowledge = { acknowledged: 'absent' };
    known.set(name, knowledge);
    const write = async (
      pending: NonNullable<Knowledge['pending']>,
      send: () => Promise<ApiResponse>,
    ): Promise<boolean> => {
      knowledge.pending = pending;
      const response = await send().catch(() => undefined);
      if (response === undefined) return false;
      expect(response.status, response.text).toBe(
        { creation: 201, change: 200, deletion: 202 }[pending],
      );
      knowledge.acknowledged = pending === 'deletion' ? 'absent' : withoutLinks(response.body);
      knowledge.pending = undefined;
      acknowledged += 1;
      onAcknowledged();
      return true;
    };
    const path = () => `/v2/zones/${(knowledge.acknowledged as Zone).id}`;
    if (
      !(await write('creation', () =>
        client.post('/v2/zones', primary(name, { attributes: { of: prefix } })),
      ))
    )
      return acknowledged;
    if (
      index % 3 > 0 &&
      !(await write('change', () => client.patch(path(), { description: 'changed' })))
    )
      return acknowledged;
    if (index % 3 > 1 && !(await write('deletion', () => client.delete(path()))))
      return acknowledged;
  }
}

/** Returns a zone without its links, which depend on the port. */
function withoutLinks(zone: Zone): Zone {
  return { ...zone, links: undefined };
}

async function readAll(client: Client): Promise<Map<string, Zone>> {
  const all = new Map<string, Zone>();
  let path: string | undefined = '/v2/zones';
  while (path !== undefined) {
    const response = await client.get(path);
    for (const zone of zonesOf(response)) {
      expect(Object.keys(zone)).toEqual(ZONE_MEMBERS);
      all.set(zone.name, withoutLinks(zone));
    }
    expect(response.body.metadata.total_count).toBeGreaterThanOrEqual(all.size);
    path = response.body.links.next?.slice(client.url.length);
  }
  return all;
}

/**
 * Expects each stored zone to have exactly the acknowledged state or the state after the request
 * without a response. Then sets the expected state to the stored state.
 */
function verify(found: Map<string, Zone>, known: Map<string, Knowledge>): void {
  for (const [name, knowledge] of known) {
    const { acknowledged, pending } = knowledge;
    const there = found.get(name) ?? 'absent';
    if (pending === 'creation' && there !== 'absent') {
      expect(there).toMatchObject({
        ...primary(name),
        version: 1,
        status: 'ACTIVE',
        updated_at: null,
        description: null,
      });
    } else if (pending === 'change' && there !== 'absent' && there.version === 2) {
      expect({ ...there, updated_at: null }).toEqual({
        ...(acknowledged as Zone),
        description: 'changed',
        version: 2,
      });
      expect(there.updated_at).toMatch(/^\d{4}-/);
    } else if (pending !== 'deletion' || there !== 'absent') {
      expect({ name, there }).toEqual({ name, there: acknowledged });
    }
    knowledge.acknowledged = there;
    knowledge.pending = undefined;
  }
  for (const name of found.keys())
    expect(known.has(name), `${name}: was never requested`).toBe(true);
}

/** Checks the database while the service runs, because the service has then recovered it. */
function checkIntegrity(): unknown[] {
  return ['integrity_check', 'foreign_key_check'].flatMap((check) =>
    queryByAnotherProgram(join(folder, 'var/tsigil.db'), `PRAGMA ${check}`),
  );
}

test(`after kill -9 during concurrent changes of zones, ${ROUNDS} times, no acknowledged write is lost and no write is partial`, async () => {
  const known = new Map<string, Knowledge>();
  let acknowledged = 0;
  let inDoubt = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const service = await startServiceProcess(folder);
    if (round === 0) await createTlds(service, 'storm');
    verify(await readAll(service), known);
    expect(checkIntegrity()).toEqual([{ integrity_check: 'ok' }]);
    let remaining = 2 * WORKERS + round; // kills the service while all callers except one wait
    const onAcknowledged = () => {
      remaining -= 1;
      if (remaining === 0) service.process.kill('SIGKILL');
    };
    const workers = Array.from({ length: WORKERS }, (_, worker) =>
      storm(service, `r${round}-w${worker}`, known, onAcknowledged),
    );
    for (const count of await Promise.all(workers)) acknowledged += count;
    inDoubt += [...known.values()].filter(({ pending }) => pending !== undefined).length;
    expect(await service.stop('SIGKILL')).toBeNull();
  }
  const service = await startServiceProcess(folder);
  verify(await readAll(service), known);
  expect(checkIntegrity()).toEqual([{ integrity_check: 'ok' }]);
  expect(await service.stop('SIGTERM')).toBe(0);
  // On average, each caller got more than one acknowledgement per round, and each kill interrupted
  // more than one write.
  expect(acknowledged).toBeGreaterThan(ROUNDS * WORKERS);
  expect(inDoubt).toBeGreaterThan(ROUNDS);
}, 120_000);
