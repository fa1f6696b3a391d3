import { spawnSync } from 'node:child_process';

/** The environment of this process, with /usr/sbin and /sbin in PATH. */
export const TOOL_ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${process.env.PATH}:/usr/sbin:/sbin`,
};

/**
 * Returns whether a program is installed, for suites that need it. If the program is missing,
 * prints a warning. Throws instead if the environment variable REQUIRE contains the program's name
 * or `all`.
 */
export function hasProgram(name: string, debianPackage: string): boolean {
  const found =
    spawnSync('sh', ['-c', `command -v ${name}`], { env: TOOL_ENVIRONMENT }).status === 0;
  return isMet(found, name, `${name} is not installed (Debian package ${debianPackage})`);
}

/**
 * Returns `met`, which is whether a requirement of a suite is met. If not, prints `absence` as a
 * warning, or throws if REQUIRE contains `name` or `all`.
 */
export function isMet(met: boolean, name: string, absence: string): boolean {
  if (met) return true;
  const required = (process.env.REQUIRE ?? '').split(',');
  if (required.includes('all') || required.includes(name)) throw new Error(absence);
  process.stderr.write(`\n*** SKIPPED: ${absence} ***\n\n`);
  return false;
}
