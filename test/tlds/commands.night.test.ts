import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tlds from 'tlds';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MAX_ENTRIES } from '../../src/tlds/bulk-request.ts';
import { toAsciiName } from '../../src/core/text/dns-name.ts';
import { recordShown } from '../harness/evidence.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startTestService,
  type TestService,
  temporaryFolder,
} from '../harness/service.ts';
import { allEntries, namesOf, numbered } from '../harness/tlds.ts';

/** The exit code and the output of a command. */
interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

let service: TestService;
const folder = temporaryFolder();
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(async () => {
  await service.post('/v2/tlds/bulk', {
    replace: true,
    tlds: [{ name: 'first', description: 'There before' }],
  });
});

/** Returns how many requests the service has logged that change TLD entries. */
const countRequests = () =>
  service.log.filter((line) => /"method":"POST".*"route":"\/v2\/tlds\/bulk"/.test(line)).length;

function start(program: string, argv: readonly string[], url = service.url): ChildProcess {
  const env = cleanEnvironment({ TSIGIL_URL: url, TSIGIL_TOKEN: service.token });
  return spawn(program, argv, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
}

async function finish(child: ChildProcess, input: string | undefined): Promise<Ended> {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null)
    throw new Error('The command has no pipes');
  stdin.on('error', () => undefined); // the command may end before it reads the input
  if (input !== undefined) stdin.end(input);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [status]] = await Promise.all([text(stdout), text(stderr), exited]);
  recordShown('output', out + err);
  return { status, out, err };
}

/** Runs `tsigil tld import` with `input` as standard input. */
function tldImport(argv: readonly string[], input = ''): Promise<Ended> {
  return finish(start(process.execPath, [PROGRAM, 'tld', 'import', ...argv]), input);
}

/** Writes a file with these lines and returns the name of the file. */
function file(name: string, ...lines: string[]): string {
  writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(''));
  return name;
}

const names = async () => namesOf(await allEntries(service));
const ASCII_TLDS = tlds.map((name) => toAsciiName(name) ?? '').sort();

describe('published lists', () => {
  test('imports the IANA list, and changes nothing the second time', async () => {
    const list = file(
      'tlds.txt',
      '# Version 2026112100, Last Updated Sat Nov 21 07:07:01 2026 UTC',
      ...ASCII_TLDS.map((name) => name.toUpperCase()),
    );
    const count = tlds.length;
    expect(await tldImport([list])).toEqual({
      status: 0,
      out: `Read as iana: ${count} entries\n${count} added, 0 unchanged, 0 updated, 0 removed, 0 refused\n`,
      err: '',
    });
    expect(await names()).toEqual([...ASCII_TLDS, 'first'].sort());
    const again = await tldImport([list]);
    expect(again.out).toContain(`0 added, ${count} unchanged, 0 updated`);
  });

  test('imports 20,000 names in one request, and refuses a longer list', async () => {
    const all = numbered(MAX_ENTRIES + 1).map(({ name }) => name);
    const longer = await tldImport([file('longer.txt', ...all)]);
    expect([longer.status, longer.err]).toEqual([
      1,
      expect.stringContaining(`too large: ${MAX_ENTRIES + 1} entries`),
    ]);
    const before = countRequests();
    expect((await tldImport([file('many.txt', ...all.slice(1))])).out).toContain(
      `${MAX_ENTRIES} added`,
    );
    expect(countRequests() - before).toBe(1);
    expect(await names()).toHaveLength(MAX_ENTRIES + 1);
  });
});

describe('the output of a client', () => {
  test.each([
    ['csv', 'Read as csv with a header: 1 entries'],
    ['json', 'Read as json: 1 entries'],
  ])('tld list -f %s is imported', async (format, read) => {
    const listed = await finish(
      start(process.execPath, [PROGRAM, 'tld', 'list', '-f', format]),
      '',
    );
    const { status, out } = await tldImport([file('listed', listed.out.trimEnd())]);
    expect([status, out]).toEqual([
      0,
      `${read}\n0 added, 1 unchanged, 0 updated, 0 removed, 0 refused\n`,
    ]);
  });
});

