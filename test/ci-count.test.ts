import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './harness/service.ts';

const folder = temporaryFolder();

const SUCCESS = {
  numPassedTests: 5,
  testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }] }],
};
const failed = (fullName: string) => ({ status: 'failed', fullName, failureMessages: ['why'] });
const FAILURE = {
  ...SUCCESS,
  testResults: [
    { name: 'a.test.ts', status: 'failed', assertionResults: [failed('one'), failed('two')] },
  ],
};
const BROKEN = {
  ...SUCCESS,
  testResults: [{ name: 'b.test.ts', status: 'failed', message: 'no', assertionResults: [] }],
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
  expect([status, stdout]).toEqual([output.endsWith(' 0 failed') ? 0 : 1, `${output}\n`]);
});
