import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Prints the test files that run alike with every program installed and in both sizes, so that a
 * second run of the same commit need not repeat them: all their tests passed in the report of vitest
 * that is the argument, and neither they nor the files of test/ that they import ask for a program
 * or for the size of the run. The paths are relative to the working folder.
 */
const DEPENDING = ['test/harness/tools.ts', 'test/harness/sizes.ts'];

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const files = new Map();
for (const { name, status, assertionResults } of testResults) {
  const file = name.slice(name.lastIndexOf('/test/') + 1);
  const isWhole =
    status === 'passed' &&
    assertionResults.length > 0 &&
    assertionResults.every((test) => test.status === 'passed');
  files.set(file, isWhole && (files.get(file) ?? true));
}
for (const [file, isWhole] of [...files].toSorted())
  if (isWhole && !importsOf(file).some((each) => DEPENDING.includes(each)))
    process.stdout.write(`${file}\n`);

/** Returns a file of the tests, and the other ones that it imports. */
function importsOf(file, found = []) {
  if (found.includes(file) || !file.startsWith('test/')) return found;
  found.push(file);
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)'/g))
    importsOf(join(dirname(file), path), found);
  return found;
}
