import { beforeAll, describe, expect, test } from 'vitest';
import { POOL_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from './session.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.post('/v2/tlds', { name: 'org', description: 'Organisations' });
  await service.post('/v2/pools', { name: 'anycast', description: 'On three continents' });
  await service.post('/v2/zones', { name: 'a.example.org.', email: 'a@example.org' });
  await service.post('/v2/tokens', { name: 'reporting', roles: ['reader', 'member'] });
  await service.post('/v2/tsigkeys', {
    name: 'transfer.ns1.example.org',
    algorithm: 'hmac-sha512',
    scope: 'POOL',
    resource_id: POOL_ID,
  });
});

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;

async function printed(columns: number | undefined, ...argv: string[]): Promise<string> {
  const runOptions = columns === undefined ? service : { variables: service.variables, columns };
  const { status, out, err } = await runInside(runOptions, ...argv);
  expect({ status, err }).toEqual({ status: 0, err: '' });
  return out.replaceAll(/\x1b\[\d+m/g, '');
}

const LISTS = [
  ['tld', ['name', 'description'], 'org'],
  [
    'tsigkey',
    ['name', 'algorithm', 'scope', 'state', 'age', 'weakness'],
    'transfer.ns1.example.org',
  ],
  ['zone', ['name', 'type', 'description'], 'a.example.org.'],
  ['pool', ['name', 'description'], 'anycast'],
  ['token', ['name', 'roles', 'limits', 'project_id', 'expires_at'], 'reporting'],
] as const;

describe.each(LISTS)('%s list', (noun, columns, name) => {
  test('fits in 80 columns, with one line for each resource and without ids', async () => {
    const lines = (await printed(80, noun, 'list')).trimEnd().split('\n');
    const cells = (line: string) => line.split('|').map((cell) => cell.trim());
    expect(cells(lines[1] ?? '').slice(1, -1)).toEqual(columns);
    expect(lines.map((line) => cells(line)[1])).toContain(name);
    expect(lines.filter((line) => line.length > 80 || UUID.test(line))).toEqual([]);
    const rows = (await service.get(`/v2/${noun}s`)).body[`${noun}s`] as unknown[];
    expect(lines).toHaveLength(rows.length + 4);
  });

  test('has the same columns in a pipe, separated by tabs', async () => {
    expect((await printed(undefined, noun, 'list')).split('\n')[0]).toBe(columns.join('\t'));
  });

  test('--long and -c id show whole ids on one line', async () => {
    const [first] = (await service.get(`/v2/${noun}s?name=${name}`)).body[`${noun}s`] as {
      id: string;
    }[];
    const long = await printed(80, noun, 'list', '--long');
    expect(long).toContain(`| ${first?.id} `);
    for (const line of long.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(await printed(80, noun, 'list', '-c', 'name', '-c', 'id')).toContain(`| ${first?.id} `);
    expect((await printed(undefined, noun, 'list', '--long')).split('\n')[0]).toMatch(
      new RegExp(`^name\t.*\tid\t.*created_at`),
    );
  });
});

describe('-f table', () => {
  test('draws a table even in a pipe; without -f table, tabs separate the columns', async () => {
    const argv = ['tld', 'list', '-c', 'name', '--name', 'org'];
    expect(await printed(undefined, ...argv, '-f', 'table')).toBe(
      '+------+\n| name |\n+------+\n| org  |\n+------+\n',
    );
    expect(await printed(undefined, ...argv)).toBe('name\norg\n');
    const show = ['tld', 'show', 'org', '-c', 'name'];
    expect(await printed(undefined, ...show, '-f', 'table')).toBe(
      '+-------+-------+\n| Field | Value |\n+-------+-------+\n| name  | org   |\n+-------+-------+\n',
    );
    expect(await printed(undefined, ...show)).toBe('Field\tValue\nname\torg\n');
  });
});
