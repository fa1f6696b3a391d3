import { existsSync, readFileSync } from 'node:fs';

/**
 * Prints the ten slowest files, what was repeated and why, the failed tests and, as the last line,
 * "N passed, N failed" for runs of vitest, and fails if a test failed. The arguments are pairs of a
 * report and an exit code, and at last the report of the repetition, if there was one, whose
 * files count instead of those of the last run. A file without a result counts as a failed test. So
 * does a run that failed without a failed test: it did not end.
 */
const SHOWN = 10;
const [pairs, again] = [process.argv.slice(2, -1), process.argv.at(-1)];
const runs = pairs.flatMap((file, index) =>
  index % 2 === 0 ? [{ files: read(file), exitCode: Number(pairs[index + 1]) }] : [],
);
const repeated = existsSync(again) ? read(again) : [];
for (const name of new Set(repeated.map((file) => file.name))) {
  print(`repeated: ${name}`);
  for (const failure of runs
    .at(-1)
    .files.filter((file) => file.name === name)
    .flatMap(failuresOf))
    print(`The first failure: ${failure}`);
}
const last = runs.at(-1);
if (last.files.some((file) => failuresOf(file).length > 0)) last.exitCode = 0; // explained by them
last.files = [
  ...last.files.filter(({ name }) => repeated.every((file) => file.name !== name)),
  ...repeated,
];

const slowest = runs
  .flatMap((run) => run.files)
  .map(({ name, startTime, endTime }) => ({
    name,
    seconds: Math.round((endTime - startTime) / 1000),
  }))
  .toSorted((one, other) => other.seconds - one.seconds);
print(
  `Slowest files, in seconds:${slowest
    .slice(0, SHOWN)
    .map(({ name, seconds }) => ` ${name} ${seconds}`)
    .join('')}`,
);
const failures = runs.flatMap(({ files, exitCode }) => {
  const found = files.flatMap(failuresOf);
  return found.length === 0 && exitCode !== 0
    ? [`a run ended with exit code ${exitCode} and without a failed test`]
    : found;
});
for (const failure of failures) print(`FAILED: ${failure}`);
const passed = runs
  .flatMap((run) => run.files)
  .flatMap((file) => file.assertionResults)
  .filter((test) => test.status === 'passed').length;
print(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;

function print(line) {
  process.stdout.write(`${line}\n`);
}

/** Returns the files of a report, with their names within test/. */
function read(report) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    return [
      {
        name: report,
        status: 'failed',
        message: 'a run has written no report',
        startTime: 0,
        endTime: 0,
        assertionResults: [],
      },
    ];
  }
  return results.map((file) => ({ ...file, name: file.name.replace(/^.*\/test\//, '') }));
}

function failuresOf({ name, status, message, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (status === 'failed' && failed.length === 0) return [`${name}: ${message}`];
  return failed.map((test) => `${name}: ${test.fullName}\n${test.failureMessages.join('\n')}`);
}
