import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { BRAND_NAMES } from '../../src/brands/brands.ts';
import { readAgentFile } from '../../src/config/agent-file.ts';
import { localProblems } from '../../src/delivery/reconciler/registration.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram, TOOL_ENVIRONMENT } from '../harness/tools.ts';
import { tsigil } from '../cli/run.ts';

const folder = temporaryFolder();
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

test.each(BRAND_NAMES)(
  'onboard prints the files and commands for an agent with the driver %s',
  async (driver) => {
    const name = `ns-${driver}`;
    const flags = ['--driver', driver, '--address', '192.0.2.53:5300', '--delivery', 'agent'];
    const created = await tsigil(folder, service.variables, 'nameserver', 'create', name, ...flags);
    expect([created.err, created.status]).toEqual([
      'Warning: the pool has no zone in which to test its keys. Create a zone, or set probe_zone\n',
      0,
    ]);
    const { out, status } = await tsigil(folder, service.variables, 'nameserver', 'onboard', name);
    expect(status).toBe(0);
    const file = join(folder, `${driver}.yaml`);
    writeFileSync(file, /agent\.yaml\.[^\n]*\n([^#]*)\n# 4/.exec(out)?.[1] ?? '');
    const config = readAgentFile(file, () => []);
    expect(config).toMatchObject({ nameServer: name, driver, url: service.url });
    expect(localProblems([{ ...config, name, address: '192.0.2.53' }])).toEqual([]);
    const command = /^tsigil (token create .*) -f value/m.exec(out)?.[1]?.split(' ') ?? [];
    expect((await tsigil(folder, service.variables, ...command, '-f', 'value')).out).toMatch(
      /^tsigil_/,
    );
    expect(out).toContain('systemctl enable --now tsigil-agent');
    expect(out).toContain('tsigil zone create example.net.');
    // A configuration file with a secret must not be readable for every user of the host.
    expect(out.includes('install -m 0640 -g')).toBe(out.includes('api-key='));
  },
);

interface ZoneText {
  readonly start: string;
  zone(name: string, own: string): string;
}

/** The lines around a zone's own. */
const ZONES: Readonly<Record<string, ZoneText>> = {
  bind: {
    start: 'options { recursion no; };\n',
    zone: (name, own) => `zone "${name}" { type primary; file "${name}"; ${own} };\n`,
  },
  knot: {
    start: 'zone:\n',
    zone: (name, own) => `  - domain: ${name}\n    ${own}\n`,
  },
  nsd: {
    start: '',
    zone: (name, own) => `zone:\n  name: ${name}\n  zonefile: x\n${own}\n`,
  },
};

const CHECKED = BRANDS.flatMap(({ driver, include }) =>
  include === undefined ? [] : [[driver, include.checker] as const],
);

describe.each(CHECKED)('onboard for %s', (driver, { program, debian, parameters }) => {
  test.runIf(hasProgram(program, debian))(
    'prints the entries of every zone of the pool, which the name server accepts',
    async () => {
      const own = await startTestService();
      const names = ['a.test.', 'b.test.', 'sub.c.test.'];
      for (const name of names)
        expect((await own.post('/v2/zones', { name, email: 'a@b.test' })).status).toBe(201);
      const flags = ['--driver', driver, '--address', '192.0.2.53', '--delivery', 'agent'];
      await tsigil(folder, own.variables, 'nameserver', 'create', 'ns', ...flags);
      const { out } = await tsigil(folder, own.variables, 'nameserver', 'onboard', 'ns');
      expect(out).not.toContain('example.org');
      const keys = join(folder, `${driver}-keys.conf`);
      writeFileSync(keys, /<<'END'\n([^]*?)END\n/.exec(out)?.[1] ?? '');
      const include = /^include.*keys\.conf.*$/m.exec(out)?.[0] ?? '';
      const zones = names.map((name) => {
        const start = out.split(`# In the zone ${name.slice(0, -1)}:\n`)[1] ?? '';
        const lines = /^(?:#   .*\n)+/.exec(start)?.[0] ?? '';
        return ZONES[driver]?.zone(name.slice(0, -1), lines.replaceAll(/^#   /gm, ''));
      });
      const file = join(folder, `${driver}-main.conf`);
      const text = `${include.replace(/\/etc\S*keys\.conf/, keys)}\n${ZONES[driver]?.start ?? ''}${zones.join('')}`;
      writeFileSync(file, text);
      const { status, stdout, stderr } = spawnSync(program, parameters(file), {
        env: TOOL_ENVIRONMENT,
        encoding: 'utf8',
      });
      expect([status, stdout + stderr]).toEqual([0, expect.not.stringContaining('error')]);
      expect(text.match(/tsigil-transfer-/g)).toHaveLength(3);
    },
  );
});

test('onboard prints the steps for a name server to which the service itself delivers', async () => {
  const flags = ['--driver', 'bind', '--address', '192.0.2.53'];
  await tsigil(folder, service.variables, 'nameserver', 'create', 'plain', ...flags);
  const { out, status } = await tsigil(folder, service.variables, 'nameserver', 'onboard', 'plain');
  expect([status, out]).toEqual([0, expect.stringContaining('nameServers:')]);
  expect(out).not.toContain('tsigil-agent');
});
