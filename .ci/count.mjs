import { readFileSync } from 'node:fs';

/**
 * Prints "N passed, N failed" for the runs of vitest whose reports and exit codes are the
 * arguments, and fails if a test failed. A file without a result counts as a failed test. So does a
 * run that failed without a failed test: it did not end, or had errors outside of tests.
 */
const runs = [];
for (let index = 2; index < process.argv.length; index += 2)
  runs.push(count(process.argv[index], Number(process.argv[index + 1])));
const sum = (name) => runs.reduce((total, run) => total + run[name], 0);
process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
process.exitCode = sum('failed') === 0 ? 0 : 1;

function count(file, exitCode) {
  const { passed, failed } = read(file);
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}

function read(file) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 1 };
  }
  const { numPassedTests, numFailedTests, testResults } = report;
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length };
}
