import { beforeAll, describe, expect, test } from 'vitest';
import type { AuditRecord } from '../../src/core/audit-record.ts';
import { readRecords } from '../../src/audit/store/read.ts';
import { expectError } from '../harness/samples.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { addRecords, entry, seal, seed, verification, withDatabase } from '../harness/trail.ts';

const OWN = 'resource_type=seeded';
const LINES = { accept: 'application/x-ndjson' };

let folder: string;
let url: string;
let service: TestService;
beforeAll(async () => {
  folder = temporaryFolder();
  url = await testDatabase(folder);
  await withDatabase(url, async (database) => {
    await seed(database, 20, 6);
    // Adds two more records for the next batch.
    await addRecords(database, [
      entry('20', {
        actor_id: 'someone',
        action: 'tsigkeys:update',
        resource_id: 'key-1',
        project_id: 'project-1',
        outcome: 'denied',
        request_id: 'req-1',
        at: '2026-11-21T12:00:00.000000',
      }),
      entry('21'),
    ]);
    await seal(database, 2000, { at: '2026-11-21T12:00:01.000000' });
  });
  service = await startTestService({ TSIGIL_DATABASE_URL: url }, { folder });
});

/** Reads all pages and returns the names of the records in order. */
async function namesOf(query: string, own = `${OWN}&`): Promise<string[]> {
  const names: string[] = [];
  for (let path: string | undefined = `/v2/audit?${own}${query}`; path !== undefined;) {
    const answer = await service.get(path);
    expect(answer.status, answer.text).toBe(200);
    const { records, links } = answer.body as {
      records: AuditRecord[];
      links: { self: string; next?: string };
    };
    names.push(...records.map((record) => String(record.resource_name)));
    path = links.next === undefined ? undefined : links.next.slice(service.url.length);
  }
  return names;
}

const ALL = Array.from({ length: 22 }, (_, index) => String(index));

describe('GET /v2/audit', () => {
  test('200 with every member of a record', async () => {
    const { body } = await service.get(`/v2/audit?resource_id=key-1`);
    expect((body as { records: unknown[] }).records).toEqual([
      {
        ...entry('20', {
          actor_id: 'someone',
          action: 'tsigkeys:update',
          resource_id: 'key-1',
          project_id: 'project-1',
          outcome: 'denied',
          request_id: 'req-1',
          at: '2026-11-21T12:00:00.000000',
        }),
        seq: expect.any(Number) as number,
        batch: 5,
      },
    ]);
  });

  test.each([1, 5, 100])('200 with every record once, in pages of %i', async (limit) => {
    expect(await namesOf(`limit=${limit}`)).toEqual(ALL.toReversed());
    expect(await namesOf(`limit=${limit}&sort_dir=asc`)).toEqual(ALL);
    // Without a filter, the service reads only as many records as a page shows.
    const seeded = (names: string[]) => names.filter((name) => /^\d+$/.test(name));
    expect(seeded(await namesOf(`limit=${limit}`, ''))).toEqual(ALL.toReversed());
    expect(seeded(await namesOf(`limit=${limit}&sort_dir=asc`, ''))).toEqual(ALL);
  });

  test.each([
    ['actor_id=someone', ['20']],
    ['actor_name=terra*', []],
    ['resource_name=7', ['7']],
    ['action=tsigkeys:update', ['20']],
    ['action=tsigkeys:*', ['20']],
    ['action=*key*:*date', ['20']],
    ['action=t%25*', []],
    ['resource_id=id-7', ['7']],
    ['project_id=project-1', ['20']],
    ['outcome=denied', ['20']],
    ['request_id=req-1', ['20']],
    ['after=2026-11-21T12:00:00', ['20']],
    ['after=2026-11-21T10:00:00&before=2026-11-21T13:00:00', ['20']],
    ['outcome=denied&actor_id=seeded-actor', []],
  ])('200 with the records that match %s', async (query, names) => {
    expect(await namesOf(query)).toEqual(names);
    expect(await namesOf(`${query}&sort_dir=asc&limit=1`)).toEqual(names);
  });

  test.each([
    ['limit=0', 'limit'],
    ['marker=1', 'marker'],
    ['marker=b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94', 'marker'],
    ['sort_dir=up', 'sort_dir'],
    ['after=yesterday', 'after'],
    ['actor_id=a%00b', 'actor_id'],
    [`action=${'*'.repeat(1001)}`, 'action'],
    ['sort_key=at', 'sort_key'],
    ['outcome=denied&outcome=failed', 'outcome'],
  ])('400 for %s', async (query, name) => {
    const answer = await service.get(`/v2/audit?${query}`);
    expectError(answer, 400, 'bad_request');
    expect(answer.text).toContain(name);
  });
});

