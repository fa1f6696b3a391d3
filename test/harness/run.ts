import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Requirement } from './tools.ts';

/**
 * Creates a folder for the output of services in this run. A test searches this output for secrets.
 * At the end of the run, prints what was skipped. Vitest calls this once for each project, and the
 * suites use the last folder.
 */
export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-test-'));
  process.env.TEST_RUN_FOLDER = folder;
  return () => {
    if (process.env.TEST_RUN_FOLDER === folder) process.stdout.write(describeSkipped(folder));
    if (process.env.KEEP === undefined) rmSync(folder, { recursive: true, force: true });
  };
}

/** Returns a line that lists what is missing, and how to run the tests that need it. */
function describeSkipped(folder: string): string {
  const texts = readdirSync(folder)
    .filter((name) => name.startsWith('missing-'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  const missing = texts
    .flatMap((text) => text.split('\n').filter(Boolean))
    .map((line) => JSON.parse(line) as Requirement);
  const sorted = (each: (requirement: Requirement) => string | undefined) =>
    [...new Set(missing.flatMap((requirement) => each(requirement) ?? []))].sort();
  if (missing.length === 0) return '';
  const [names, packages] = [sorted(({ name }) => name), sorted((each) => each.debianPackage)];
  const remedies = [
    ...(packages.length === 0 ? [] : [`apt install ${packages.join(' ')}`]),
    ...sorted(({ command }) => command),
  ];
  return `*** SKIPPED: the tests that need ${names.join(', ')}. To run them: ${remedies.join('; ')} ***\n`;
}
