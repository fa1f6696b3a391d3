import { readFileSync } from 'node:fs';

/**
 * Prints the slowest files, the failed tests and, as the last line, "N passed, N failed" for the
 * runs of vitest whose reports and exit codes are the arguments, and fails if a test failed. A file
 * without a result counts as a failed test. So does a run that failed without a failed test: it did
 * not end, or had errors outside of tests.
 */
const SHOWN = 40;
const runs = [];
for (let index = 2; index < process.argv.length; index += 2)
  runs.push(count(process.argv[index], Number(process.argv[index + 1])));
const slowest = runs.flatMap((run) => run.files).toSorted((one, other) => other.ms - one.ms);
process.stdout.write(
  `Slowest files, in seconds:${slowest.slice(0, SHOWN).map(secondsOf).join('')}\n`,
);
const failures = runs.flatMap((run) => run.failures);
for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
const sum = (name) => runs.reduce((total, run) => total + run[name], 0);
process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
process.exitCode = sum('failed') === 0 ? 0 : 1;

function secondsOf({ name, ms }) {
  return ` ${name} ${Math.round(ms / 1000)}`;
}

function count(file, exitCode) {
  const { passed, failures, files } = read(file);
  if (failures.length === 0 && exitCode !== 0)
    failures.push(`a run ended with exit code ${exitCode} and without a failed test`);
  return { passed, failed: failures.length, failures, files };
}

function read(file) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failures: ['a run has written no report'], files: [] };
  }
  const failures = report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && failed.length === 0) return [`${name}: ${message}`];
    return failed.map((test) => `${name}: ${test.fullName}\n${test.failureMessages.join('\n')}`);
  });
  const files = report.testResults.map(({ name, startTime, endTime }) => ({
    name: name.replace(/^.*\/test\//, ''),
    ms: endTime - startTime,
  }));
  return { passed: report.numPassedTests, failures, files };
}
