import { beforeAll, describe, expect, test } from 'vitest';
import { KEY_MEMBERS, POOL_ID, TLDS, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import type { Ended } from './run.ts';
import { runInside, type RunOptions } from './session.ts';
import { words } from './run.ts';
import { clientFor } from '../harness/zones.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ TSIGIL_API_DEFAULT_LIMIT: '3' });
  for (const name of ['org', 'net', 'example']) await service.post('/v2/tlds', { name });
});

const run = (...argv: string[]): Promise<Ended> => runInside(service, ...argv);
const runWith = (runOptions: RunOptions, ...argv: string[]): Promise<Ended> =>
  runInside({ variables: service.variables, ...runOptions }, ...argv);

/**
 * Returns the JSON that a successful command prints. The command may also print warnings about
 * keys.
 */
async function json<T = Record<string, unknown>>(...argv: string[]): Promise<T> {
  const { status, out, err } = await run(...argv, '-f', 'json');
  const errors = err.replace(/^Warning: the (?:name|secret|resource_id) .*\n/gm, '');
  expect({ status, err: errors }).toEqual({ status: 0, err: '' });
  return JSON.parse(out) as T;
}

const names = (...argv: string[]) =>
  json<{ name: string }[]>(...argv, '-c', 'name').then((items) => items.map(({ name }) => name));

const TLD_COLUMNS = TLDS.members.filter((member) => member !== 'links');
const KEY = ['--algorithm', 'hmac-sha256', '--scope', 'POOL', '--resource-id', POOL_ID];

describe('each resource type', () => {
  test.each([
    {
      noun: 'tld',
      create: ['--name', 'example-tld', '--description', 'One'],
      created: { name: 'example-tld', description: 'One' },
      set: ['--name', 'renamed-tld', '--no-description'],
      changed: { name: 'renamed-tld', description: null },
    },
    {
      noun: 'tsigkey',
      create: ['--name', 'a-key', ...KEY],
      created: { name: 'a-key', ...KEY_MEMBERS },
      set: ['--algorithm', 'hmac-sha512', '--scope', 'ZONE', '--resource-id', UNKNOWN_ID],
      changed: { name: 'a-key', algorithm: 'hmac-sha512', scope: 'ZONE', resource_id: UNKNOWN_ID },
    },
    {
      noun: 'zone',
      create: words`a.example.org. --email a@example.org --ttl 300 --attributes tier:gold note:a:b`,
      created: {
        name: 'a.example.org.',
        email: 'a@example.org',
        ttl: 300,
        attributes: { tier: 'gold', note: 'a:b' },
        type: 'PRIMARY',
      },
      set: ['--ttl', '600', '--description', 'Two'],
      changed: { name: 'a.example.org.', ttl: 600, description: 'Two' },
    },
    {
      noun: 'pool',
      create: words`--name a-pool --ns-records 1:ns1.example.org. 2:ns2.example.org.
          --attributes tier:gold`,
      created: {
        name: 'a-pool',
        attributes: { tier: 'gold' },
        ns_records: [
          { priority: 1, hostname: 'ns1.example.org.' },
          { priority: 2, hostname: 'ns2.example.org.' },
        ],
      },
      set: ['--no-attributes', '--no-ns-records', '--description', 'Three'],
      changed: { name: 'a-pool', attributes: {}, ns_records: [], description: 'Three' },
    },
  ])(
    '$noun: creates, lists, shows, sets and deletes a resource, by id and by name',
    async ({ noun, create, created, set, changed }) => {
      const item = await json(noun, 'create', ...create);
      expect(item).toMatchObject(created);
      const { id, name } = item as { id: string; name: string };
      expect(await names(noun, 'list', '--name', name)).toEqual([name]);
      expect(await json(noun, 'show', name)).toEqual(item);
      expect(await json(noun, 'show', id.toUpperCase())).toEqual(item);
      const after = await json(noun, 'set', name, ...set);
      expect(after).toMatchObject(changed);
      expect(await json(noun, 'show', id)).toEqual(after);
      expect(await run(noun, 'delete', id)).toEqual({
        status: 0,
        out: `${id}: deleted\n`,
        err: '',
      });
      expect((await run(noun, 'show', id)).status).toBe(1);
    },
  );
});