describe('refused lines', () => {
  const LINES = [
    'com,"Commercial',
    'things"',
    'a b,x',
    'FIRST,Otherwise',
    'com',
    'a,b,c',
    `long,${'x'.repeat(161)}`,
    'рф,',
  ];

  test('refused lines are reported with their numbers, and the other lines are imported', async () => {
    const { status, out, err } = await tldImport([file('mixed.csv', ...LINES)]);
    expect(status).toBe(1);
    expect(out).toBe(
      'Read as csv: 7 entries\n2 added, 0 unchanged, 1 updated, 0 removed, 4 refused\n',
    );
    expect(err.split('\n')).toEqual([
      expect.stringMatching(/^line 3: 'a b': 'name' must consist of labels /),
      "line 5: 'com': line 1 has the same name",
      "line 6: 'a': the line has 3 fields instead of one or two",
      "line 7: 'long': 'description' must be 0 to 160 characters long",
      'tsigil: Refused: 4 of 7 entries; the other entries were imported',
      '',
    ]);
    expect((await allEntries(service)).map(({ name, description }) => [name, description])).toEqual(
      [
        ['first', 'Otherwise'],
        ['com', 'Commercial\nthings'],
        ['xn--p1ai', ''],
      ],
    );
  });

  test('prints the first 10 lines of a file that is not a list, and counts the other lines', async () => {
    const page = file('page.html', ...Array.from({ length: 84 }, (_, n) => `<p>Line ${n}</p>`));
    for (const flags of [[], ['--dry-run'], ['--all-or-nothing']]) {
      const { status, err } = await tldImport([page, ...flags]);
      expect([status, err.match(/^line /gm)?.length]).toEqual([1, 10]);
      expect(err).toMatch(/\nand 74 more lines\ntsigil: Refused: 84 of 84 entries[;,] .*\n/);
      expect(err).toContain('\nThis is not a list of top-level domains. Check the file');
    }
  });

  test.each([['--all-or-nothing'], ['--replace', '--yes'], ['--replace', '--dry-run']])(
    'all refused lines are reported, and nothing changes, with %s %s',
    async (...flags) => {
      const before = await allEntries(service);
      const { status, err } = await tldImport([
        file('mixed.csv', ...LINES),
        ...flags.filter(Boolean),
      ]);
      expect(status).toBe(1);
      expect(err.match(/^line \d+/gm)).toEqual(['line 3', 'line 5', 'line 6', 'line 7']);
      expect(err).toContain('Refused: 4 of 7 entries, so nothing was changed');
      expect(await allEntries(service)).toEqual(before);
    },
  );

  test('a line that only the service refuses is reported, and nothing changes', async () => {
    const { status, err } = await tldImport(['-', '--all-or-nothing'], 'com\n-x-\nnet\n');
    expect([status, err.match(/^line \d+: '-x-'/gm)]).toEqual([1, ["line 2: '-x-'"]]);
    expect(await names()).toEqual(['first']);
  });
});

describe('differences', () => {
  test('--dry-run prints the differences and changes nothing', async () => {
    const before = await allEntries(service);
    const { status, out } = await tldImport(
      ['-', '--format', 'csv', '--delimiter', ';', '--dry-run'],
      'net\nfirst;"New, and better"\n',
    );
    expect([status, out]).toEqual([
      0,
      "Read as csv: 2 entries\n+ net\n~ first: 'There before' -> 'New, and better'\nWould be: 1 added, 0 unchanged, 1 updated, 0 removed, 0 refused\n",
    ]);
    expect(await allEntries(service)).toEqual(before);
  });

  test('--replace prints the differences, and afterwards the TLDs equal the list', async () => {
    const dry = await tldImport(['-', '--replace', '--dry-run'], 'com\nnet\n');
    expect(dry.out).toBe(
      'Read as plain: 2 entries\n+ com\n+ net\n- first\nWould be: 2 added, 0 unchanged, 0 updated, 1 removed, 0 refused\n',
    );
    expect(await names()).toEqual(['first']);
    const real = await tldImport(['-', '--replace', '--yes'], 'com\nnet\n');
    expect(real.out).toBe(
      'Read as plain: 2 entries\n+ com\n+ net\n- first\n2 added, 0 unchanged, 0 updated, 1 removed, 0 refused\n',
    );
    expect(await names()).toEqual(['com', 'net']);
    const again = await tldImport(['-', '--replace'], 'net\ncom\n');
    expect([again.status, again.out]).toEqual([
      0,
      'Read as plain: 2 entries\n0 added, 2 unchanged, 0 updated, 0 removed, 0 refused\n',
    ]);
  });
});

describe('invalid lists', () => {
  test.each([
    [
      'a missing file',
      ['nosuch.txt'],
      '',
      2,
      "'nosuch.txt' cannot be read: no such file or folder\nCheck the path.",
    ],
    [
      'an empty list',
      ['-', '--replace', '--yes'],
      '# only a comment\n',
      1,
      "'-' contains no entries",
    ],
    ['an unknown format', ['-', '--format', 'zone'], '', 2, 'zone'],
    ['a delimiter of two characters', ['-', '--delimiter', '::'], '', 2, 'one character'],
  ])('%s', async (_what, argv, input, status, message) => {
    const ended = await tldImport(argv, input);
    expect([ended.status, ended.err]).toEqual([status, expect.stringContaining(message)]);
    expect(await names()).toEqual(['first']);
  });

  test('a list that is not UTF-8 is refused', async () => {
    writeFileSync(join(folder, 'latin1.csv'), Buffer.from('com,Köln\n', 'latin1'));
    expect(await tldImport(['latin1.csv'])).toMatchObject({
      status: 2,
      err: "tsigil: 'latin1.csv' is not valid UTF-8 text\nConvert the file to UTF-8.\n",
    });
  });
});

test('without a service, nothing is reported as added', async () => {
  const child = start(process.execPath, [PROGRAM, 'tld', 'import', '-'], 'http://127.0.0.1:9');
  const { status, out } = await finish(child, 'com\n');
  expect([status, out]).toEqual([3, 'Read as plain: 1 entries\n']);
});
