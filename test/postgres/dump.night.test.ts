import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createMasterKeyFile } from '../../src/secrets/store/master-keys.ts';
import { createDatabase, startPostgres, type PostgresServer } from '../harness/postgres.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { isMet } from '../harness/tools.ts';

/**
 * Returns the folder with the programs of an installed PostgreSQL. The npm package of PostgreSQL
 * lacks some programs.
 */
function installedPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => +b - +a) : [];
  return versions
    .map((version) => join(root, version, 'bin'))
    .find((bin) => ['postgres', 'pg_dump'].every((name) => existsSync(join(bin, name))));
}

const programs = installedPrograms();
const isInstalled = isMet(() => programs !== undefined, {
  name: 'postgresql',
  absence: 'PostgreSQL with pg_dump is not installed',
  debianPackage: 'postgresql',
});

describe.runIf(isInstalled)('a dump of pg_dump', () => {
  const folder = temporaryFolder();
  const keyFile = join(folder, 'master.key');
  const list = async (service: TestService) =>
    (await service.get('/v2/tsigkeys?sort_key=name')).text.replaceAll(service.url, '');
  /** Every secret that a key has or had. */
  const secrets: string[] = [];
  let server: PostgresServer;
  let url: string;
  let wanted: string;

  beforeAll(async () => {
    server = await startPostgres({}, programs);
    url = await createDatabase(server.url, 'dumped');
    createMasterKeyFile(keyFile);
    const service = await start(url);
    const newSecret = () => {
      const secret = randomBytes(32).toString('base64');
      secrets.push(secret);
      return secret;
    };
    const count = 400;
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const body = { ...KEY_MEMBERS, name: `k${index}`, secret: newSecret() };
      ids.push((await service.post('/v2/tsigkeys', body)).body.id as string);
    }
    for (const id of ids.slice(0, count / 2))
      await service.patch(`/v2/tsigkeys/${id}`, { secret: newSecret() });
    for (const id of ids.slice(count / 4, count / 2)) await service.delete(`/v2/tsigkeys/${id}`);
    wanted = await list(service);
    await service.close();
  }, 120_000);

  const start = (database: string) =>
    startTestService(
      { TSIGIL_DATABASE_URL: database, TSIGIL_ENCRYPTION_MASTER_KEY_FILE: keyFile },
      { folder },
    );

  function run(program: string, ...parameters: string[]): Buffer {
    const { status, stdout, stderr } = spawnSync(join(programs ?? '', program), parameters, {
      maxBuffer: 1 << 28,
    });
    expect([status, stderr.toString()]).toEqual([0, '']);
    return stdout;
  }

  /** Restores a dump into a new database, and returns its URL. */
  async function restore(name: string, text: Buffer): Promise<string> {
    const restored = await createDatabase(server.url, name);
    writeFileSync(join(folder, 'dump.sql'), text);
    run(
      'psql',
      '-q',
      '-v',
      'ON_ERROR_STOP=1',
      '-o',
      '/dev/null',
      '-d',
      restored,
      '-f',
      join(folder, 'dump.sql'),
    );
    return restored;
  }

  test('contains no secret, and a service starts on it with the master key and returns the same list', async () => {
    const dump = run('pg_dump', url);
    expect(dump.includes('tsigkeys')).toBe(true);
    const found = secrets.filter((secret) =>
      [secret, Buffer.from(secret, 'base64'), Buffer.from(secret, 'base64').toString('hex')].some(
        (each) => dump.includes(each),
      ),
    );
    expect(found).toEqual([]);
    const service = await start(await restore('restored', dump));
    expect(await list(service)).toBe(wanted);
    await service.close();
  });
});
