import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { BrandName } from '../../src/domain/brands/brands.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { call } from '../harness/brands/powerdns.ts';
import { delivering, startDeliveryServer } from '../harness/delivery.ts';
import { SECRET } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { tsigil } from './run.ts';

const folder = temporaryFolder();
const KEY = 'hand-made.example';
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

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
      onTestFinished(() => server.remove());
      if (brand.driver === 'powerdns')
        await call(server.folder, server.controlPort, 'PUT', '/zones/a.test.', {
          master_tsig_key_ids: [`${KEY}.`],
        });
      const before = filesIn(server.folder);
      const run = (...argv: string[]) =>
        tsigil(
          folder,
          { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token, ...delivering(server) },
          ...['tsigkey', 'import', '--from-nameserver', 'NS1', ...argv],
        );

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
      for (const { out, err } of [shown, text]) {
        expect(out + err).not.toContain(SECRET);
        expect(out + err).not.toMatch(/[A-Za-z0-9+/]{42,}=/);
      }
      expect(filesIn(server.folder)).toEqual(before);
      expect(await service.get('/v2/tsigkeys')).toMatchObject({ body: { tsigkeys: [] } });
    },
  );
});

test('import --from-nameserver names the servers of the configuration, without one of that name', async () => {
  const entry = { name: 'ns9', driver: 'nsd', address: '127.0.0.1:1', local: { file: '/x' } };
  const { status, err } = await tsigil(
    folder,
    { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token, ...delivering({ entry }) },
    ...['tsigkey', 'import', '--dry-run', '--from-nameserver', 'ns1'],
  );
  expect([status, err]).toEqual([2, expect.stringContaining("Use one of: 'ns9'.")]);
});
