import { join } from 'node:path';
import { rmSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/sql/migrate.ts';
import { auditRecords } from '../harness/audit.ts';
import { startServiceProcess, temporaryFolder, runTsigil } from '../harness/service.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

/** Runs a command of the program in `folder`, and expects it to succeed. */
function run(...words: string[]) {
  const { status, stderr } = runTsigil(folder, {}, ...words);
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('Warning: the audit')]);
}

const records = (file = 'var/tsigil.db') => auditRecords(`sqlite:${join(folder, file)}`);
const localActions = async (file?: string) =>
  (await records(file))
    .filter(({ actor_kind: kind }) => kind === 'local')
    .map(({ action }) => action);

test('the creation of the first token, a backup, a scrub and a copy add records with a local user as the actor', async () => {
  const service = await startServiceProcess(folder, { TSIGIL_ADMIN_TOKEN: '' });
  run('backup', '--to', 'while-it-runs.db');
  expect(await service.stop('SIGTERM')).toBe(0);
  run('backup', '--to', 'copy.db');
  run('encryption', 'scrub', '--yes');
  run('copy-database', '--from', 'sqlite:var/tsigil.db', '--to', 'sqlite:other/target.db');
  expect(await localActions()).toEqual([
    'tokens:create',
    'database:backup',
    'database:backup',
    'encryption:scrub',
  ]);
  expect(await localActions('other/target.db')).toEqual(['database:copy']);
  const backup = (await records()).find(({ action }) => action === 'database:backup');
  expect(backup).toMatchObject({
    actor_kind: 'local',
    actor_id: `uid:${process.getuid?.()}`,
    request_id: null,
    outcome: 'success',
  });
});

test('a schema update and a reset of lost secrets add records with a local user as the actor', async () => {
  run('migrate');
  const service = await startServiceProcess(folder);
  const key = {
    name: 'transfer-key',
    ...KEY_MEMBERS,
  };
  expect((await service.post('/v2/tsigkeys', key)).status).toBe(201);
  expect(await service.stop('SIGTERM')).toBe(0);
  rmSync(join(folder, 'var/master.key'));
  run('encryption', 'reset', '--yes');
  const trail = await records();
  expect(trail.filter(({ actor_kind: kind }) => kind === 'local')).toMatchObject([
    { action: 'database:migrate', detail: { steps: MIGRATIONS.map(({ number }) => number) } },
    {
      action: 'encryption:reset',
      detail: { counts: { update: 1 }, names: ['transfer-key'] },
    },
  ]);
  // The next start replaces the lost key of the audit trail and continues the chain.
  const again = await startServiceProcess(folder);
  expect((await again.post('/v2/tlds', { name: 'com' })).status).toBe(201);
  expect(await again.stop('SIGTERM')).toBe(0);
  expect((await records()).every(({ batch }) => batch !== null)).toBe(true);
});
