import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMet, TOOL_ENVIRONMENT } from './tools.ts';

/** A small file system, mounted at `folder`. */
export interface SmallFileSystem {
  readonly folder: string;
  /** Remounts the file system read-only, as the kernel does when a disk fails. */
  fail(): void;
  remove(): void;
}

function run(...command: [string, ...string[]]): boolean {
  const [program, ...parameters] = command;
  return spawnSync(program, parameters, { stdio: 'ignore', env: TOOL_ENVIRONMENT }).status === 0;
}

/**
 * Mounts a tmpfs of `size`, such as `2m`, at `parent`/memory. Returns undefined if the mount fails.
 */
export function mountMemory(parent: string, size: string): SmallFileSystem | undefined {
  const folder = join(parent, 'memory');
  mkdirSync(folder);
  if (!run('mount', '-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', folder))
    return undefined;
  return mounted(folder);
}

/**
 * Creates an ext4 file system in an image file of 16 MiB and mounts it at `parent`/ext4. Returns
 * undefined if a command fails.
 */
export function mountExt4(parent: string): SmallFileSystem | undefined {
  const folder = join(parent, 'ext4');
  const image = join(parent, 'ext4.img');
  mkdirSync(folder);
  const made =
    run('truncate', '-s', '16M', image) &&
    run('mkfs.ext4', '-q', image) &&
    run('mount', '-o', 'loop', image, folder);
  return made ? mounted(folder) : undefined;
}

function mounted(folder: string): SmallFileSystem {
  return {
    folder,
    fail: () => void run('mount', '-o', 'remount,abort', folder),
    remove() {
      run('umount', '--lazy', folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Returns whether `mount` succeeds for this user, as `isMet` does.
 */
export function canMount(
  mount: (parent: string) => SmallFileSystem | undefined,
  what: string,
): boolean {
  const isMounted = () => {
    const parent = mkdtempSync(join(tmpdir(), 'tsigil-mount-'));
    const probe = mount(parent);
    probe?.remove();
    rmSync(parent, { recursive: true, force: true });
    return probe !== undefined;
  };
  return isMet(isMounted, {
    name: 'mount',
    absence: `${what} cannot be mounted by this user`,
    command: 'run npm test as root',
  });
}

/** Writes to `file` until its file system has no space left. */
export function fillWith(file: string): void {
  const descriptor = openSync(file, 'w');
  try {
    for (const size of [1 << 16, 4096, 1]) {
      try {
        for (;;) writeSync(descriptor, Buffer.alloc(size, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}
