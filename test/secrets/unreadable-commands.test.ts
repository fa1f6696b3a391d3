import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { KEY_MEMBERS } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';

let folder: string;
let service: TestService;
beforeEach(async () => {
  folder = temporaryFolder();
  service = await startTestService({}, { folder });
  for (const name of ['broken', 'whole'])
    await service.post('/v2/tsigkeys', {
      name,
      ...KEY_MEMBERS,
    });
  await service.close();
  const database = new DatabaseSync(join(folder, 'tsigil.db'));
  database.exec("UPDATE tsigkeys SET secret = 'AAAA' WHERE name = 'broken'");
  database.close();
  service = await startTestService({}, { folder });
});

const run = (...argv: string[]) => runInside(service, 'tsigkey', ...argv);

describe('while the secret of a key is unreadable', () => {
  test('list and show work without --reveal', async () => {
    expect((await run('list', '-f', 'value', '-c', 'name')).out.split('\n').toSorted()).toEqual([
      '',
      'broken',
      'whole',
    ]);
    const shown = await run('show', 'broken', '-f', 'value', '-c', 'name', '-c', 'secret');
    expect(shown.out).toBe('broken\n(hidden)\n');
    for (const argv of [['list'], ['show', 'broken']]) {
      const { status, err } = await run(...argv, '--reveal');
      expect([status, err]).toEqual([3, expect.stringContaining('cannot be decrypted')]);
    }
  });

  test('encryption verify counts it', async () => {
    const { status, out, err } = await runInside(service, 'encryption', 'verify');
    expect([status, out]).toEqual([
      1,
      expect.stringMatching(
        /^tsigkeys .*: cannot be decrypted\n2 secrets checked, 1 unreadable\n0 tokens checked; /,
      ),
    ]);
    expect(err).toContain('1 secret cannot be decrypted');
  });

  test('set selects the key by its name to replace the secret', async () => {
    expect((await run('set', 'broken', '--generate')).status).toBe(0);
    const { out } = await run('show', 'broken', '--reveal', '-f', 'value', '-c', 'secret');
    expect(out).toMatch(/^[\w+/]{43}=\n$/);
  });

  test('delete selects the key by its name', async () => {
    expect(await run('delete', 'broken', 'whole')).toMatchObject({
      status: 0,
      out: 'broken: deleted\nwhole: deleted\n',
    });
  });
});
