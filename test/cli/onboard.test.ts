import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { BRAND_NAMES } from '../../src/domain/brands/brands.ts';
import { readAgentFile } from '../../src/config/agent/agent-file.ts';
import { localProblems } from '../../src/nameservers/reconciler/registration.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { tsigil } from './run.ts';

const folder = temporaryFolder();
let service: TestService;
let variables: Record<string, string>;
beforeAll(async () => {
  service = await startTestService();
  variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
});

test.each(BRAND_NAMES)(
  'onboard prints the files and commands for an agent with the driver %s',
  async (driver) => {
    const name = `ns-${driver}`;
    const flags = ['--driver', driver, '--address', '192.0.2.53:5300', '--agent'];
    const created = await tsigil(folder, variables, 'nameserver', 'create', name, ...flags);
    expect([created.err, created.status]).toEqual([
      'Warning: the pool has no zone in which to test its keys. Create a zone, or set probe_zone\n',
      0,
    ]);
    const { out, status } = await tsigil(folder, variables, 'nameserver', 'onboard', name);
    expect(status).toBe(0);
    const file = join(folder, `${driver}.yaml`);
    writeFileSync(file, /agent\.yaml\.[^\n]*\n([^#]*)\n# 4/.exec(out)?.[1] ?? '');
    const config = readAgentFile(file, () => []);
    expect(config).toMatchObject({ nameServer: name, driver, url: service.url });
    expect(localProblems([{ ...config, name, address: '192.0.2.53' }])).toEqual([]);
    const command = /^tsigil (token create .*) -f value/m.exec(out)?.[1]?.split(' ') ?? [];
    expect((await tsigil(folder, variables, ...command, '-f', 'value')).out).toMatch(/^tsigil_/);
    expect(out).toContain('systemctl enable --now tsigil-agent');
    expect(out).toContain('tsigil zone create example.net.');
    // A configuration file with a secret must not be readable for every user of the host.
    expect(out.includes('install -m 0640 -g')).toBe(out.includes('api-key='));
    const set = /^tsigil (nameserver set .*)$/m.exec(out)?.[1]?.split(' ') ?? [];
    expect(set).toContain('--probe-zone');
    expect((await tsigil(folder, variables, ...set)).status).toBe(0);
    const again = await tsigil(folder, variables, 'nameserver', 'onboard', name);
    expect(again.out).toBe(out.slice(out.indexOf('# 1. On')));
  },
);

test('onboard refuses a name server to which the service itself delivers', async () => {
  const flags = ['--driver', 'bind', '--address', '192.0.2.53'];
  await tsigil(folder, variables, 'nameserver', 'create', 'plain', ...flags);
  const { err, status } = await tsigil(folder, variables, 'nameserver', 'onboard', 'plain');
  expect([status, err]).toEqual([
    1,
    "tsigil: No agent delivers the keys of 'plain'\nRun: tsigil nameserver set plain --delivery agent\n",
  ]);
});
