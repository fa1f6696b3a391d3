import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMasterKeyFile } from '../../src/secrets/store/master-keys.ts';
import { createDatabase, queryPostgres } from '../harness/postgres.ts';
import {
  startServiceProcess,
  temporaryFolder,
  type ServiceProcess,
  runTsigil,
} from '../harness/service.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const folder = temporaryFolder();
const masterKeyFile = join(folder, 'master.key');

const start = (database: string) =>
  startServiceProcess(folder, {
    TSIGIL_DATABASE_URL: database,
    TSIGIL_ENCRYPTION_MASTER_KEY_FILE: masterKeyFile,
    TSIGIL_ADMIN_TOKEN: 'restore-token-0123456789-0123456789abcdef',
  });

function restore(database: string, ...argv: string[]) {
  const { status, stdout, stderr } = runTsigil(
    folder,
    {
      TSIGIL_DATABASE_URL: database,
      TSIGIL_ENCRYPTION_MASTER_KEY_FILE: masterKeyFile,
    },
    'restore',
    ...argv,
  );
  return { status, stdout, stderr };
}

const sql = (statement: string) => queryPostgres(process.env.TEST_POSTGRES_URL ?? '', statement);

const namesOf = async (service: ServiceProcess, collection: string) =>
  (
    (await service.get(`/v2/${collection}?sort_key=name`)).body[collection] as { name: string }[]
  ).map(({ name }) => name);

test('withdraws from a restored dump what the configured database has deleted since, and refuses while a service uses that database', async () => {
  createMasterKeyFile(masterKeyFile);
  const live = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'restore_live');
  let service = await start(live);
  const ids: string[] = [];
  for (const name of ['deleted', 'kept']) {
    const body = { name, algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };
    ids.push(String((await service.post('/v2/tsigkeys', body)).body.id));
  }
  const created = await service.post('/v2/tokens', { name: 'revoked', roles: ['reader'] });
  await service.stop('SIGTERM');
  // A copy of all data at one point in time, as a dump is.
  await sql('CREATE DATABASE restore_dump TEMPLATE restore_live');
  const dump = live.replace(/[^/]*$/, 'restore_dump');

  service = await start(live);
  await service.delete(`/v2/tsigkeys/${ids[0]}`);
  await service.delete(`/v2/tokens/${String(created.body.id)}`);
  expect(restore(live, dump, '--yes', '--revive')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Stop the service and repeat the command') as string,
  });
  await service.stop('SIGTERM');

  for (const [source, problem] of [
    ['backup.db', 'Restore the dump into a new database with pg_restore'],
    [live, 'is the configured database itself'],
    [
      await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'restore_empty'),
      'is not a database of this service',
    ],
  ] as const)
    expect(restore(live, source, '--yes')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(problem) as string,
    });

  const { status, stdout } = restore(live, dump, '--yes');
  expect(status).toBe(0);
  expect(stdout).toContain('  token revoked: deleted\n  tsigkey deleted: deleted\nPrepared ');
  service = await start(dump);
  expect([await namesOf(service, 'tsigkeys'), await namesOf(service, 'tokens')]).toEqual([
    ['kept'],
    [],
  ]);
  const { records } = (await service.get('/v2/audit?action=database:restore')).body;
  expect(records).toMatchObject([
    { actor_kind: 'local', detail: { counts: { delete: 2 }, names: ['revoked', 'deleted'] } },
  ]);
  await service.stop('SIGTERM');

  const lost = live.replace(/[^/]*$/, 'restore_lost');
  expect(restore(lost, dump, '--yes')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('add --revive') as string,
  });
  expect(restore(lost, dump, '--yes', '--revive')).toMatchObject({ status: 0 });
});
