import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { clientFor } from '../harness/zones.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

/** Starts a service with `settings` in its configuration file. */
async function start(
  settings: string,
  variables: Record<string, string> = {},
): Promise<ServiceProcess> {
  write('tsigil.yaml', settings);
  const service = await startServiceProcess(folder, { TSIGIL_CONFIG: 'tsigil.yaml', ...variables });
  return service;
}

/**
 * Writes `settings` to the configuration file and sends SIGHUP. Returns what the service prints
 * from then until it has handled the signal.
 */
async function reload(service: ServiceProcess, settings: string): Promise<string> {
  write('tsigil.yaml', settings);
  const before = service.output().length;
  service.process.kill('SIGHUP');
  const lines = () => service.output().slice(before);
  while (!lines().includes('SIGHUP received'))
    await once(service.process.stdout ?? service.process, 'data');
  return lines();
}

/** A policy that has the role `team`, but gives it no right to TLD entries. */
const KNOWN_TEAM = 'policy: {"hard_delete": [admin, team]}\n';

/** Creates a caller with the role `team`. The policy of the service must have this role. */
const createTeam = (service: ServiceProcess) => clientFor(service, ['team']);

const POLICY = 'policy: {"tlds:list": [admin, team], "tlds:create": [admin, team]}\n';

describe('SIGHUP applies', () => {
  test('a new policy to requests with cached tokens', async () => {
    const service = await start(KNOWN_TEAM);
    const team = await createTeam(service);
    expect((await team.get('/v2/tlds')).status).toBe(401);
    expect(await reload(service, POLICY)).toContain('"applied":["policy"]');
    expect((await team.get('/v2/tlds')).status).toBe(200);
    await reload(service, '# no setting\n');
    expect((await team.get('/v2/tlds')).status).toBe(401);
  });

  test('a new log level, rate limit, list of origins, limit of zones and token for metrics', async () => {
    const [first, second] = ['first', 'second'].map(
      (name) => `${name}-token-0123456789-0123456789-01`,
    );
    write('metrics-token', `${first}\n`);
    const service = await start('', { TSIGIL_METRICS_TOKEN_FILE: 'metrics-token' });
    const scrape = async (token = '') => (await service.with(token).get('/metrics')).status;
    expect([await scrape(first), await scrape(second)]).toEqual([200, 401]);

    write('metrics-token', `${second}\n`);
    write('tsigil.yaml', 'log: {level: error}\n');
    service.process.kill('SIGHUP');
    await expect.poll(() => scrape(second)).toBe(200);
    expect(await scrape(first)).toBe(401);
    const quiet = service.output();
    await service.get('/v2/limits');
    expect(service.output()).toBe(quiet);

    const lines = await reload(
      service,
      'rateLimit: {requestsPerSecond: 1}\ncors: {allowedOrigins: ["https://a.example"]}\nzones: {perProject: 7}\n',
    );
    expect(JSON.parse(/"applied":(\[.*?\])/.exec(lines)?.[1] ?? '[]')).toEqual([
      'cors.allowedOrigins',
      'rateLimit.requestsPerSecond',
      'zones.perProject',
      'log.level',
    ]);
    expect(service.output()).not.toContain('-token-0123');
    const { headers, body } = await service.get('/v2/limits', { origin: 'https://a.example' });
    expect(headers.get('access-control-allow-origin')).toBe('https://a.example');
    expect(body).toMatchObject({ max_zones: 7 });
    const responses = await Promise.all(Array.from({ length: 20 }, () => service.get('/v2/tlds')));
    expect(responses.map(({ status }) => status)).toContain(429);
    await expect.poll(() => service.output()).toContain('"route":"/v2/limits"');
  });

  test('a new administrator token from its file, and refuses the former token', async () => {
    const [first, second] = ['first', 'second'].map(
      (name) => `${name}-admin-token-0123456789-0123`,
    );
    write('admin-token', `${first}\n`);
    const service = await start('', {
      TSIGIL_ADMIN_TOKEN: '',
      TSIGIL_ADMIN_TOKEN_FILE: 'admin-token',
    });
    expect((await service.with(first ?? '').get('/v2/tlds')).status).toBe(200);
    write('admin-token', `${second}\n`);
    expect(await reload(service, '# no setting\n')).toContain('"applied":["adminToken"]');
    expect((await service.with(first ?? '').get('/v2/tlds')).status).toBe(401);
    expect((await service.with(second ?? '').get('/v2/tlds')).status).toBe(200);
  });

  test.runIf(hasProgram('openssl', 'openssl'))(
    'a renewed certificate to later connections, and closes no open connection',
    async () => {
      createAuthority(folder, 'authority');
      const renew = () => {
        const { key, cert } = createCertificate(folder, 'authority');
        write('cert.pem', cert);
        write('key.pem', key);
      };
      renew();
      const settings = 'tls: {cert: cert.pem, key: key.pem}\n';
      const service = await start(settings);
      const open = async () => {
        const { hostname, port } = new URL(service.url);
        const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
        onTestFinished(() => void socket.destroy());
        await once(socket, 'secureConnect');
        return socket;
      };
      const before = await open();
      const serial = (socket: TLSSocket) => socket.getPeerCertificate().serialNumber;
      renew();
      const lines = await reload(service, settings);
      const after = await open();
      const { fingerprint256, valid_to: end } = after.getPeerCertificate();
      const logged = JSON.parse(lines.split('\n').find((line) => line.includes('SIGHUP')) ?? '');
      expect(logged.certificate).toEqual({
        subject: 'CN=server',
        fingerprint: `SHA256:${fingerprint256.replaceAll(':', '').toLowerCase()}`,
        expires: new Date(end).toISOString(),
      });
      expect(serial(after)).not.toBe(serial(before));
      before.write('GET /healthcheck HTTP/1.1\r\nhost: x\r\n\r\n');
      const [data] = (await once(before, 'data')) as [Buffer];
      expect(data.toString()).toContain('HTTP/1.1 200 OK');

      write('key.pem', 'no key');
      expect(await reload(service, settings)).toContain("'tls.cert' and 'tls.key': cannot use");
      expect(serial(await open())).toBe(serial(after));
    },
  );
});

