import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { BrandName } from '../../src/brands/brands.ts';
import { bind } from '../harness/brands/bind.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { call } from '../harness/brands/powerdns.ts';
import {
  createZones,
  delivering,
  startDeliveryServer,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { POOL_ID, SECRET } from '../harness/samples.ts';
import { zoneText } from '../harness/driven-server.ts';
import { run as runProgram } from '../harness/tools.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { tsigil, words } from '../cli/run.ts';

const folder = temporaryFolder();
const KEY = 'hand-made.example';
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  const server = { name: 'ns1', pool_id: POOL_ID, driver: 'bind', address: '127.0.0.1:1' };
  await service.post('/v2/nameservers', { ...server, delivery: 'agent' });
});

const IMPORT = ['tsigkey', 'import', '--from-nameserver'];
const ACCESS = () => ({ TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token });

/** Writes the configuration file of the agent of a name server. */
function agentFile({ folder: own, brand, controlPort }: DeliveryServer): string {
  const [path, tokenFile] = [join(own, 'agent.yaml'), join(own, 'agent.token')];
  const local = brand.options({ folder: own, controlPort });
  writeFileSync(tokenFile, 'unused');
  const settings = { url: service.url, tokenFile, nameServer: 'ns1', driver: brand.driver };
  writeFileSync(path, JSON.stringify({ ...settings, local }));
  return path;
}

/** The main configuration of each brand, and an edit that lets the key transfer `a.test`. */
const EDITS: Readonly<Partial<Record<BrandName, [file: string, (text: string) => string]>>> = {
  bind: [
    'named.conf',
    (text) =>
      `key "${KEY}" { algorithm hmac-sha256; secret "${SECRET}"; };\n${text}`.replace(
        '{ "tsigil-transfer"; "tsigil-transfer-a.test"; }',
        `{ key "${KEY}"; "tsigil-transfer"; "tsigil-transfer-a.test"; }`,
      ),
  ],
  knot: [
    'knot.conf',
    (text) =>
      text
        .replace('zone:\n', `acl:\n  - id: hand\n    key: ${KEY}\n    action: transfer\nzone:\n`)
        .replace('acl: [', 'acl: [hand, '),
  ],
  nsd: [
    'nsd.conf',
    (text) =>
      text.replace(
        'zonefile: a.test.zone\n',
        'zonefile: a.test.zone\n    provide-xfr: 0.0.0.0/0 "Hand-Made.example."\n',
      ),
  ],
};

/** Returns the texts of all files of a server, to compare them. */
function filesIn(path: string): Record<string, string> {
  const names = readdirSync(path).filter((name) => /\.(?:conf|key|zone)$/.test(name));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(path, name), 'utf8')]));
}

describe.each(BRANDS)('$name', (brand) => {
  test.skipIf(!brand.isInstalled())(
    'import --dry-run --from-nameserver shows what each key may do, and changes nothing',
    async () => {
      const server = await startDeliveryServer({
        ...brand,
        configure(path, ...rest) {
          brand.configure(path, ...rest);
          const [file, edit] = EDITS[brand.driver] ?? [];
          if (file === undefined || edit === undefined) return;
          const text = readFileSync(join(path, file), 'utf8');
          writeFileSync(join(path, file), edit(text));
        },
      });
      if (brand.driver === 'powerdns')
        await call(server.folder, server.controlPort, 'PUT', '/zones/a.test.', {
          master_tsig_key_ids: [`${KEY}.`],
        });
      const before = filesIn(server.folder);
      const run = (...argv: string[]) =>
        tsigil(folder, { ...ACCESS(), ...delivering(server) }, ...IMPORT, 'NS1', ...argv);

      const refused = await run();
      expect([refused.status, refused.err]).toEqual([2, expect.stringContaining('--dry-run')]);

      const shown = await run('--dry-run', '-f', 'json');
      expect(JSON.parse(shown.out)).toMatchObject({
        rights: [{ key: KEY, right: 'transfer', before: ['a.test'], limited: [], after: [] }],
        left_in_configuration: [],
        missing_zones: ['a.test'],
        unread: [],
      });
      const text = await run('--dry-run');
      expect(text.out).toMatch(/hand-made\.example\.?\n/i);
      const onHostOfAgent = await tsigil(
        folder,
        ACCESS(),
        ...IMPORT,
        ...words`ns1 --dry-run -f json --config ${agentFile(server)}`,
      );
      expect(JSON.parse(onHostOfAgent.out)).toEqual(JSON.parse(shown.out));
      for (const { out, err } of [shown, text, onHostOfAgent]) {
        expect(out + err).not.toContain(SECRET);
        expect(out + err).not.toMatch(/[A-Za-z0-9+/]{42,}=/);
      }
      expect(filesIn(server.folder)).toEqual(before);
      expect(await service.get('/v2/tsigkeys')).toMatchObject({ body: { tsigkeys: [] } });
    },
  );
});

test('import --from-nameserver names the servers of the configuration, without one of that name', async () => {
  const entry = { name: 'ns9', driver: 'knot', address: '127.0.0.1:1', local: { file: '/x' } };
  const variables = { ...ACCESS(), ...delivering({ entry }) };
  const { status, err } = await tsigil(folder, variables, ...IMPORT, 'ns1', '--dry-run');
  expect([status, err]).toEqual([2, expect.stringContaining("Use one of: 'ns9'.")]);
});

test.skipIf(!bind.isInstalled()).each([
  ['the server', '', (text: string) => text],
  ['a view', 'IN inside', (text: string) => `view inside {\n${text}};\n`],
])(
  'import --from-nameserver shows the zones of the service that rndc added to %s of BIND',
  async (_, view, wrap) => {
    const [added, refused] = ['added.test', 'refused.test'];
    const server = await startDeliveryServer({
      ...bind,
      configure(path, ...rest) {
        bind.configure(path, ...rest);
        const file = join(path, 'named.conf');
        const [before = '', ...zones] = readFileSync(file, 'utf8').split(/^(?=zone )/m);
        const key = `key "${KEY}" { algorithm hmac-sha256; secret "${SECRET}"; };\n`;
        writeFileSync(file, key + before + wrap(zones.join('')));
        for (const zone of [added, refused])
          writeFileSync(join(path, `${zone}.zone`), zoneText(zone));
      },
    });
    for (const [zone, list] of [
      [added, `key "${KEY}";`],
      [refused, 'none;'],
      ['a.unknown.test', `key "${KEY}";`],
    ] as const)
      runProgram(
        server.folder,
        'rndc',
        ...words`-s 127.0.0.1 -p ${String(server.controlPort)} -k rndc.key addzone`,
        `${zone} ${view} { type primary; file "${added}.zone"; allow-transfer { ${list} }; };`,
      );
    const owner = await startTestService();
    onTestFinished(() => owner.close());
    await createZones(owner, [added, refused, 'absent.test']);
    const { status, out, err } = await tsigil(
      folder,
      { ...owner.variables, ...delivering(server) },
      ...IMPORT,
      ...words`ns1 --dry-run -f json --pool default`,
    );
    expect(status, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      rights: [{ key: KEY, right: 'transfer', before: [added], after: [added] }],
      warnings: expect.arrayContaining([expect.objectContaining({ kind: 'other_zones' })]),
    });
  },
);