describe('names', () => {
  test('a Unicode name is sent as A-labels, and both forms find the resource', async () => {
    const created = await json('tld', 'create', '--name', 'рф');
    expect(created.name).toBe('xn--p1ai');
    for (const name of ['рф', 'xn--p1ai', 'XN--P1AI'])
      expect(await json('tld', 'show', name)).toEqual(created);
    expect(await names('tld', 'list', '--name', 'рф')).toEqual(['xn--p1ai']);
    expect((await json('zone', 'create', 'bücher.рф', '--email', 'a@example.org')).name).toBe(
      'xn--bcher-kva.xn--p1ai.',
    );
    expect(await names('zone', 'list', '--name', '*.рф.')).toEqual(['xn--bcher-kva.xn--p1ai.']);
    expect((await run('zone', 'delete', 'bücher.рф')).out).toBe('bücher.рф: deleted\n');
    expect((await run('tld', 'delete', 'рф')).status).toBe(0);
  });

  test('an asterisk in a name is not a pattern', async () => {
    await json('tsigkey', 'create', '--name', 'star-one', ...KEY);
    const { status, err } = await run('tsigkey', 'show', 'star-*');
    expect([status, err]).toEqual([
      1,
      "tsigil: No tsigkey is named 'star-*'\nRun 'tsigil tsigkey list' to list all tsigkeys.\n",
    ]);
    const star = await json('tsigkey', 'create', '--name', 'star-*', '--force', ...KEY);
    expect((await json('tsigkey', 'show', 'star-*')).id).toBe(star.id);
  });

  test('an ambiguous name selects no resource', async () => {
    const first = await json('zone', 'create', 'twice.example.org.', '--email', 'a@example.org');
    const pool = await json('pool', 'create', '--name', 'second');
    const second = await json(
      ...words`zone create twice.example.org. --email a@example.org --pool-id
          ${String(pool.id)}`,
    );
    const { status, out, err } = await run('zone', 'delete', 'twice.example.org.');
    expect([status, out]).toEqual([1, '']);
    expect(err).toContain(
      `2 zones are named 'twice.example.org.' (ids: ${String(first.id)}, ${String(second.id)})\nUse an id instead.\n`,
    );
  });
});

describe('lists', () => {
  beforeAll(async () => {
    for (let number = 0; number < 8; number += 1) {
      await service.post('/v2/tlds', {
        name: `many-${number}`,
        description: number % 2 === 0 ? 'even' : 'odd',
      });
    }
  });

  test('a list contains all pages, and --limit can end on any page', async () => {
    const all = Array.from({ length: 8 }, (_, number) => `many-${number}`);
    expect(await names('tld', 'list', '--name', 'many-*', '--sort', 'name')).toEqual(all);
    for (const limit of [1, 3, 4, 7, 9]) {
      expect(
        await names('tld', 'list', '--name', 'many-*', '--sort', 'name', '--limit', String(limit)),
      ).toEqual(all.slice(0, limit));
    }
    expect(
      await names('tld', 'list', '--name', 'many-*', '--sort', 'name:desc', '--limit', '2'),
    ).toEqual(['many-7', 'many-6']);
  });

  test('every format prints the columns in the requested order', async () => {
    const list = async (...argv: string[]) =>
      (await run('tld', 'list', '--name', 'many-0', '-c', 'description', '-c', 'name', ...argv))
        .out;
    expect(await list()).toBe('description\tname\neven\tmany-0\n');
    expect(await list('-f', 'table')).toContain('| description | name   |\n');
    expect(await list('-f', 'csv')).toBe('description,name\neven,many-0\n');
    expect(await list('-f', 'value')).toBe('even many-0\n');
    expect(await list('-f', 'yaml')).toBe('- description: even\n  name: many-0\n');
    expect(JSON.parse(await list('-f', 'json'))).toEqual([{ description: 'even', name: 'many-0' }]);
  });
});

describe('projects', () => {
  test('--sudo-project-id acts for another project, and --all-projects lists all projects', async () => {
    await json(
      ...words`zone create theirs.example.net. --email a@example.org --sudo-project-id p2`,
    );
    expect(await names('zone', 'list', '--name', 'theirs.*')).toEqual([]);
    expect(await names('zone', 'list', '--name', 'theirs.*', '--sudo-project-id', 'p2')).toEqual([
      'theirs.example.net.',
    ]);
    const { out } = await run('zone', 'list', '--all-projects', '--name', 'theirs.*', '-f', 'csv');
    expect(out).toMatch(/^id,name,type,description,project_id\n.*,p2\n$/);
    expect((await run('zone', 'show', 'theirs.example.net.')).status).toBe(1);
    expect((await json('zone', 'show', 'theirs.example.net.', '--all-projects')).project_id).toBe(
      'p2',
    );
  });
});

