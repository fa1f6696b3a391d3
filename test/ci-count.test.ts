import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './harness/service.ts';

const folder = temporaryFolder();

const SUCCESS = {
  numPassedTests: 5,
  numFailedTests: 0,
  testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }] }],
};
const FAILURE = {
  ...SUCCESS,
  numFailedTests: 2,
  testResults: [{ status: 'failed', assertionResults: [{ status: 'failed' }] }],
};
const BROKEN = { ...SUCCESS, testResults: [{ status: 'failed', assertionResults: [] }] };

test.each([
  ['adds both runs', SUCCESS, 0, '10 passed, 0 failed'],
  ['counts failed tests', FAILURE, 1, '10 passed, 2 failed'],
  ['counts a file that does not load', BROKEN, 1, '10 passed, 1 failed'],
  ['counts an error outside of tests', SUCCESS, 1, '10 passed, 1 failed'],
  ['counts a run that did not end', undefined, 137, '5 passed, 1 failed'],
])('the last line of .ci/run %s', (_case, second, exitCode, line) => {
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
  expect([status, stdout]).toEqual([line.endsWith(' 0 failed') ? 0 : 1, `${line}\n`]);
});
