import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './harness/service.ts';

const folder = temporaryFolder();
const [one, two, again] = ['one', 'two', 'again'].map((name) => join(folder, `${name}.json`)) as [
  string,
  string,
  string,
];

const passed = { status: 'passed' };
const failed = (fullName: string) => ({ status: 'failed', fullName, failureMessages: ['why'] });

/** The report of a run of one file, which took 4 s. */
function reportOf(name: string, ...assertionResults: { status: string }[]) {
  const isGreen = assertionResults.length > 0 && assertionResults.every((each) => each === passed);
  const status = isGreen ? 'passed' : 'failed';
  const file = { name: `/clone/test/${name}`, status, startTime: 500, endTime: 4400 };
  return { testResults: [{ ...file, message: 'no', assertionResults }] };
}

function runScript(name: string, ...parameters: string[]): { status: number | null; out: string } {
  const script = join(import.meta.dirname, '../.ci', name);
  const { status, stdout } = spawnSync(process.execPath, [script, ...parameters], {
    encoding: 'utf8',
  });
  return { status, out: stdout.replaceAll(`${folder}/`, '') };
}

function runVitest(...parameters: string[]): { status: number | null; out: string } {
  const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
  const { status, stdout } = spawnSync(
    process.execPath,
    [vitest, ...parameters, `--outputFile.json=${two}`],
    { encoding: 'utf8', env: { ...process.env, TEST_LONG: '1' } },
  );
  return { status, out: stdout };
}

const SUCCESS = reportOf('http/fast.test.ts', passed, passed);
const FAILURE = reportOf('delivery/a.test.ts', failed('one'), failed('two'), passed);
const REPEATED =
  'repeated: delivery/a.test.ts\nThe first failure: delivery/a.test.ts: one\nwhy\n' +
  'The first failure: delivery/a.test.ts: two\nwhy\n';

test.each([
  ['adds both runs', SUCCESS, 0, undefined, '', '4 passed, 0 failed'],
  [
    'counts failed tests',
    FAILURE,
    1,
    undefined,
    '',
    'FAILED: delivery/a.test.ts: one\nwhy\nFAILED: delivery/a.test.ts: two\nwhy\n3 passed, 2 failed',
  ],
  [
    'counts a repeated file instead, and shows why it was repeated',
    FAILURE,
    1,
    reportOf('delivery/a.test.ts', passed, passed, passed),
    REPEATED,
    '5 passed, 0 failed',
  ],
  [
    'counts a file that is repeated on both databases',
    {
      testResults: [...FAILURE.testResults, ...reportOf('delivery/a.test.ts', passed).testResults],
    },
    1,
    {
      testResults: [
        ...reportOf('delivery/a.test.ts', passed).testResults,
        ...reportOf('delivery/a.test.ts', failed('one')).testResults,
      ],
    },
    REPEATED,
    'FAILED: delivery/a.test.ts: one\nwhy\n3 passed, 1 failed',
  ],
  [
    'counts a file that fails again',
    FAILURE,
    1,
    reportOf('delivery/a.test.ts', failed('two'), passed, passed),
    REPEATED,
    'FAILED: delivery/a.test.ts: two\nwhy\n4 passed, 1 failed',
  ],
  [
    'counts a file that does not load',
    reportOf('b.test.ts'),
    1,
    undefined,
    '',
    'FAILED: b.test.ts: no\n2 passed, 1 failed',
  ],
  [
    'counts an error outside of tests',
    SUCCESS,
    1,
    undefined,
    '',
    'FAILED: a run ended with exit code 1 and without a failed test\n4 passed, 1 failed',
  ],
  [
    'counts a run that did not end',
    undefined,
    137,
    undefined,
    '',
    'FAILED: two.json: a run has written no report\n2 passed, 1 failed',
  ],
])('the output of .ci/run %s', (_case, second, exitCode, repetition, before, after) => {
  for (const [file, report] of [
    [one, SUCCESS],
    [two, second],
    [again, repetition],
  ] as const) {
    rmSync(file, { force: true });
    if (report !== undefined) writeFileSync(file, JSON.stringify(report));
  }
  const { status, out } = runScript('count.mjs', one, '0', two, String(exitCode), again);
  expect(status).toBe(after.endsWith(' 0 failed') ? 0 : 1);
  expect(out.startsWith(before)).toBe(true);
  expect(out).toMatch(/^Slowest files, in seconds:.* http\/fast\.test\.ts 4/m);
  expect(out.slice(before.length).split('\n').slice(1).join('\n')).toBe(`${after}\n`);
});

test.each([
  ['one suite of a name server', ['delivery/a'], ['delivery/a']],
  ['none if another suite failed', ['delivery/a', 'http/b'], []],
  ['none of more than three', ['delivery/a', 'delivery/b', 'delivery/c', 'nameservers/d'], []],
])('.ci/run repeats %s', (_case, names, files) => {
  const testResults = names.flatMap(
    (name) => reportOf(`${name}.test.ts`, failed('one')).testResults,
  );
  writeFileSync(two, JSON.stringify({ testResults: [...testResults, ...SUCCESS.testResults] }));
  const { out } = runScript('repeated.mjs', two);
  expect(out).toBe(files.map((name) => `test/${name}.test.ts\n`).join(''));
});

test('.ci/run counts errors outside of tests, also beside a test that it would repeat', () => {
  const suite = join(folder, 'test/delivery/a.test.ts');
  mkdirSync(dirname(suite), { recursive: true });
  writeFileSync(
    suite,
    `void Promise.reject(new Error('outside')); test('one', () => { throw new Error('why'); });`,
  );
  const reporter = join(import.meta.dirname, '../.ci/report.mjs');
  const { status } = runVitest('run', '--globals', '--root', folder, `--reporter=${reporter}`);
  expect(status).toBe(1);
  expect(runScript('repeated.mjs', two).out).toBe('');
  rmSync(again, { force: true });
  const { out } = runScript('count.mjs', two, '1', again);
  expect(out).toMatch(/^FAILED: delivery\/a\.test\.ts: one$/m);
  expect(out).toMatch(/^FAILED: outside of tests: outside$/m);
});

test('the night runs suites that ask for its size through another module', () => {
  const { out } = runVitest('list', '--filesOnly');
  expect(out).toContain('[suites] test/delivery/grants.test.ts\n'); // in harness/nightly.ts
  expect(out).toContain('[suites] test/brands/bind/driver.test.ts\n'); // beside the suite
  expect(out).not.toContain('test/ci.test.ts');
});

test('.ci/run starts each suite of the gate that uses programs without any program', () => {
  const files = runScript('starting.mjs').out.split('\n');
  expect(files).toContain('test/brands/bind/driver.test.ts'); // asks in a module of the harness
  expect(files).not.toContain('test/resources/zones.test.ts');
  expect(files.filter((file) => file.endsWith('.night.test.ts'))).toEqual([]);
});
