import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EXPORT_FORMATS, exportKey } from '../../src/domain/key-formats/formats.ts';
import { SECRET, TSIGKEYS, create, type Resource } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from './session.ts';

let service: TestService;
let key: Resource;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  key = await create(service, TSIGKEYS, 'Transfer.example.');
});
afterAll(() => service.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tsigil-export-'));
  return () => rmSync(folder, { recursive: true, force: true });
});

const tsigil = (...argv: string[]) =>
  runInside({ variables: { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token } }, ...argv);
const written = (format: string) =>
  exportKey(format, { name: 'transfer.example', algorithm: 'hmac-sha256', secret: SECRET }).text;

test.each(Object.keys(EXPORT_FORMATS))(
  '0 for %s to standard output, by name, by id, and with -o -',
  async (format) => {
    for (const argv of [['Transfer.example.'], [key.id], [key.id, '-o', '-']]) {
      expect(await tsigil('tsigkey', 'export', '--format', format, ...argv)).toEqual({
        status: 0,
        out: written(format),
        err: '',
      });
    }
  },
);

describe('files', () => {
  const path = () => join(folder, 'transfer.key');
  const exported = (...argv: string[]) =>
    tsigil('tsigkey', 'export', key.id, '--format', 'bind', '-o', path(), ...argv);

  test('0 creates the file with mode 0600, and prints nothing', async () => {
    expect(await exported()).toEqual({ status: 0, out: '', err: '' });
    expect(readFileSync(path(), 'utf8')).toBe(written('bind'));
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  test('2 for an existing file, which stays unchanged', async () => {
    writeFileSync(path(), 'precious');
    const { status, err } = await exported();
    expect([status, readFileSync(path(), 'utf8')]).toEqual([2, 'precious']);
    expect(err).toContain('already exists. It was not changed.');
    expect(err).toContain('--overwrite');
  });

  test('0 with --overwrite replaces a file by one with mode 0600', async () => {
    writeFileSync(path(), 'precious', { mode: 0o644 });
    expect((await exported('--overwrite')).status).toBe(0);
    expect(readFileSync(path(), 'utf8')).toBe(written('bind'));
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['transfer.key']);
  });

  test('2 for an impossible path, and no file remains', async () => {
    const { status, err } = await tsigil(
      'tsigkey',
      'export',
      key.id,
      '--format',
      'bind',
      '-o',
      join(folder, 'none/at.all'),
      '--overwrite',
    );
    expect([status, readdirSync(folder)]).toEqual([2, []]);
    expect(err).toContain('cannot be written');
  });

  test('1 for a key that the consumer cannot use, and no file is created', async () => {
    const odd = await create(service, TSIGKEYS, 'two words');
    const { status, out, err } = await tsigil(
      'tsigkey',
      'export',
      odd.id,
      '--format',
      'bind',
      '-o',
      path(),
    );
    expect([status, out, existsSync(path())]).toEqual([1, '', false]);
    expect(err).toContain('the name must be a domain name');
  });
});

test('0 with a warning for a weak algorithm', async () => {
  await service.post('/v2/tsigkeys', { ...TSIGKEYS.body('old'), algorithm: 'hmac-md5' });
  const { status, out, err } = await tsigil('tsigkey', 'export', 'old', '--format', 'knsupdate');
  expect([status, out]).toEqual([0, `hmac-md5:old:${SECRET}\n`]);
  expect(err).toBe('hmac-md5 must not be used (RFC 8945 section 6)\n');
});

test.each([
  [2, ['export', 'Transfer.example.'], '--format'],
  [2, ['export', 'Transfer.example.', '--format', 'yaml'], 'Allowed choices are bind, knot'],
  [1, ['export', 'nobody', '--format', 'bind'], "No tsigkey is named 'nobody'"],
])('%d for tsigkey %j', async (status, argv, message) => {
  const ended = await tsigil('tsigkey', ...argv);
  expect([ended.status, ended.out]).toEqual([status, '']);
  expect(ended.err).toContain(message);
});
