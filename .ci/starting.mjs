import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Prints the suites of `npm test` that start programs: they import the module that finds programs,
 * directly or through another one of test/.
 */
const TOOLS = 'test/harness/tools.ts';

for (const name of readdirSync('test', { recursive: true }).toSorted())
  if (name.endsWith('.test.ts') && !name.endsWith('.night.test.ts'))
    if (importsOf(join('test', name)).includes(TOOLS)) process.stdout.write(`test/${name}\n`);

/** Returns a file of the tests, and the other ones that it imports. */
function importsOf(file, found = []) {
  if (found.includes(file) || !file.startsWith('test/')) return found;
  found.push(file);
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)'/g))
    importsOf(join(dirname(file), path), found);
  return found;
}