describe('delete', () => {
  test('prints the outcome for each resource, and continues after a failure', async () => {
    for (const name of ['d1', 'd2']) await service.post('/v2/tlds', { name });
    const { status, out, err } = await run('tld', 'delete', 'd1', 'nosuch', UNKNOWN_ID, 'd2');
    expect([status, out]).toEqual([1, 'd1: deleted\nd2: deleted\n']);
    expect(err).toMatch(
      /^nosuch: not deleted: No tld is named 'nosuch'\n0{8}-.*: not deleted: Could not find Tld \(request req-.*\)\ntsigil: 2 of 4 deleted, 2 not deleted\n$/,
    );
  });

  test('after Ctrl-C, completes the request in progress, prints the deleted resources and stops', async () => {
    for (const name of ['i1', 'i2', 'i3']) await service.post('/v2/tlds', { name });
    let interrupt: () => void = () => undefined;
    let released = 0;
    const onInterrupt = (stop: () => void) => {
      interrupt = stop;
      return () => void (released += 1);
    };
    let hasOutput = false;
    const onOutput = () => {
      if (!hasOutput) setImmediate(() => interrupt()); // the second request has begun then
      hasOutput = true;
    };
    const { status, out, err } = await runWith(
      { onInterrupt, onOutput },
      ...words`tld delete i1 i2 i3`,
    );
    const done = out.split('\n').length - 1;
    expect([status, err, released]).toEqual([130, `tsigil: Stopped: ${done} of 3 deleted\n`, 1]);
    expect(await names('tld', 'list', '--name', 'i*')).toEqual(['i1', 'i2', 'i3'].slice(done));
  });
});

describe('errors', () => {
  test.each([
    [
      ['tld', 'create', '--name', 'com.'],
      1,
      /^tsigil: Invalid Tld: 'name' must not end in a period \(request req-/,
    ],
    [
      ['tld', 'create', '--name', 'many-1'],
      1,
      /^tsigil: Duplicate Tld: the name belongs to 'many-1' with the id .* \(request req-.*\)\n$/,
    ],
    [
      ['tld', 'set', 'many-1'],
      2,
      /^tsigil: Nothing to change: no flag sets a field\nRun 'tsigil tld set --help' to list the fields\.\n$/,
    ],
    [
      ['tld', 'list', '--sort', 'colour'],
      2,
      /^tsigil: Invalid --sort 'colour'\. Use one of: created_at, /,
    ],
    [['tld', 'list', '--limit', '0'], 2, /must be a whole number above 0/],
    [
      ['tld', 'list', '-c', 'nmae'],
      2,
      new RegExp(`^tsigil: Unknown column 'nmae'\\. Use one of: ${TLD_COLUMNS.join(', ')}\\.\n$`),
    ],
    [['tld', 'list', '--sudo-project-id', 'a b'], 2, /^tsigil: Invalid --sudo-project-id 'a b'/],
    [
      ['zone', 'create', 'a.example.org.', '--email', 'a@b', '--ttl', 'long'],
      2,
      /^tsigil: Invalid --ttl 'long'\. Use a whole number\.\n$/,
    ],
    [
      ['pool', 'create', '--name', 'a', '--attributes', 'gold'],
      2,
      /^tsigil: Invalid --attributes 'gold'\. Use the form key:value\.\n$/,
    ],
    [['zone', 'delete'], 2, /missing required argument 'zone'/],
  ])(
    'tsigil %j exits with %i and prints the error and a remedy on standard error',
    async (argv, code, message) => {
      const { status, out, err } = await run(...argv);
      expect([status, out]).toEqual([code, '']);
      expect(err).toMatch(message);
      expect(err).not.toMatch(/^ +at /m);
    },
  );

  test('a token without a project cannot create zones, and the error suggests a project: exit code 3', async () => {
    const { status, err } = await runInside(
      await clientFor(service, ['member']),
      ...words`zone create x.example. --email a@b`,
    );
    expect(status).toBe(3);
    expect(err).toMatch(
      /Use the token of a project, or select a project with --sudo-project-id\.\n$/,
    );
  });
});
