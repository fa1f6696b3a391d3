import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChangeEvent } from '../../src/domain/operations/events.ts';
import { createDatabase } from '../harness/postgres.ts';
import { auditRecords } from '../harness/audit.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

const folder = temporaryFolder();
const COUNT = 500;
let url: string;
let one: ServiceProcess;
let other: ServiceProcess;

beforeAll(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'events');
  const variables = {
    TSIGIL_DATABASE_URL: url,
    TSIGIL_ADMIN_TOKEN: 'events-token-0123456789abcdef0123',
  };
  [one, other] = await Promise.all([
    startServiceProcess(folder, variables),
    startServiceProcess(folder, variables),
  ]);
});
afterAll(async () => {
  expect(await Promise.all([one.stop('SIGTERM'), other.stop('SIGTERM')])).toEqual([0, 0]);
});

test('each change is one event, in the same order at both processes, while both write', async () => {
  const { cursor: start } = (await one.get('/v2/events')).body as { cursor: string };
  let isWriting = true;
  const writing = Promise.all(
    [one, other].map(async (client, side) => {
      for (let step = 0; step < COUNT; step += 1) {
        const { status } = await client.post('/v2/tlds', { name: `w${side}-${step}` });
        expect(status).toBe(201);
      }
    }),
  ).finally(() => (isWriting = false));

  /** Follows at changing processes, so that each cursor is used at another process. */
  const follow = async (first: number): Promise<ChangeEvent[]> => {
    const events: ChangeEvent[] = [];
    let cursor = start;
    for (let turn = first; isWriting || events.length < 2 * COUNT; turn += 1) {
      const client = turn % 2 === 0 ? one : other;
      const { status, body, text } = await client.get(`/v2/events?after=${cursor}&wait=30`);
      expect(status, text).toBe(200);
      events.push(...(body.events as ChangeEvent[]));
      ({ cursor } = body as { cursor: string });
    }
    return events;
  };
  const [first, second] = await Promise.all([follow(0), follow(1), writing]);
  expect(first).toHaveLength(2 * COUNT);
  expect(second).toEqual(first);
  const records = (await auditRecords(url))
    .filter(({ action }) => action === 'tlds:create')
    .toSorted((a, b) => Number(a.batch) - Number(b.batch) || a.seq - b.seq);
  expect(first.map(({ id }) => id)).toEqual(records.map(({ batch, seq }) => `${batch}-${seq}`));
});

test('a request at one process ends with a change at the other', async () => {
  for (const [reader, writer] of [
    [one, other],
    [other, one],
  ] as const) {
    const { cursor } = (await reader.get('/v2/events')).body as { cursor: string };
    const name = reader === one ? 'from-other' : 'from-one';
    const waiting = reader.get(`/v2/events?after=${cursor}&types=pool.*&wait=30`);
    expect((await writer.post('/v2/pools', { name })).status).toBe(201);
    const { events } = (await waiting).body as { events: ChangeEvent[] };
    expect(events.map(({ resource_name: found }) => found)).toEqual([name]);
  }
});
