import { spawnSync } from 'node:child_process';

/**
 * Tells whether a program is installed, for suites that need one. Where it is not, says so in one loud line, and fails if
 * the environment variable REQUIRE names the program or is `all`.
 */
export function hasProgram(name: string, debianPackage: string): boolean {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } }).status === 0;
  if (found) return true;
  const required = (process.env.REQUIRE ?? '').split(',');
  const sentence = `${name} is not installed (Debian package ${debianPackage})`;
  if (required.includes('all') || required.includes(name)) throw new Error(sentence);
  process.stderr.write(`\n*** SKIPPED: ${sentence} ***\n\n`);
  return false;
}
