// Writes files, folders and archives whose content and modes do not depend on the time or the user.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Runs a program and returns its output. Throws an error with the output if the program fails. */
export function run(program, parameters, folder, environment = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, parameters, {
    cwd: folder,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} failed with status ${status}: ${stdout}${stderr}`);
  return stdout;
}

/**
 * Copies files and folders from `source` to the same paths in `target`. Sets modes as `copy` does.
 */
export function copyAll(source, paths, target) {
  for (const path of paths) copy(join(source, path), join(target, path));
}

/**
 * Copies a file or folder, except the paths for which `filter` returns false. Follows symbolic
 * links. Folders and executable files get mode 0755, and other files mode 0644.
 */
export function copy(source, target, filter = () => true) {
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target, { recursive: true, dereference: true, filter });
  setModes(target);
}

/** Returns the paths of all files below `folder`, sorted and relative to `folder`. */
export function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => lstatSync(join(folder, path)).isFile())
    .sort();
}

/** Writes a folder as a .tar.gz archive. The path of each entry begins with the folder's name. */
export function archive(folder, file, time) {
  const order = ['--sort=name', `--mtime=@${time}`, '--format=ustar'];
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  const parameters = ['--use-compress-program=gzip -9n', '-cf', file, basename(folder)];
  run('tar', [...order, ...owner, ...parameters], dirname(folder));
}

/**
 * Returns the modification time of all files of a release, in seconds since 1970: SOURCE_DATE_EPOCH,
 * or the time of the commit. Without SOURCE_DATE_EPOCH, throws if the checkout differs from the
 * commit.
 */
export function releaseTime(checkout) {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH);
  const changes = run('git', ['status', '--porcelain'], checkout);
  if (changes !== '')
    throw new Error(
      `The checkout differs from its commit:\n${changes}Commit the changes, or set SOURCE_DATE_EPOCH to release them.`,
    );
  return Number(run('git', ['log', '-1', '--format=%ct'], checkout));
}

const CHECKSUMS = 'SHA256SUMS';

/** Writes and prints SHA256SUMS for all other files in `folder`. */
export function writeChecksums(folder) {
  const names = readdirSync(folder).filter((name) => name !== CHECKSUMS);
  const lines = names.sort().map((name) => {
    const hash = createHash('sha256').update(readFileSync(join(folder, name)));
    return `${hash.digest('hex')}  ${name}\n`;
  });
  writeFileSync(join(folder, CHECKSUMS), lines.join(''));
  process.stdout.write(lines.join(''));
}

function setModes(path) {
  const status = statSync(path);
  chmodSync(path, status.isDirectory() || (status.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (status.isDirectory()) for (const name of readdirSync(path)) setModes(join(path, name));
}
