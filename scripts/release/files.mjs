// Writes files, folders and archives whose content and modes do not depend on the time or the user.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
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

function setModes(path) {
  const status = statSync(path);
  chmodSync(path, status.isDirectory() || (status.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (status.isDirectory()) for (const name of readdirSync(path)) setModes(join(path, name));
}
