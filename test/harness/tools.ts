import { spawnSync } from 'node:child_process';
import { test, TestRunner } from 'vitest';
import { recordMissing } from './evidence.ts';

/**
 * Whether every optional program counts as missing. `.ci/run` runs the tests in this way too, as
 * they run on a machine with only Node.js and Git.
 */
const IS_BARE = process.env.TEST_BARE === '1';

/** The environment of this process, with /usr/sbin and /sbin in PATH. */
export const TOOL_ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${process.env.PATH}${IS_BARE ? '' : ':/usr/sbin:/sbin'}`,
};

/** What a suite needs beyond Node.js and the npm packages. */
export interface Requirement {
  /** The name by which the environment variable REQUIRE lists it. */
  readonly name: string;
  /** States what is missing. */
  readonly absence: string;
  /** The Debian package that contains it. */
  readonly debianPackage?: string;
  /** The command that provides it, if no Debian package does. */
  readonly command?: string;
  /** Whether an npm package contains it, so that a machine without optional programs has it. */
  readonly isNpmPackage?: boolean;
}

/** Returns whether a program is installed, as `isMet` does. */
export function hasProgram(name: string, debianPackage: string): boolean {
  const isThere = () =>
    spawnSync('sh', ['-c', `command -v ${name}`], { env: TOOL_ENVIRONMENT }).status === 0;
  return isMet(isThere, { name, absence: `${name} is not installed`, debianPackage });
}

const reported = new Set<string>();

/**
 * Returns whether a requirement of a suite is met. If not, prints a warning, and adds a skipped
 * test with this warning to the current suite, so that no suite is left out silently. Throws
 * instead if the environment variable REQUIRE contains the name of the requirement or `all`.
 */
export function isMet(check: () => boolean, requirement: Requirement): boolean {
  const isHidden = IS_BARE && requirement.isNpmPackage !== true;
  if (!isHidden && check()) return true;
  const { name, absence, debianPackage } = requirement;
  const text =
    debianPackage === undefined ? absence : `${absence} (Debian package ${debianPackage})`;
  const required = (process.env.REQUIRE ?? '').split(',');
  if (required.includes('all') || required.includes(name)) throw new Error(text);
  if (!reported.has(text)) {
    reported.add(text);
    process.stderr.write(`\n*** SKIPPED: ${text} ***\n\n`);
    recordMissing(requirement);
  }
  const notice = `*** SKIPPED: ${text} ***`;
  const isTold = () =>
    TestRunner.getCurrentSuite().tasks.some((task) => 'name' in task && task.name === notice);
  if (TestRunner.getCurrentTest() === undefined && !isTold()) test.skip(notice);
  return false;
}

/**
 * Runs a program, waits until it exits, and returns its output. Throws an error with the output if
 * the program fails.
 */
export function run(folder: string, program: string, ...parameters: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, {
    cwd: folder,
    env: TOOL_ENVIRONMENT,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}
