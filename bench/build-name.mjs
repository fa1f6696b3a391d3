import { spawnSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Returns the version of the build with this program, such as `../older/dist/main.js`, and the commit
 * of its checkout, with `-dirty` if files have changed since. A build outside a checkout has only a
 * version.
 */
export function nameBuild(program) {
  const folder = realpathSync(join(dirname(program), '..'));
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (git(folder, 'rev-parse', '--show-toplevel') !== folder) return version;
  return `${version} (${git(folder, 'describe', '--always', '--abbrev=8', '--exclude=*', '--dirty')})`;
}

function git(folder, ...args) {
  return spawnSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).stdout?.trim();
}