describe('GET /v2/audit with Accept: application/x-ndjson', () => {
  test.each([
    ['', ALL],
    ['&limit=2&sort_dir=desc', ['21', '20']],
    ['&resource_name=none', []],
  ])('200 with a line for each sealed record that matches %j', async (query, expected) => {
    const { text, headers } = await service.get(`/v2/audit?${OWN}${query}`, LINES);
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    const lines = text.split('\n');
    expect(lines.pop()).toBe('');
    const records = lines.map((line) => JSON.parse(line) as AuditRecord);
    expect(records.map((record) => record.resource_name)).toEqual(expected);
  });

  test.each(['*/*', 'application/json', 'application/x-ndjson;q=0', 'text/html, */*;q=0.1'])(
    '200 with a JSON document for Accept: %s',
    async (accept) => {
      const answer = await service.get('/v2/audit?limit=1', { accept });
      expect(answer.headers.get('content-type')).toBe('application/json; charset=UTF-8');
    },
  );
});

describe('GET /v2/audit/batches', () => {
  test('200 with the batches in pages, the newest batch first by default', async () => {
    const first = (await service.get('/v2/audit/batches?limit=2&sort_dir=asc')).body as {
      batches: Record<string, unknown>[];
      links: { next: string };
    };
    expect(first.batches.map(({ number, count }) => [number, count])).toEqual([
      [1, 6],
      [2, 6],
    ]);
    expect(first.batches[0]).toEqual({
      number: 1,
      at: '2026-11-21T09:30:01.000000',
      count: 6,
      first_seq: expect.any(Number) as number,
      last_seq: expect.any(Number) as number,
      previous: '0'.repeat(64),
      hash: first.batches[1]?.previous,
      mac: null,
      key_number: null,
    });
    const next = (await service.get(first.links.next.slice(service.url.length))).body as {
      batches: Record<string, unknown>[];
    };
    expect(next.batches.map(({ number }) => number)).toEqual([3, 4]);
    const newest = (await service.get('/v2/audit/batches')).body as {
      batches: { number: number }[];
    };
    const numbers = newest.batches.map(({ number }) => number);
    expect(numbers).toEqual(numbers.toSorted((one, other) => other - one));
    expect(numbers).toContain(5);
  });

  test('400 for an invalid marker', async () => {
    expectError(await service.get('/v2/audit/batches?marker=0'), 400, 'bad_request');
  });
});

describe('GET /v2/audit/verify', () => {
  test('200 with a line for each part, and the head in the last line', async () => {
    const parts = await verification(service);
    expect(parts.flatMap(({ problems }) => problems)).toEqual([]);
    const sum = (name: 'batches' | 'records' | 'purged' | 'unchecked') =>
      parts.reduce((total, part) => total + part[name], 0);
    expect([sum('purged'), sum('unchecked')]).toEqual([0, 0]);
    expect([sum('batches') >= 5, sum('records') >= 22]).toEqual([true, true]);
    const heads = parts.flatMap(({ head }) => head ?? []);
    expect(heads).toMatchObject([{ number: sum('batches'), events: [{ event: 'key_created' }] }]);
    expect(parts.at(-1)?.head).toEqual(heads[0]);
  });

  test('200 for HEAD without a verification, so that another one can begin', async () => {
    const head = await service.call('HEAD', '/v2/audit/verify');
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect((await service.get('/v2/audit/verify')).status).toBe(200);
  });
});

test('a client that follows the pages gets every record once, even while four writers add records', async () => {
  const own = temporaryFolder();
  const database = await testDatabase(own);
  await withDatabase(database, async (open) => {
    let writing = true;
    const written: string[] = [];
    const write = async (writer: number) => {
      for (let index = 0; index < 25; index += 1) {
        const name = `${writer}-${index}`;
        await addRecords(open, [entry(name)]);
        written.push(name);
      }
    };
    const sealing = async () => {
      while (writing) {
        await seal(open, 7);
        await new Promise((resume) => setImmediate(resume));
      }
      while ((await seal(open, 7)) > 0);
    };
    const read: string[] = [];
    const reading = async () => {
      const query = { filters: {}, first: 'oldest', limit: 5, maxBytes: Infinity } as const;
      for (let from = { batch: 0, seq: 0 }, last = false; ;) {
        const page = await readRecords(open.reads, { ...query, from });
        for (const { resource_name: name, batch, seq } of page.records) {
          read.push(String(name));
          from = { batch: batch ?? 0, seq };
        }
        if (page.next === undefined && last) return;
        if (page.next === undefined) last = sealed;
        await new Promise((resume) => setImmediate(resume));
      }
    };
    const newest = async () => {
      while (writing) {
        const seen: number[] = [];
        const query = { filters: {}, first: 'newest', limit: 3, maxBytes: Infinity } as const;
        const before = written.length;
        for (let from: Awaited<ReturnType<typeof readRecords>>['next'], more = true; more;) {
          const page = await readRecords(open.reads, { ...query, from });
          seen.push(...page.records.map(({ seq }) => seq));
          from = page.next;
          more = from !== undefined;
          await new Promise((resume) => setImmediate(resume));
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.length).toBeGreaterThanOrEqual(before);
      }
    };
    let sealed = false;
    const writers = Promise.all([0, 1, 2, 3].map(write)).finally(() => (writing = false));
    const sealer = sealing().then(() => (sealed = true));
    await Promise.all([writers, sealer, reading(), newest()]);
    expect(read.toSorted()).toEqual(written.toSorted());
  });
});
