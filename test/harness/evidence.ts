import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SHORTEST_SECRET } from './secret-search.ts';

/**
 * Collects the output of the programs under test, and the secrets and tokens that the tests use. A
 * test at the end of the run searches the output for the secrets.
 */

/** Returns the folder of this run. Throws outside vitest. */
export function runFolder(): string {
  const folder = process.env.TEST_RUN_FOLDER;
  if (folder === undefined)
    throw new Error('The suites run under vitest, which sets TEST_RUN_FOLDER');
  return folder;
}

const files = new Map<string, number>();

/** Appends a line to a file of this process. Keeps the file open, because tests log many lines. */
function append(name: string, line: string): void {
  let file = files.get(name);
  if (file === undefined) {
    file = openSync(join(runFolder(), `${name}-${process.pid}.txt`), 'a');
    files.set(name, file);
  }
  writeSync(file, `${line}\n`);
}

/** Records log lines, error bodies, metrics or other output of a program. `kind` names the file. */
export function recordShown(kind: 'log' | 'error' | 'metrics' | 'output', text: string): void {
  append(`shown-${kind}`, text);
}

/**
 * Records a secret or token that must not appear in any output. Ignores a secret with fewer than 16
 * characters, or fewer than 8 different characters, because it could appear by chance.
 */
export function recordSecret(secret: unknown): void {
  if (typeof secret === 'string' && secret.length >= SHORTEST_SECRET && new Set(secret).size >= 8) {
    append('secrets', JSON.stringify(secret));
  }
}

/** Records that a program is missing, so that the end of the run can list what was skipped. */
export function recordMissing(requirement: object): void {
  append('missing', JSON.stringify(requirement));
}

/** Returns the recorded output by file, and all recorded secrets. */
export function readEvidence(): { shown: Map<string, string>; secrets: string[] } {
  const files = readdirSync(runFolder());
  const read = (name: string) => readFileSync(join(runFolder(), name), 'utf8');
  const shown = new Map(
    files.filter((name) => name.startsWith('shown-')).map((name) => [name, read(name)]),
  );
  const secrets = files
    .filter((name) => name.startsWith('secrets-'))
    .flatMap((name) => read(name).split('\n').filter(Boolean))
    .map((line) => JSON.parse(line) as string);
  return { shown, secrets: [...new Set(secrets)] };
}
