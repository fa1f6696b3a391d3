import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { formatMasterKey, masterKeyOf, parseMasterKeys } from '../../src/core/master-key.ts';
import {
  addMasterKey,
  createMasterKeyFile,
  findMasterKeys,
  readMasterKeyFile,
} from '../../src/secrets/store/master-keys.ts';
import { temporaryFolder } from '../harness/service.ts';

const [one, two] = [masterKeyOf(randomBytes(32)), masterKeyOf(randomBytes(32))];

let folder: string;
let file: string;
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'master.key');
});

describe('a text of master keys', () => {
  test('has one key per line, and may have comments and empty lines', () => {
    const text = `# new\n${formatMasterKey(one)} # first\r\n\n  ${formatMasterKey(two)}\n`;
    expect(parseMasterKeys(text)).toEqual({ keys: [one, two] });
  });

  test('the id of a key is constant and differs from key to key', () => {
    expect(masterKeyOf(Buffer.alloc(32, 1)).id).toBe('IYV7T24K');
    expect(one.id).toMatch(/^[A-Z2-7]{8}$/);
    expect(one.id).not.toBe(two.id);
  });

  test.each([
    'tsigilmk_',
    'tsigilmk_AA',
    formatMasterKey(one).slice(0, -1),
    `${formatMasterKey(one)}A`,
    'password',
  ])('the error for %s states the line and does not quote the text', (line) => {
    const parsed = parseMasterKeys(`${formatMasterKey(two)}\n${line}\n`);
    expect(parsed).toEqual({
      problem: expect.stringMatching(/^line 2 is not a master key/) as string,
    });
    expect(JSON.stringify(parsed)).not.toContain('password');
  });

  test('without a key is refused', () => {
    expect(parseMasterKeys('# none\n')).toEqual({ problem: 'the file has no master key' });
  });
});

describe('a master key file', () => {
  test('is created with mode 0600 and can be read again', () => {
    const key = createMasterKeyFile(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readMasterKeyFile(file)).toMatchObject({ file, keys: [key], isReadable: false });
    expect(readdirSync(folder)).toEqual(['master.key']);
  });

  test('gets a new first line; its other lines and its mode do not change', () => {
    const first = createMasterKeyFile(file);
    const before = readFileSync(file, 'utf8');
    chmodSync(file, 0o640);
    const second = addMasterKey(file);
    expect(readMasterKeyFile(file).keys).toEqual([second, first]);
    expect(readFileSync(file, 'utf8').endsWith(before)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  test('that does not exist is created with a new key', () => {
    const key = addMasterKey(file);
    expect(readMasterKeyFile(file).keys).toEqual([key]);
  });

  test.each([
    [0o602, 'can be changed by other users (mode 0602)'],
    [0o620, 'can be changed by other users (mode 0620)'],
    [0o666, 'can be changed by other users (mode 0666)'],
  ])('with mode %o is refused', (mode, problem) => {
    createMasterKeyFile(file);
    chmodSync(file, mode);
    const found = readMasterKeyFile(file);
    expect(found).toMatchObject({ keys: [], problem: expect.stringContaining(problem) as string });
  });

  test.skipIf(process.geteuid?.() !== 0)('of another user is accepted and reported', () => {
    createMasterKeyFile(file);
    expect(readMasterKeyFile(file).otherOwner).toBeUndefined();
    chownSync(file, 12_345, 12_345);
    expect(readMasterKeyFile(file)).toMatchObject({ otherOwner: 12_345, keys: [{}] });
  });

  test.each([
    ['is missing', () => undefined, 'cannot be read: no such file or folder'],
    ['is empty', () => writeFileSync(file, '\n', { mode: 0o600 }), 'is empty'],
    ['is a folder', () => mkdirSync(file), 'is a folder, not a file'],
    ['is a named pipe', () => spawnSync('mkfifo', ['-m', '600', file]), 'is not a regular file'],
    [
      'is too large',
      () => writeFileSync(file, '#'.repeat(70_000), { mode: 0o600 }),
      'has 70000 bytes, but a master key file has at most 65536 bytes.',
    ],
    [
      'has no key',
      () => writeFileSync(file, 'hello\n', { mode: 0o600 }),
      'line 1 is not a master key',
    ],
  ])('that %s is refused with the reason', (_case, prepare, problem) => {
    prepare();
    expect(readMasterKeyFile(file)).toMatchObject({
      keys: [],
      source: `'${file}'`,
      problem: expect.stringContaining(problem) as string,
    });
  });
});

describe('the master keys of a service', () => {
  test('come from masterKey, else from masterKeyFile, else from the file beside the database', () => {
    const beside = createMasterKeyFile(join(folder, 'beside.key'));
    const inFile = createMasterKeyFile(file);
    const settings = { masterKey: formatMasterKey(one), masterKeyFile: file };
    const find = (given: object) => findMasterKeys(given, join(folder, 'beside.key'))?.keys;
    expect(find(settings)).toEqual([one]);
    expect(find({ masterKeyFile: file })).toEqual([inFile]);
    expect(find({})).toEqual([beside]);
    expect(findMasterKeys({}, join(folder, 'nosuch.key'))).toBeUndefined();
    expect(findMasterKeys({}, undefined)).toBeUndefined();
  });

  test('do not come from the file beside the database if the file in masterKeyFile is missing', () => {
    createMasterKeyFile(file);
    expect(findMasterKeys({ masterKeyFile: join(folder, 'nosuch') }, file)?.problem).toContain(
      'no such file',
    );
  });
});
