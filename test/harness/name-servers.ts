import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkRequest } from '../../src/dns/key-check.ts';
import { exportKey } from '../../src/keys/export/export-formats.ts';
import type { Key } from '../../src/formats/key.ts';
import { queryOverUdp } from '../../src/net/dns.ts';
import { NetError } from '../../src/net/faults.ts';
import type { Brand, IncludedFile } from './brands/brand.ts';
import { BRANDS } from './brands/brands.ts';
import { call, powerdns } from './brands/powerdns.ts';
import { startDrivenServer, type DrivenServer } from './driven-server.ts';
import { recordSecret } from './evidence.ts';
import { START_MS } from './starts.ts';

/** The zone on every server. */
export const ZONE = 'a.test.';
const ZONE_FILE = `$TTL 60
@ SOA ns.a.test. hostmaster.a.test. 5 3600 600 86400 60
@ NS ns.a.test.
ns A 192.0.2.1
${Array.from({ length: 1500 }, (_, index) => `t${index} TXT "${'text '.repeat(40)}"\n`).join('')}`;

/** The number of records in the zone. A transfer of these records takes several messages. */
export const ZONE_RECORDS = 1503;

/** The keys in the configuration of a server. */
export interface ServerKeys {
  /** The key that may transfer the zone, and update it if the server supports updates. */
  readonly allowed: Key;
  /** The keys that the server knows, but that have no right. */
  readonly others: readonly Key[];
}

/** A real name server with exported keys. It requires a key for transfers and updates. */
export interface NameServer {
  readonly port: number;
  /** The folder with the configuration and the data of the server. */
  readonly folder: string;
  /** The URL and the key of the PowerDNS API. Undefined for other name servers. */
  readonly api?: { readonly url: string; readonly key: string };
  stop(): Promise<void>;
}

/** A name server program. */
export interface NameServerKind {
  readonly name: string;
  /** Returns whether the program is installed, as `hasProgram` does. */
  isInstalled(): boolean;
  start(keys: ServerKeys): Promise<NameServer>;
}

/** All name servers for which the service exports keys. */
export const NAME_SERVERS: readonly NameServerKind[] = [
  ...BRANDS.flatMap((brand) =>
    brand.include === undefined ? [] : configured(brand, brand.include),
  ),
  {
    ...powerdns,
    async start(keys) {
      const server = await start(powerdns, keys, {
        ready: (folder, port) => sendKeys(keys, (...request) => call(folder, port, ...request)),
      });
      const url = `http://127.0.0.1:${server.controlPort}`;
      return { ...server, api: { url, key: readFileSync(join(server.folder, 'api-key'), 'utf8') } };
    },
  },
];

/** Returns a server with the keys in the file of its driver. */
function configured(brand: Brand, include: IncludedFile): NameServerKind {
  return {
    ...brand,
    start: (keys) =>
      start(brand, keys, {
        configure(folder, ...others) {
          brand.configure(folder, ...others);
          const place = join(folder, include.file);
          const texts = [keys.allowed, ...keys.others].map(
            (key) => exportKey(brand.driver, key).text,
          );
          const granted = include.grant(readFileSync(place, 'utf8'), keys.allowed.name);
          writeFileSync(place, `${texts.join('')}${granted}`);
        },
      }),
  };
}

async function start(
  brand: Brand,
  { allowed, others }: ServerKeys,
  changes: Partial<Pick<Brand, 'configure' | 'ready'>>,
) {
  for (const { secret } of [allowed, ...others]) recordSecret(secret);
  const recipe = { ...brand, ...changes };
  const server = await startDrivenServer({
    ...recipe,
    configure(folder, ...places) {
      writeFileSync(join(folder, 'a.test.zone'), ZONE_FILE);
      recipe.configure(folder, ...places);
    },
  });
  await serves(server);
  const { folder, controlPort, address, remove } = server;
  return { folder, controlPort, port: address.port, stop: remove };
}

/** Waits until a server has loaded its zone. */
async function serves({ address, output }: DrivenServer): Promise<void> {
  const question = checkRequest('query', ZONE, 1, '');
  const timeouts = { tries: 1, seconds: 0.2 };
  for (const deadline = Date.now() + START_MS; ;) {
    if (Date.now() > deadline) throw new Error(`The server has not loaded ${ZONE}: ${output()}`);
    try {
      const response = await queryOverUdp(address, { octets: question }, () => true, timeouts);
      if (response.readUInt16BE(6) === 1) return;
    } catch (error) {
      if (!(error instanceof NetError)) throw error;
    }
    await pause(20);
  }
}

/** Adds the keys to PowerDNS, and grants the zone to the one that is allowed. */
async function sendKeys(
  { allowed, others }: ServerKeys,
  request: (method: string, path: string, body: object) => Promise<unknown>,
): Promise<void> {
  for (const key of [allowed, ...others])
    await request('POST', '/tsigkeys', JSON.parse(exportKey('powerdns', key).text) as object);
  await request('PUT', '/zones/a.test.', { master_tsig_key_ids: [`${allowed.name}.`] });
  const metadata = { 'TSIG-ALLOW-DNSUPDATE': allowed.name, 'ALLOW-DNSUPDATE-FROM': '127.0.0.0/8' };
  for (const [kind, value] of Object.entries(metadata))
    await request('PUT', `/zones/a.test./metadata/${kind}`, { metadata: [value] });
}
