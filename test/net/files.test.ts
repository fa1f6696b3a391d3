import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createFolder, readWholeFile } from '../../src/net/files.ts';
import { faultOf } from '../../src/net/faults.ts';
import { temporaryFolder } from '../harness/service.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

/** Returns the reason why `work` fails. */
function reasonOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return faultOf(error).message;
  }
}

describe('reading a file', () => {
  test('returns its content, even through a symbolic link', () => {
    writeFileSync(join(folder, 'file'), 'text');
    symlinkSync('file', join(folder, 'link'));
    expect(readWholeFile(join(folder, 'link')).toString()).toBe('text');
    expect(readWholeFile('/dev/null').toString()).toBe('');
  });

  test('does not wait for a named pipe, a device or a folder', () => {
    const pipe = join(folder, 'pipe');
    spawnSync('mkfifo', [pipe]);
    symlinkSync(pipe, join(folder, 'link'));
    for (const path of [pipe, join(folder, 'link'), '/dev/zero'])
      expect(reasonOf(() => readWholeFile(path))).toBe(
        'the path is a pipe or a device, not a file',
      );
    expect(reasonOf(() => readWholeFile(folder))).toBe('the path is a folder, not a file');
    expect(reasonOf(() => readWholeFile(join(folder, 'nosuch')))).toBe('no such file or folder');
  });
});

describe('creating a folder', () => {
  test('also creates the missing parent folders, with mode 0700, and accepts existing folders', () => {
    const path = join(folder, 'a/b/c');
    createFolder(path);
    createFolder(path);
    for (const each of ['a', 'a/b', 'a/b/c'])
      expect(statSync(join(folder, each)).mode & 0o777).toBe(0o700);
  });

  test('follows a symbolic link, and refuses a file in the path', () => {
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'link'));
    createFolder(join(folder, 'link/below'));
    expect(existsSync(join(folder, 'real/below'))).toBe(true);
    writeFileSync(join(folder, 'file'), '');
    expect(reasonOf(() => createFolder(join(folder, 'file/below')))).toBeDefined();
  });

  test('fails at once in /proc', () => {
    expect(reasonOf(() => createFolder('/proc/nosuch/below'))).toBe('no such file or folder');
  });
});
