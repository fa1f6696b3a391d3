import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './harness/service.ts';

const folder = temporaryFolder();

const SUCCESS = {
  numPassedTests: 5,
  testResults: [
    {
      name: '/clone/test/http/fast.test.ts',
      startTime: 500,
      endTime: 1500,
      status: 'passed',
      assertionResults: [{ status: 'passed' }],
    },
  ],
};
const failed = (fullName: string) => ({ status: 'failed', fullName, failureMessages: ['why'] });
const FAILURE = {
  ...SUCCESS,
  testResults: [
    {
      name: 'a.test.ts',
      startTime: 500,
      endTime: 4600,
      status: 'failed',
      assertionResults: [failed('one'), failed('two')],
    },
  ],
};
const BROKEN = {
  ...SUCCESS,
  testResults: [
    {
      name: 'b.test.ts',
      startTime: 500,
      endTime: 500,
      status: 'failed',
      message: 'no',
      assertionResults: [],
    },
  ],
};

test.each([
  ['adds both runs', SUCCESS, 0, '10 passed, 0 failed'],
  [
    'counts failed tests',
    FAILURE,
    1,
    'FAILED: a.test.ts: one\nwhy\nFAILED: a.test.ts: two\nwhy\n10 passed, 2 failed',
  ],
  ['counts a file that does not load', BROKEN, 1, 'FAILED: b.test.ts: no\n10 passed, 1 failed'],
  [
    'counts an error outside of tests',
    SUCCESS,
    1,
    'FAILED: a run ended with exit code 1 and without a failed test\n10 passed, 1 failed',
  ],
  [
    'counts a run that did not end',
    undefined,
    137,
    'FAILED: a run has written no report\n5 passed, 1 failed',
  ],
])('the output of .ci/run %s', (_case, second, exitCode, output) => {
  const [one, two] = [join(folder, 'one.json'), join(folder, 'two.json')];
  writeFileSync(one, JSON.stringify(SUCCESS));
  rmSync(two, { force: true });
  if (second !== undefined) writeFileSync(two, JSON.stringify(second));
  const script = join(import.meta.dirname, '../.ci/count.mjs');
  const { status, stdout } = spawnSync(
    process.execPath,
    [script, one, '0', two, String(exitCode)],
    { encoding: 'utf8' },
  );
  const [slowest, ...lines] = stdout.split('\n');
  expect([status, lines]).toEqual([
    output.endsWith(' 0 failed') ? 0 : 1,
    `${output}\n`.split('\n'),
  ]);
  const files = second?.testResults === FAILURE.testResults ? ' a.test.ts 4' : '';
  expect(slowest).toContain(`Slowest files, in seconds:${files} http/fast.test.ts 1`);
});

test('the second run of .ci/run leaves out only files that it would run alike', () => {
  const report = join(folder, 'bare.json');
  const ran = (name: string, ...states: string[]) => ({
    name: `/clone/test/${name}`,
    status: states.includes('failed') ? 'failed' : 'passed',
    assertionResults: states.map((status) => ({ status })),
  });
  const testResults = [
    ran('clock.test.ts', 'passed', 'passed'),
    ran('http/cors.test.ts', 'passed', 'skipped'),
    ran('http/methods.test.ts', 'passed', 'failed'),
    ran('http/tlds.test.ts', 'passed'), // on SQLite
    ran('http/tlds.test.ts', 'failed'), // on PostgreSQL
    ran('http/headers.test.ts'), // no test
    ran('http/any-body.test.ts', 'passed'), // has two sizes
    ran('store/sqlite.test.ts', 'passed'), // has two sizes in page-contract.ts
    ran('nameservers/bind-driver.test.ts', 'passed'), // asks for named in a module of the harness
    ran('http/lists.test.ts', 'passed'),
  ];
  writeFileSync(report, JSON.stringify({ testResults }));
  const script = join(import.meta.dirname, '../.ci/alike.mjs');
  const { stdout } = spawnSync(process.execPath, [script, report], { encoding: 'utf8' });
  expect(stdout).toBe('test/clock.test.ts\ntest/http/lists.test.ts\n');
});
