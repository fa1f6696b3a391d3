import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { recordSecret } from '../harness/evidence.ts';
import {
  createDatabase,
  type PostgresServer,
  queryPostgres,
  startPostgres,
} from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';

const PASSWORD = 'p4ss:w\\ord/with?odd&characters#';

let folder: string;
let server: PostgresServer;
let url: string;

function file(name: string, content: string, mode: number): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

beforeAll(async () => {
  folder = temporaryFolder();
  chmodSync(folder, 0o755);
  recordSecret(PASSWORD);
  const rules = 'host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n';
  server = await startPostgres({ hba_file: file('hba.conf', rules, 0o644) });
  url = (await createDatabase(server.url, 'passwords')).replace('postgres@', 'tsigil@');
  await queryPostgres(
    server.url,
    `CREATE ROLE tsigil LOGIN PASSWORD ${pg.escapeLiteral(PASSWORD)}; ALTER DATABASE passwords OWNER TO tsigil`,
  );
});

async function start(variables: Record<string, string>): Promise<number | null> {
  const service = await startServiceProcess(folder, {
    TSIGIL_DATABASE_URL: url,
    ...variables,
  });
  expect((await service.get('/v2/pools')).status).toBe(200);
  return service.stop('SIGTERM');
}

test.each<[string, () => Record<string, string>]>([
  ['PGPASSWORD', () => ({ PGPASSWORD: PASSWORD })],
  ['PGPASSWORD_FILE', () => ({ PGPASSWORD_FILE: file('password', `${PASSWORD}\n`, 0o400) })],
  [
    'PGPASSFILE',
    () => ({
      PGPASSFILE: file('pgpass', `*:*:*:tsigil:${PASSWORD.replaceAll(/[:\\]/g, '\\$&')}\n`, 0o600),
    }),
  ],
  [
    'the URL',
    () => ({
      TSIGIL_DATABASE_URL: url.replace('tsigil@', `tsigil:${encodeURIComponent(PASSWORD)}@`),
      PGPASSWORD: 'another',
    }),
  ],
])('a service gets the password for PostgreSQL from %s', async (_, variables) => {
  expect(await start(variables())).toBe(0);
});

test('the service exits with 1 for a missing or wrong password, and no message shows the password', async () => {
  for (const variables of [{}, { PGPASSWORD: `${PASSWORD}x` }]) {
    const error: unknown = await start(variables).catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/The service ended with 1/);
    expect(String(error)).not.toContain(PASSWORD);
  }
});
