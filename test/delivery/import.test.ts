import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RIGHTS } from '../../src/domain/brands/brand.ts';
import type { NameServer } from '../../src/net/dns.ts';
import { runInside } from '../cli/session.ts';
import { bind } from '../harness/brands/bind.ts';
import { createZones, deliveries, delivering, startDeliveryServer } from '../harness/delivery.ts';
import { hasDnsTools, isGranted } from '../harness/dns-tools.ts';
import { startDrivenServer, ZONES } from '../harness/driven-server.ts';
import { recordSecret } from '../harness/evidence.ts';
import { itemsOf, POOL_ID, TSIGKEYS } from '../harness/samples.ts';
import { startTestService } from '../harness/service.ts';

const KEYS = ['both', 'one', 'mixed', 'none'].map((name) => {
  const secret = randomBytes(32).toString('base64');
  recordSecret(secret);
  return { name, algorithm: 'hmac-sha256', secret };
});

/** The lists of an operator, by the names of the lists of Tsigil in the configuration. */
const LISTS: Readonly<Record<string, string>> = {
  'transfer-a.test': 'trusted; key one;',
  'update-a.test': '{ !key none; key mixed; };',
  'transfer-b.test': '!key one; trusted;',
  'update-b.test': 'none; key both;',
};

/** Returns what dig, kdig and nsupdate may do with each key in each zone. */
async function permissions(server: NameServer): Promise<string[]> {
  const found: string[] = [];
  for (const zone of ZONES)
    for (const right of RIGHTS)
      for (const key of [undefined, ...KEYS])
        if ((await isGranted(server, zone, right, key)) !== false)
          found.push(`${right} of ${zone} by ${key?.name ?? 'anyone'}`);
  return found;
}

describe.runIf([bind.isInstalled(), hasDnsTools()].every(Boolean))('BIND', () => {
  test('after import and delivery, each key may do what it could before', async () => {
    const before = await startDrivenServer({
      ...bind,
      configure(folder, port, controlPort) {
        bind.configure(folder, port, controlPort);
        const keys = KEYS.map(
          ({ name, secret }) => `key ${name} { algorithm hmac-sha256; secret "${secret}"; };\n`,
        );
        const file = join(folder, 'named.conf');
        const text = readFileSync(file, 'utf8')
          .replace(/^include ".*tsigil.conf";$/m, `${keys.join('')}acl trusted { key both; };`)
          .replace(' allow-transfer { "tsigil-transfer"; };', '')
          .replaceAll(/\{ "tsigil-\w+"; "tsigil-([^"]+)"; \}/g, (_, list: string) => {
            return `{ ${LISTS[list] ?? 'none;'} }`;
          });
        writeFileSync(file, text);
      },
    });
    onTestFinished(() => before.remove());
    const wanted = await permissions(before.address);
    expect(wanted).toEqual([
      'transfer of a.test by both',
      'transfer of a.test by one',
      'update of a.test by mixed',
      'transfer of b.test by both',
    ]);

    const after = await startDeliveryServer(bind);
    const service = await startTestService(delivering(after));
    onTestFinished(async () => {
      await service.close();
      await after.remove();
    });
    await createZones(service);
    const imported = await runInside(
      { variables: { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token } },
      ...['tsigkey', 'import', join(before.folder, 'named.conf')],
      ...['--scope', 'POOL', '--resource-id', POOL_ID],
    );
    expect(imported.status, imported.out + imported.err).toBe(0);
    for (const { id } of itemsOf(await service.get('/v2/tsigkeys'), TSIGKEYS))
      expect((await deliveries(service, id)).state).toBe('delivered');
    expect(await permissions(after.address)).toEqual(wanted);
  });
});