describe('SIGHUP', () => {
  test('logs the changed settings that need a restart, and applies the other settings', async () => {
    const service = await start('');
    const lines = await reload(service, `${POLICY}api: {maxBodyBytes: 1024}\n`);
    expect(lines).toContain('"applied":["policy"]');
    expect(lines).toMatch(/"level":"warn".*"settings":\["api.maxBodyBytes"\].*need a restart/);
    expect((await service.post('/v2/tlds', { name: 'x'.repeat(2000) })).status).toBe(400);
  });

  test('keeps the former configuration if the new configuration is invalid, and logs every problem without secrets', async () => {
    write('metrics-token', 'metrics-token-0123456789-0123456789');
    const service = await start(POLICY, { TSIGIL_METRICS_TOKEN_FILE: 'metrics-token' });
    const team = await createTeam(service);
    write('metrics-token', 'too short');
    const lines = await reload(
      service,
      'policy: {"tlds:lisst": [admin]}\nlog: {level: loud}\nnosuch: 1\ncors: {allowedOrigins: ["https://b.example"]}\n',
    );
    expect(lines).toContain('"level":"error"');
    for (const name of ['policy', 'log.level', 'nosuch', 'TSIGIL_METRICS_TOKEN_FILE'])
      expect(lines).toContain(name);
    expect(lines).not.toContain('too short');
    expect((await team.get('/v2/tlds')).status).toBe(200);
    const { headers } = await service.get('/v2/tlds', { origin: 'https://b.example' });
    expect(headers.has('access-control-allow-origin')).toBe(false);
    write('metrics-token', 'metrics-token-0123456789-0123456789');
    expect(await reload(service, '# no setting\n')).toContain('"applied":["policy"]');
  });

  test('keeps the former configuration if the file is empty, because a program may be writing it', async () => {
    const service = await start(POLICY);
    const team = await createTeam(service);
    expect(await reload(service, '')).toContain('is empty');
    expect((await team.get('/v2/tlds')).status).toBe(200);
  });
});
