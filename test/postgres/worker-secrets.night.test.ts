import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { recordSecret } from '../harness/evidence.ts';
import { createDatabase } from '../harness/postgres.ts';
import { initialEnvironment, listeningPorts } from '../harness/process-state.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

const TOKEN = 'worker-secrets-token-0123456789-0123456789';
const PASSWORD = 'password-of-the-database-0123456789';
const CREDENTIAL = 'application-credential-secret-0123456789';
const folder = temporaryFolder();
let url: string;
beforeAll(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'worker-secrets');
  recordSecret(PASSWORD);
  recordSecret(CREDENTIAL);
});

async function start(variables: Record<string, string> = {}): Promise<ServiceProcess> {
  const service = await startServiceProcess(folder, {
    TSIGIL_DATABASE_URL: url,
    TSIGIL_ADMIN_TOKEN: TOKEN,
    TSIGIL_WORKERS: '2',
    ...variables,
  });
  onTestFinished(async () => {
    if (service.process.exitCode === null) await service.stop('SIGTERM');
  });
  return service;
}

const listening = (service: ServiceProcess) =>
  [...service.output().matchAll(/"pid":(\d+).*"listening"/g)].map(([, pid]) => Number(pid));

describe.runIf(process.platform === 'linux')('the workers of a service', () => {
  test('use all settings and secrets even after a restart, and have none of them in their environment', async () => {
    const secrets = {
      PGPASSWORD: PASSWORD,
      TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_ID: 'id',
      TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_SECRET: CREDENTIAL,
      TSIGIL_TOKEN: 'a-token-of-a-client-0123456789',
    };
    const service = await start({ ...secrets, TSIGIL_API_DEFAULT_LIMIT: '1', KEPT: 'yes' });
    await expect.poll(() => listening(service)).toHaveLength(2);
    const [first = 0] = listening(service);
    process.kill(first, 'SIGKILL');
    await expect.poll(() => listening(service)).toHaveLength(3);
    for (const pid of listening(service).slice(1)) {
      const environment = initialEnvironment(pid);
      expect(environment).toContain('KEPT=yes');
      expect(environment.filter((entry) => /^(?:TSIGIL_|PGPASSWORD)/.test(entry))).toEqual([]);
      for (const secret of [TOKEN, ...Object.values(secrets).slice(2)])
        expect(environment.join('\n')).not.toContain(secret);
    }
    for (const name of ['one', 'two']) await service.post('/v2/tlds', { name });
    for (let count = 0; count < 10; count += 1)
      expect((await service.get('/v2/tlds')).body.tlds).toHaveLength(1);
  });

  test('use secrets from files', async () => {
    const file = join(folder, 'admin-token');
    writeFileSync(file, `${TOKEN}\n`);
    const service = await start({ TSIGIL_ADMIN_TOKEN: '', TSIGIL_ADMIN_TOKEN_FILE: file });
    expect((await service.with(TOKEN).get('/v2/tlds')).status).toBe(200);
  });

  test('open no inspector after SIGUSR1 and continue after SIGHUP, like their supervisor', async () => {
    const service = await start();
    await expect.poll(() => listening(service)).toHaveLength(2);
    const pids = [service.process.pid ?? 0, ...listening(service)];
    const ports = pids.map(listeningPorts);
    for (const pid of pids)
      for (const signal of ['SIGUSR1', 'SIGHUP'] as const) process.kill(pid, signal);
    await expect.poll(() => service.output()).toContain('SIGHUP received');
    for (let count = 0; count < 10; count += 1)
      expect((await service.get('/v2/tlds')).status).toBe(200);
    expect(pids.map(listeningPorts)).toEqual(ports);
    expect(service.output()).not.toMatch(/debugger|inspector|a worker ended/i);
    expect(service.output().match(/SIGHUP received/g)).toHaveLength(1);
    expect(await service.stop('SIGTERM')).toBe(0);
  });
});
