import pg from 'pg';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMasterKeyFile } from '../../src/secrets/store/master-keys.ts';
import { createDatabase } from '../harness/postgres.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';

let folder: string;
let url: string;
let client: pg.Client;
let keyFile: string;
beforeEach(async () => {
  folder = temporaryFolder();
  keyFile = join(folder, 'own.key');
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `faults-${Date.now()}`);
  client = new pg.Client({ connectionString: url });
  await client.connect();
});
afterEach(() => client.end());

/** Returns the first value of the first row of a query. */
async function value(text: string): Promise<unknown> {
  const { rows } = await client.query<Record<string, unknown>>(text);
  return Object.values(rows[0] ?? {})[0];
}

const masterKey = () => ({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: keyFile });

async function withService<T>(
  variables: Record<string, string>,
  work: (service: TestService) => Promise<T>,
): Promise<T> {
  const service = await startTestService(
    { TSIGIL_DATABASE_URL: url, ...variables },
    { folder, encryptionIntervalMs: 200 },
  );
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

async function create(service: TestService, count: number): Promise<void> {
  for (let first = 0; first < count; first += 20)
    await Promise.all(
      Array.from({ length: Math.min(20, count - first) }, (_, index) =>
        service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: `k${first + index}` }),
      ),
    );
}

const list = async (service: TestService) =>
  (await service.get('/v2/tsigkeys?sort_key=name&limit=max')).text.replaceAll(service.url, '');

const CLEAR = 'SELECT count(*)::int AS n FROM tsigkeys WHERE secret_key IS NULL';

test(
  'no secret is lost if an acceptance of clear secrets is killed, and the next one completes it',
  { timeout: 480_000 },
  async () => {
    const count = 500;
    const clear = { TSIGIL_ENCRYPTION_REQUIRED: 'false' };
    const wanted = await withService(clear, async (service) => {
      await create(service, count);
      return list(service);
    });
    await client.query('CREATE TABLE clear_keys AS SELECT * FROM tsigkeys');
    createMasterKeyFile(keyFile);
    const accept = () =>
      spawn(process.execPath, [PROGRAM, 'encryption', 'accept', '--yes'], {
        cwd: folder,
        env: cleanEnvironment({ TSIGIL_DATABASE_URL: url, ...masterKey() }),
        stdio: 'ignore',
      });
    const accepted = async () => (await once(accept(), 'exit'))[0] as unknown;
    expect(await accepted()).toBe(0);
    const rounds = 10;
    let partial = 0;
    for (let round = 0; round < rounds; round += 1) {
      await client.query(
        'UPDATE tsigkeys k SET secret = c.secret, secret_key = NULL FROM clear_keys c WHERE c.id = k.id',
      );
      const child = accept();
      const ended = once(child, 'exit');
      // Each round kills the process after it has encrypted more secrets than in the last round.
      const limit = count - Math.floor((round * count) / rounds);
      while (Number(await value(CLEAR)) >= limit && child.exitCode === null) await nextTurn();
      child.kill('SIGKILL');
      await ended;
      const left = Number(await value(CLEAR));
      if (left > 0 && left < count) partial += 1;
      expect(await withService(clear, list).catch((error: unknown) => String(error))).toContain(
        'Secrets are encrypted with master key',
      );
      expect(await accepted()).toBe(0);
      expect(await value(CLEAR)).toBe(0);
      expect(await withService(masterKey(), list)).toBe(wanted);
    }
    expect(partial).toBeGreaterThan(0);
  },
);
