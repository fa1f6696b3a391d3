import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { BRAND_NAMES } from '../../src/brands/brands.ts';
import { temporaryFolder } from '../harness/service.ts';
import { tsigil } from '../cli/run.ts';

const folder = temporaryFolder();
const SECRET = 'aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==';

function check(text: string) {
  writeFileSync(join(folder, 'c.yaml'), text);
  return tsigil(folder, {}, 'check-config', '--config', 'c.yaml');
}

test('an empty TSIGIL_CONFIG counts as unset', async () => {
  const { status, err } = await tsigil(folder, { TSIGIL_CONFIG: '' }, 'check-config');
  expect([status, err]).toEqual([0, '']);
});

test('shows the name servers with the options of their drivers, and never a control key', async () => {
  const { status, out, err } = await check(`nameServers:
  - name: ns1
    driver: bind
    address: 192.0.2.1
    local: { file: /etc/bind/tsigil/keys.conf, controlKey: ${SECRET} }
  - name: ns2
    driver: powerdns
    address: 192.0.2.2:5300
    pool: edge
    rights: [transfer]
    local: { apiKeyFile: ${SECRET}, url: 'http://user:${SECRET}@127.0.0.1:8081/?key=${SECRET}' }
`);
  expect([status, err]).toEqual([0, '']);
  expect(out).not.toContain(SECRET);
  expect((parse(out) as { nameServers: object }).nameServers).toEqual([
    {
      name: 'ns1',
      driver: 'bind',
      address: '192.0.2.1',
      local: {
        file: '/etc/bind/tsigil/keys.conf',
        mode: '0640',
        controlHost: '127.0.0.1',
        controlPort: 953,
        controlKeyFile: '/etc/bind/rndc.key',
        controlKey: '(hidden)',
        zoneLists: 'all',
      },
    },
    {
      name: 'ns2',
      driver: 'powerdns',
      address: '192.0.2.2:5300',
      pool: 'edge',
      rights: ['transfer'],
      local: {
        url: 'http://(hidden)@127.0.0.1:8081/?(hidden)',
        apiKeyFile: '(hidden)',
        requests: 8,
        zoneChanges: 1,
      },
    },
  ]);
  expect((await check('listen: 127.0.0.1:1\n')).out).not.toContain('nameServers');
});

test('reports every problem of all name servers at once, and what was probably meant', async () => {
  const { status, out, err } = await check(`listn: 127.0.0.1:1
stopGraceSeconds: two
nameServers:
  - name: ns1
    driver: bind
    adress: 192.0.2.1
    local: { fil: /x, controlKeyfile: ${SECRET} }
  - { name: ns2, driver: powerdns, address: 'a b', local: { apiKey: ${SECRET} } }
  - { name: ns3, driver: bnd, address: 192.0.2.3, probe_zone: x., local: {} }
  - { name: ns4, driver: knot, address: 192.0.2.4, local: { file: keys.conf } }
  - ${SECRET}
  - { name: ns6, driver: bind, address: 192.0.2.6, ${SECRET}: x, local: { file: /x/y, ${SECRET}: x } }
console: { enabled: true, ${SECRET}: x }
${SECRET}: x
`);
  expect([status, out]).toEqual([2, '']);
  expect(err).not.toContain(SECRET);
  expect(err.trimEnd().split('\n  - ')).toEqual([
    'tsigil: The configuration is not valid:',
    "c.yaml: unknown setting 'listn'. Did you mean 'listen'?",
    "c.yaml: unknown setting: number 2 in 'console'",
    'c.yaml: unknown setting: number 5',
    "c.yaml: 'nameServers': 'ns1': 'adress' is not a known property. Did you mean 'address'?",
    "c.yaml: 'nameServers': 'ns1': 'address' is a required property",
    expect.stringMatching(/^c\.yaml: 'nameServers': 'ns2': 'address' must be a host/),
    `c.yaml: 'nameServers': item 2: 'driver' must be one of ${BRAND_NAMES.join(', ')}. Did you mean 'bind'?`,
    "c.yaml: 'nameServers': item 2: 'probe_zone' is not a known property. Did you mean 'probeZone'?",
    "c.yaml: 'nameServers': item 4: must be an object",
    "c.yaml: 'nameServers': 'ns6': member 4 is not a known property",
    "c.yaml: 'stopGraceSeconds' must be an integer from 0 to 3600",
    "'nameServers': 'ns1': local.fil: 'fil' is not a known property. Did you mean 'file'?",
    "'nameServers': 'ns1': local.controlKeyfile: 'controlKeyfile' is not a known property. Did you mean 'controlKeyFile'?",
    "'nameServers': 'ns1': local.file: 'file' is a required property",
    "'nameServers': 'ns2': local.apiKey: 'apiKey' is not a known property. Did you mean 'apiKeyFile'?",
    "'nameServers': 'ns2': local.apiKeyFile: 'apiKeyFile' is a required property",
    expect.stringMatching(/^'nameServers': 'ns4': local\.file: /),
    "'nameServers': 'ns6': local: member 2 is not a known property",
  ]);
});

test('the agent reports the problems of its file and of its driver at once', async () => {
  writeFileSync(
    join(folder, 'agent.yaml'),
    'url: http://x\ntoken: /x\ntokenFile: /nonexistent/t\nnameServer: ns1\ndriver: bind\nlocal: { fil: /x }\n',
  );
  const { status, err } = await tsigil(folder, {}, 'agent', '--check', '--config', 'agent.yaml');
  expect(status).toBe(2);
  for (const problem of [
    "agent.yaml: 'token' is not a known property. Did you mean 'tokenFile'?\n",
    "'ns1': local.fil: 'fil' is not a known property. Did you mean 'file'?\n",
    "'/nonexistent/t' cannot be read: no such file or folder\n",
  ])
    expect(err).toContain(`  - ${problem}`);
});
